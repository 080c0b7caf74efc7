"""The check of a randomizing mask's first look: keys, and the shares that a matrix was made invariant for."""

from __future__ import annotations

from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.frozen import frozen
from ppduck.runtime.key_check import KeysSeen, Uniqueness, refuse_keys


@frozen
class LookSpec(Spec):
    """What the first look must find."""

    key: tuple[str, ...]
    # of the levels that matrices were made invariant for, column after column
    counts: tuple[int, ...]


@frozen
class Look(KeysSeen):
    """What it finds."""

    counts: list[int]


def check(spec: LookSpec, look: Look) -> int:
    """0 where keys and shares of levels are what the call was planned for; raises otherwise."""
    faults = spec.faults()
    refuse_keys(faults, spec.key, look, Uniqueness.EVERY)
    if tuple(look.counts) != spec.counts:
        faults.add(
            "the shares of the levels are not those that the matrix was made invariant for; run the call again, after "
            "a commit if the rows are part of an open transaction."
        )
    faults.raise_if_any()
    return 0


CHECK = told_udf("ppduck_rr_check", check, LookSpec, Look, "BIGINT")
