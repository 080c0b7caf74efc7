"""Which column identifies a row, and which one the person whom a row tells of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppduck.policy._name_hints import Hint, words_of
from ppduck.policy._suggestion_figures import Figures
from ppduck.policy._suggestion_look import Look

LIKE = 0.8  # so many of its values have a form where a column is said to have it
_NO_KEY = (Hint.EMAIL, Hint.PHONE, Hint.OFFICIAL, Hint.BANK, Hint.CARD, Hint.SECRET, Hint.IP)
_SHORTEST = 3  # letters of a table's name that a key may begin with


def key_of(found: Sequence[Figures]) -> tuple[str, str] | None:
    """The likeliest key and why it is one; None where nothing identifies a row."""
    best = max(found, key=_rank, default=None)  # of equals the first
    if best is None or not _rank(best):
        return None
    named = _named(best)
    why = f"{named}, and" if named else f"{_kind(best)}, and"
    if not best.rows:
        return best.name, f"{named}; there are no rows to tell whether it is unique"
    return best.name, f"{why} unique in the rows looked at; a release refuses one that is not"


def person_of(found: Sequence[Figures], key: Sequence[str]) -> list[str]:
    """What says which rows are one person's, by which dates are shifted; the key, if there is nothing else."""
    others = [
        each.name
        for each in found
        if each.name not in key
        and each.hinted(Hint.ID)
        and each.hinted(Hint.PERSON)
        and each.rows
        and not each.has_nulls
        and each.distinct > 1
    ]
    of_key = [each for each in found if each.name in key and each.hinted(Hint.PERSON)]
    return others[:1] if others and not of_key else list(key)


def _rank(of: Figures) -> int:
    """How likely it is the key; 0 for one that is not."""
    kind = of.column.is_integer or of.column.type in ("VARCHAR", "UUID")
    if not kind or not of.is_unique or of.hinted(*_NO_KEY) or of.share(Look.EMAIL) >= LIKE:
        return 0
    words = words_of(of.name).strip("_")
    if words in ("id", "uuid", "guid", "key", "pk") or _is_of_table(of, words):
        return 4
    if of.hinted(Hint.ID):
        return 3
    if not of.rows:
        return 0
    return 2 if _is_uuid(of) else 1 if _is_row_number(of) else 0


def _named(of: Figures) -> str:
    return "named as one" if of.hinted(Hint.ID) else ""


def _kind(of: Figures) -> str:
    return "UUIDs" if _is_uuid(of) else "numbered rows"


def _is_of_table(of: Figures, words: str) -> bool:
    """Whether it is the id of what the table is called by: customer_id of customers."""
    own = words_of(of.table.rpartition(".")[2]).strip("_")
    stem = own.rstrip("s")
    return of.hinted(Hint.ID) and len(stem) >= _SHORTEST and words.startswith(stem)


def _is_uuid(of: Figures) -> bool:
    return of.column.type == "UUID" or of.share(Look.UUID) >= LIKE


def _is_row_number(of: Figures) -> bool:
    """Whether whole numbers follow each other without a gap, so far as a sample tells."""
    if not of.column.is_integer or of.rows < 2:
        return False
    span = of.greatest - of.least + 1
    return bool(np.isclose(span, of.rows * of.scale, rtol=0.01 if of.scale > 1 else 0))
