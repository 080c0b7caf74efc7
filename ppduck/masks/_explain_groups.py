"""What mask_explain() says about the masks that group rows: what becomes of each column, and what a group hides."""

from __future__ import annotations

from typing import Any

from ppduck.catalogue.tables import Catalog
from ppduck.masks._quasi import GroupingMask
from ppduck.query import tree as sql
from ppduck.stages.explain import Row, promised, table

_NAMING = ("qi", "sensitive", "keep", "key", "drop")


def explained(mask: GroupingMask, catalog: Catalog, call: Any) -> sql.Expr:
    mask.plan(catalog, call)  # whatever the mask would refuse while planning, refuse here too
    return table(_rows(mask, catalog, call))


def _rows(mask: GroupingMask, catalog: Catalog, call: Any) -> list[Row]:
    """A row a column, then the promises."""
    source = catalog.source(mask.name, call.tbl)
    names = [column.name for column in source.columns or ()] or _named(call)
    found: list[Row] = [(name, *mask.becomes(name, call)) for name in names]
    found += promised(mask, call)
    if getattr(call, "seed", None) is not None:
        found.append(
            (
                None,
                "not guaranteed",
                "protection: seeded chance can be made again by anybody; for tests only",
            )
        )
    return found


def _named(call: Any) -> list[str]:
    """The columns that a call names, where the table cannot be seen."""
    found: list[str] = []
    for parameter in _NAMING:
        given = getattr(call, parameter, None) or ()
        found += [given] if isinstance(given, str) else given
    return list(dict.fromkeys(found))
