"""The columns that a policy names, held against those that the table has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.values import folded

# Parameters of masks that name columns, which are read then.
OF_COLUMNS = ("nonconf", "strata", "weight")


def check_names(
    faults: Faults,
    places: Mapping[str, str],
    used: Mapping[str, str],
    qi: Iterable[str],
    own: Sequence[str],
) -> None:
    """Refuses columns of a table that a policy does not name, and names that are no columns of it.

    Parameters
    ----------
    places:
        The columns that the policy says something of, and where.
    used:
        Those that masks and releases read besides, and what names them.
    """
    known = {folded(name) for name in own}
    for name, place in places.items():
        if folded(name) not in known:
            faults.add(
                f"{place or name}: the table has no column {quoted(name)}.{near_miss(name, own)} Columns: "
                f"{listed(own)}."
            )
    for name, by in {**dict.fromkeys(qi, "qi"), **used}.items():
        if folded(name) not in known:
            faults.add(
                f"{by} names column {quoted(name)}, which the table does not have.{near_miss(name, own)}"
            )
    told = {folded(name) for name in (*places, *used)}
    strange = [name for name in own if folded(name) not in told]
    if strange:
        are = "columns {} are" if len(strange) > 1 else "column {} is"
        faults.add(
            f"of the table {are.format(listed(strange))} not named: say under columns what becomes of each, drop if it "
            "is not to be released."
        )


def columns_named(asked: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """The columns that are named, and by what; whatever is no name is passed over."""
    found: dict[str, str] = {}
    for by, names in asked:
        for name in names if isinstance(names, (list, tuple)) else [names]:
            if isinstance(name, str):
                found.setdefault(name, by)
    return found
