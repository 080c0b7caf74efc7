"""Tables of counts, of which some columns may be randomized: so says a view's definition, p, matrix, or the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import parameter
from ppduck.call.roles import resolve_columns
from ppduck.catalogue.source import Source
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import MOST_LEVELS, Attribute, DesignWords
from ppduck.errors import Faults, near_miss, quoted
from ppduck.estimators.cells import Cells, no_category
from ppduck.estimators.design_source import Release, read_release
from ppduck.frozen import frozen
from ppduck.values import folded

TBL: Any = parameter(
    arguments.words,
    "a table of original or of randomized rows, or a view over rr_mask or pram_mask",
)
RANDOMIZED: Any = parameter(
    arguments.columns, "the columns that were randomized, where tbl is no view that tells", None
)


@frozen
class Table:
    """What a call asks about: its columns, and which of them are known to be randomized."""

    release: Release
    randomized: frozenset[str]  # names, folded
    knows_design: bool  # whether p or matrix is known of all of them

    def is_randomized(self, name: str) -> bool:
        return folded(name) in self.randomized

    @property
    def places(self) -> list[int]:
        return [
            i for i, column in enumerate(self.release.columns) if self.is_randomized(column.name)
        ]

    @property
    def listed(self) -> str:
        return ", ".join(
            column.name for column in self.release.columns if self.is_randomized(column.name)
        )


def read_table(
    function: str,
    catalog: Catalog,
    tbl: str,
    names: Sequence[str],
    words: DesignWords,
    randomized: Sequence[str] | None = None,
) -> Table:
    """The columns of ``tbl``, and what its definition or the call says of their randomization.

    ``randomized`` are the columns that the call says were; None where it does not say.
    """
    source = catalog.source(function, tbl)
    faults = Faults(function, source.label)
    refuse_twice(faults, names)
    if words.tells_probabilities and randomized is not None:
        raise faults.refuse("p and matrix tell which columns are randomized; leave randomized out.")
    if not words.tells_probabilities and (randomized is not None or not is_masked(catalog, source)):
        return _as_it_stands(source, words, names, randomized or (), faults)
    release = read_release(function, catalog, tbl, names, words)
    own = frozenset(folded(a.name) for a in release.attributes if not a.is_identity)
    return Table(release, own, knows_design=True)


def _as_it_stands(
    source: Source,
    words: DesignWords,
    names: Sequence[str],
    randomized: Sequence[str],
    faults: Faults,
) -> Table:
    columns = resolve_columns(faults, source, "columns", names)
    own = {folded(name) for name in names}
    for name in randomized:
        if folded(name) not in own:
            faults.add(
                f"randomized names column {quoted(name)}, which the call is not about.{near_miss(name, names)}"
            )
    if words.levels is not None:
        faults.add("levels belong to p or matrix; without them the levels are those that occur.")
    faults.raise_if_any()
    attributes = tuple(Attribute(column.name, column.type, None, 1.0) for column in columns)
    release = Release(faults.function, source, tuple(columns), attributes)
    return Table(release, frozenset(map(folded, randomized)), knows_design=not randomized)


def is_masked(catalog: Catalog, source: Source) -> bool:
    """Whether reading a source plans a mask."""
    return source.columns is not None and bool(catalog.records_of(source))


def refuse_twice(faults: Faults, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if folded(name) in seen:
            raise faults.refuse(f"column {quoted(name)} is named twice; name each column once.")
        seen.add(folded(name))


def cells_of(
    catalog: Catalog,
    table: Table,
    most: int,
    *,
    null_is_level: bool = False,
    count: str | None = None,
) -> Cells:
    """The counted cells of a table; refused where a column is no category, or where there are too many."""
    release = table.release
    faults = release.faults()
    if count is not None:
        named = resolve_columns(faults, release.source, "count", [count])
        faults.raise_if_any()
        count = named[0].name
        if any(count == own.name for own in release.columns):
            raise faults.refuse(
                f"count {quoted(count)} is also one of the columns; it must be another one."
            )
    refuse_numbers(catalog, release)
    cells = Cells(release, most, null_is_level, count)
    cells.refuse_too_many(catalog)
    return cells


def refuse_numbers(catalog: Catalog, release: Release) -> None:
    """Columns that are no categories, before their thousands of levels are crossed with each other."""
    source, faults = release.source, release.faults()
    if source.columns is None:
        return
    for column, attribute in zip(release.columns, release.attributes, strict=True):
        if attribute.levels is None and catalog.levels(source, column, MOST_LEVELS) is None:
            faults.add(no_category(column.name))
    faults.raise_if_any()
