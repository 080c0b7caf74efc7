"""pram_mask(): the post-randomization method, plain or invariant.

PRAM is randomized response applied to data that are already collected. ``invariant`` builds from
P and the shares π of the levels the matrix R P, with R the way back by Bayes' rule, which has π as
its fixed point: marginal tables then need no reconstruction. p is the chance to be kept in the
first of the two stages; R P itself keeps a value of a frequent level more often, of a rare one less.
"""

from __future__ import annotations

from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import register
from ppduck.catalogue.tables import Catalog
from ppduck.designs.mechanism import CONF, PROBABILITIES, SHARED, UDFS, Mechanism, RandomizingMask, resolve

NAME = "pram_mask"
INVARIANT = Parameter("invariant", arguments.flag, "build the matrix so that expected shares stay as they are", "false")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    return Mechanism(resolve(NAME, catalog, given)).statement()


FUNCTION = register(
    RandomizingMask(
        NAME,
        (arguments.TBL, CONF, *PROBABILITIES, INVARIANT, *SHARED),
        plan,
        "PRAM: randomizes collected categories; invariant := true keeps the expected share of every level.",
        "Gouweleeuw, Kooiman, Willenborg & de Wolf (1998), Journal of Official Statistics 14",
        udfs=UDFS,
    )
)
