"""Batches of a growing table: each is masked by itself, once; one that is too small to hide in waits for the next.

Batches are values of a column, such as the day on which rows were loaded, in their order. From the first that is not
yet released on they are gathered until there are enough rows; these are masked together. What is left at the end waits.
So what was released does not hang on what comes later, and no sums of two releases differ by a few rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen
from ppduck.query import tree as sql

GROUP = "ppduck_batch"  # the batches that are masked together, by the last of them
SMALLEST = 1000


@frozen
class Batches:
    """Which rows are released now: up to the last of each group, and how many wait."""

    column: Column
    after: str | None
    groups: Sequence[str]  # the last batch of each, as texts
    waiting: int

    def rows_of(self, source: Source) -> str:
        """The rows as what ``tbl`` takes, with the group that each belongs to."""
        value = sql.column(self.column.name)
        grouped = [(value.copy() <= self._literal(each), sql.text(each)) for each in self.groups]
        last = self.groups[-1:]
        conditions: list[sql.Expr] = [value.copy() <= self._literal(each) for each in last]
        if self.after is not None:
            conditions.append(value.copy() > self._literal(self.after))
        group = sql.cases(*grouped) if grouped else sql.null()
        own = [exp.Star(), sql.named(sql.cast(group, "VARCHAR"), GROUP)]
        asked = sql.query(own, sql.source(source.sql), where=exp.and_(*conditions))
        return f"({sql.render(asked)})"

    def _literal(self, text: str) -> sql.Expr:
        return sql.cast(sql.text(text), self.column.type)


def found(
    function: str,
    catalog: Catalog,
    source: Source,
    column: Column,
    after: str | None,
    smallest: int | None,
) -> Batches:
    """The batches of a table that are to be released, those behind ``after``."""
    faults = Faults(function, source.label)
    if after is not None and catalog.as_type(after, column.type) is None:
        raise faults.refuse(
            f"after is to be a value of the batch column {quoted(column.name)}, of type {column.type}."
        )
    value = sql.column(column.name)
    where = None
    if after is not None:
        later = value.copy() > sql.cast(sql.text(after), column.type)
        where = exp.or_(later, value.copy().is_(exp.null()))
    counted = sql.query(
        [sql.cast(value.copy(), "VARCHAR"), sql.call("count", exp.Star())],
        sql.source(source.sql),
        where=where,
        group=[value.copy()],
        order=[value.copy()],
    )
    counts = catalog.reader.execute(sql.render(counted)).fetchall()
    unknown = sum(count for batch, count in counts if batch is None)
    if unknown:
        raise faults.refuse(
            f"the batch column {quoted(column.name)} is NULL in {unknown:,} rows, which would belong to no release; "
            "fill it."
        )
    groups, gathered = [], 0
    for batch, count in counts:
        gathered += count
        if gathered >= (smallest or SMALLEST):
            groups.append(str(batch))
            gathered = 0
    return Batches(column, after, groups, gathered)
