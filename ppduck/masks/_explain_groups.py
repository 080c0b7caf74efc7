"""What mask_explain() says about the masks that group rows: what becomes of each column, and what a group hides."""

from __future__ import annotations

from itertools import chain
from typing import Any

from ppduck.catalogue.tables import Catalog
from ppduck.masks._quasi import GroupingMask, Named
from ppduck.query import tree as sql
from ppduck.stages.explain import Row, promised, table


def explained(mask: GroupingMask, catalog: Catalog, given: dict[str, Any]) -> sql.Expr:
    mask.plan(catalog, given)  # whatever the mask would refuse while planning, refuse here too
    return table(_rows(mask, catalog, given))


def _rows(mask: GroupingMask, catalog: Catalog, given: dict[str, Any]) -> list[Row]:
    """A row a column, then the promises."""
    named = Named(mask.name, catalog, given)
    places = {
        parameter: [column.name for column in named.columns(parameter)]
        for parameter in ("qi", "sensitive", "keep", "key", "drop")
        if parameter in given
    }
    known = named.source.columns
    names = [column.name for column in known] if known else list(dict.fromkeys(chain(*places.values())))
    found: list[Row] = [(name, *mask.becomes(name, places, given)) for name in names]
    found += promised(mask)
    if "seed" in given:
        found.append((None, "not guaranteed", "protection: seeded chance can be made again by anybody; for tests only"))
    return found
