"""rr_mask(): randomized response, column by column.

A value of column u with level j is published as level i with probability P_u[i, j], independently
of every other value (Guo 2010, section 2.2). ``p`` is Warner's model for d levels: keep with p,
else one of the other levels, each with (1 − p)/(d − 1).
"""

from __future__ import annotations

from typing import Any

from ppduck.call import arguments
from ppduck.call.registry import register
from ppduck.catalogue.tables import Catalog
from ppduck.designs.mechanism import CONF, PROBABILITIES, SHARED, UDFS, Mechanism, RandomizingMask, resolve

NAME = "rr_mask"


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    return Mechanism(resolve(NAME, catalog, given)).statement()


FUNCTION = register(
    RandomizingMask(
        NAME,
        (arguments.TBL, *PROBABILITIES, CONF, *SHARED),
        plan,
        "Randomized response: keeps each category with probability p, else draws another; tables can be reconstructed.",
        "Warner (1965), JASA 60; Guo (2010), section 2.2",
        udfs=UDFS,
    )
)
