"""pram_mask(): the post-randomization method, plain or invariant.

PRAM is randomized response applied to data that are already collected. ``invariant`` builds from
P and the shares π of the levels the matrix R P, with R the way back by Bayes' rule, which has π as
its fixed point: marginal tables then need no reconstruction. p is the chance to be kept in the
first of the two stages; R P itself keeps a value of a frequent level more often, of a rare one less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Kind, register
from ppduck.catalogue.tables import Catalog
from ppduck.designs import promises, randomizing_mask
from ppduck.designs.design import LEVELS, Matrix, Probability
from ppduck.designs.explain import explained
from ppduck.designs.mechanism import UDFS, Mechanism
from ppduck.designs.randomization import resolve
from ppduck.designs.randomizing_mask import RandomizingCall, RandomizingMask
from ppduck.stages.plan import Plan

NAME = "pram_mask"


@parameters
class PramMaskCall(RandomizingCall):
    tbl: str = arguments.TABLE
    conf: Sequence[str] | None = randomizing_mask.CONF
    p: Probability | None = randomizing_mask.P
    matrix: Mapping[str, Matrix] | None = randomizing_mask.MATRIX
    invariant: bool = parameter(
        arguments.flag, "build the matrix so that expected shares stay as they are", False
    )
    levels: Mapping[str, list[Any]] | None = LEVELS
    key: Sequence[str] = randomizing_mask.KEY
    seed: int | None = randomizing_mask.SEED
    on_null: str = randomizing_mask.ON_NULL
    drop: Sequence[str] = randomizing_mask.DROP


def plan(catalog: Catalog, call: PramMaskCall) -> Plan:
    return Mechanism(resolve(NAME, catalog, call)).plan()


FUNCTION = register(
    RandomizingMask(
        NAME,
        PramMaskCall,
        plan,
        "PRAM: randomizes collected categories; invariant := true keeps the expected share of every level.",
        "Gouweleeuw, Kooiman, Willenborg & de Wolf (1998), Journal of Official Statistics 14",
        kind=Kind.MASK,
        example="FROM pram_mask('survey', conf=['disease'], p=0.8, invariant=true, key='id')",
        keeps=promises.KEEPS,
        loses=promises.LOSES,
        udfs=UDFS,
        explain=explained,
    )
)
