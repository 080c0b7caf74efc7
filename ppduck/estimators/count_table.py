"""Tables of counts, of which some columns may be randomized: so says a view's definition, p, matrix, or the call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.roles import resolve_columns
from ppduck.catalogue.tables import Catalog, Source
from ppduck.designs.design import MOST_LEVELS, Attribute, recording
from ppduck.errors import Faults, near_miss, quoted
from ppduck.estimators.cells import Cells, no_category
from ppduck.estimators.design_source import Published, read_published
from ppduck.values import folded

TBL = Parameter(
    "tbl", arguments.words, "a table of original or of randomized rows, or a view over rr_mask or pram_mask"
)
RANDOMIZED = Parameter(
    "randomized", arguments.columns, "the columns that were randomized, where tbl is no view that tells", "NULL"
)


@dataclass(frozen=True)
class Table:
    """What a call asks about: its columns, and which of them are known to be randomized."""

    published: Published
    randomized: frozenset[str]  # names, folded
    knows_design: bool  # whether p or matrix is known of all of them

    def is_randomized(self, name: str) -> bool:
        return folded(name) in self.randomized

    @property
    def places(self) -> list[int]:
        return [i for i, column in enumerate(self.published.columns) if self.is_randomized(column.name)]

    @property
    def listed(self) -> str:
        return ", ".join(column.name for column in self.published.columns if self.is_randomized(column.name))


def read_table(function: str, catalog: Catalog, given: dict[str, Any], names: Sequence[str]) -> Table:
    """The columns of ``tbl``, and what its definition or the call says of their randomization."""
    source = catalog.source(function, given["tbl"])
    faults = Faults(function, source.label)
    refuse_twice(faults, names)
    named = "randomized" in given
    if "p" in given or "matrix" in given:
        if named:
            raise faults.refuse("p and matrix tell which columns are randomized; leave randomized out.")
        published = read_published(function, catalog, given, names)
    elif not named and is_masked(catalog, source):
        published = read_published(function, catalog, given, names)
    else:
        return _as_it_stands(catalog, source, given, names, faults)
    randomized = frozenset(folded(a.name) for a in published.attributes if not a.is_identity)
    return Table(published, randomized, knows_design=True)


def _as_it_stands(
    catalog: Catalog, source: Source, given: dict[str, Any], names: Sequence[str], faults: Faults
) -> Table:
    columns = resolve_columns(faults, source, "columns", names)
    own = {folded(name) for name in names}
    randomized = frozenset(folded(name) for name in given.get("randomized", ()))
    for name in given.get("randomized", ()):
        if folded(name) not in own:
            faults.add(f"randomized names column {quoted(name)}, which the call is not about.{near_miss(name, names)}")
    if "levels" in given:
        faults.add("levels belong to p or matrix; without them the levels are those that occur.")
    faults.raise_if_any()
    attributes = tuple(Attribute(column.name, column.type, None, 1.0) for column in columns)
    return Table(Published(faults.function, source, tuple(columns), attributes), randomized, not randomized)


def is_masked(catalog: Catalog, source: Source) -> bool:
    """Whether reading a source plans a mask."""
    if source.columns is None:
        return False
    with recording() as designs:
        catalog.columns_of(source)
    return bool(designs)


def refuse_twice(faults: Faults, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if folded(name) in seen:
            raise faults.refuse(f"column {quoted(name)} is named twice; name each column once.")
        seen.add(folded(name))


def cells_of(catalog: Catalog, table: Table, most: int, given: dict[str, Any]) -> Cells:
    """The counted cells of a table; refused where a column is no category, or where there are too many."""
    published = table.published
    faults = published.faults()
    count = given.get("count")
    if count is not None:
        named = resolve_columns(faults, published.source, "count", [count])
        faults.raise_if_any()
        count = named[0].name
        if any(count == own.name for own in published.columns):
            raise faults.refuse(f"count {quoted(count)} is also one of the columns; it must be another one.")
    refuse_numbers(catalog, published)
    cells = Cells(published, most, given.get("on_null", "drop"), count)
    cells.refuse_too_many(catalog)
    return cells


def refuse_numbers(catalog: Catalog, published: Published) -> None:
    """Columns that are no categories, before their thousands of levels are crossed with each other."""
    source, faults = published.source, published.faults()
    if source.columns is None:
        return
    for column, attribute in zip(published.columns, published.attributes, strict=True):
        if attribute.levels is None and catalog.levels(source, column, MOST_LEVELS) is None:
            faults.add(no_category(column.name))
    faults.raise_if_any()
