"""What is refused of the keys that chance goes by: rows without one, and rows that share theirs.

Chance goes by a key where noise or draws are a function of it. A statement counts the keys
(``ppduck.stages.key_look``); this is where the counts are judged, for every mask that draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen
from ppduck.kernels.noise import tweak_of

FEW_ROWS = 3  # up to so many, "most rows share their key" can be an accident
LEAST_SHARE = 0.5  # of keys among rows: with fewer, most rows share theirs


class Uniqueness(Enum):
    """How many rows need a key of their own, and with that, how exactly keys are counted."""

    EVERY = "every row"  # chance goes by the key alone
    MOST = "most rows"  # it goes by the masked values too: about how many keys there are will do


@frozen
class KeysSeen:
    """What a first look counts of the keys of some rows."""

    rows: int
    keyless: int  # rows without a key
    looked: int  # rows whose key was looked at
    distinct_keys: int  # among them; about, where only most rows need their own


@frozen
class ReleaseSeen(KeysSeen):
    """The same of a release whose chance hangs on all of its rows."""

    digest: str | None  # of what each row's chance goes by

    def tweak(self, context: str) -> int:
        """What ties chance to this release: what was asked for, and of which rows."""
        return tweak_of(context, int(self.digest or 0))


def refuse_keys(
    faults: Faults, key: Sequence[str], seen: KeysSeen, wanted: Uniqueness, where: str = ""
) -> None:
    """Adds what is wrong with the keys of some rows; ``where`` says of which, if not of all."""
    named = f"key {quoted(', '.join(key))}"
    if seen.keyless:
        faults.add(
            f"{named} is NULL in {seen.keyless} of {seen.rows} rows{where}; every row needs a key."
        )
    elif wanted is Uniqueness.EVERY and seen.distinct_keys < seen.looked:
        faults.add(
            f"{named} has only {seen.distinct_keys} values for {seen.looked} rows looked at{where}; rows that share it "
            "would share their draws. Name columns that identify a row."
        )
    elif wanted is Uniqueness.MOST and _most_share(seen):
        faults.add(
            f"{named} does not identify the {seen.rows} rows{where}: most of them share it. Name a unique column."
            if key
            else f"most of the {seen.rows} rows{where} are copies of each other and would get the same noise; name a "
            "unique key."
        )


def _most_share(seen: KeysSeen) -> bool:
    return seen.looked > FEW_ROWS and seen.distinct_keys < LEAST_SHARE * seen.looked
