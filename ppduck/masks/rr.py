"""rr_mask(): randomized response, column by column.

A value of column u with level j is published as level i with probability P_u[i, j], independently
of every other value (Guo 2010, section 2.2). ``p`` is Warner's model for d levels: keep with p,
else one of the other levels, each with (1 - p)/(d - 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import fixed, parameters
from ppduck.call.registry import Kind, register
from ppduck.catalogue.tables import Catalog
from ppduck.designs import promises, randomizing_mask
from ppduck.designs.design import LEVELS, Matrix, Probability
from ppduck.designs.explain import explained
from ppduck.designs.mechanism import UDFS, Mechanism
from ppduck.designs.randomization import resolve
from ppduck.designs.randomizing_mask import RandomizingCall, RandomizingMask
from ppduck.stages.plan import Plan

NAME = "rr_mask"


@parameters
class RrMaskCall(RandomizingCall):
    tbl: str = arguments.TABLE
    p: Probability | None = randomizing_mask.P
    matrix: Mapping[str, Matrix] | None = randomizing_mask.MATRIX
    conf: Sequence[str] | None = randomizing_mask.CONF
    levels: Mapping[str, list[Any]] | None = LEVELS
    key: Sequence[str] = randomizing_mask.KEY
    seed: int | None = randomizing_mask.SEED
    on_null: str = randomizing_mask.ON_NULL
    drop: Sequence[str] = randomizing_mask.DROP
    invariant: bool = fixed(False)


def plan(catalog: Catalog, call: RrMaskCall) -> Plan:
    return Mechanism(resolve(NAME, catalog, call)).plan()


FUNCTION = register(
    RandomizingMask(
        NAME,
        RrMaskCall,
        plan,
        "Randomized response: keeps each category with probability p, else draws another; tables can be reconstructed.",
        "Warner (1965), JASA 60; Guo (2010), section 2.2",
        kind=Kind.MASK,
        example="CREATE VIEW published AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')",
        keeps=promises.KEEPS,
        loses=promises.LOSES,
        udfs=UDFS,
        explain=explained,
    )
)
