"""The table of cells: one GROUP BY over the published rows, everything else on its few rows.

Cells travel to Python as their number in C order; levels stay in DuckDB, in their own types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import parameter
from ppduck.call.ranges import Range
from ppduck.call.spec import Spec
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.conditioning import is_invertible, warn
from ppduck.designs.design import MOST_LEVELS, Attribute
from ppduck.errors import Faults, quoted
from ppduck.estimators import count_column
from ppduck.estimators.design_source import SAME_VIEWS, Release, same_views
from ppduck.frozen import frozen
from ppduck.kernels.distortion import Reconstruction, Target
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.query.arithmetic import products, remainder, whole_quotient
from ppduck.values import Array

SOLVED = "_pp_solved"  # the step of what a UDF made of the cells, its answer in the column ANSWER
ANSWER = "_pp_answer"
LEVELS_STEP = "_pp_levels"  # the step of all columns' levels, a list each
CELL = "_pp_cell"  # the number of a cell
_COUNT = "_pp_count"
_WARN_MISSING = 0.1
_LOOK_FIRST = 8  # columns from which on the levels are counted before the cells are


TBL: Any = parameter(
    arguments.words, "a view over rr_mask or pram_mask, or published rows with p or matrix"
)
ON_NULL: Any = parameter(
    arguments.choice("drop", "level"),
    "leave rows with NULL out, or NULL is a level; left out by default, because rr_mask publishes NULL as it is "
    "unless told otherwise, and such a row says nothing of what is estimated",
    "drop",
)
CONFIDENCE: Any = parameter(
    arguments.number(Range(0.5, 0.999999)), "the coverage of the ranges", 0.95
)
RANGE: Any = parameter(
    arguments.choice("normal", "chebyshev"),
    "ranges by the normal law or by Chebyshev; normal by default, because what is estimated is near to it from some "
    "hundred rows on",
    "normal",
)
TARGET: Any = parameter(
    arguments.choice("population", "table"),
    "ranges for the population that the rows are a sample of, or for the rows before randomization; "
    "the population by default, because shares and associations are published to speak of it",
    "population",
)
METHOD: Any = parameter(
    arguments.choice("moment", "mle"), "unbiased, or the maximum of the likelihood", "moment"
)


@frozen
class CellColumn:
    """What Python is told of a column."""

    name: str
    p: float | None
    matrix: tuple[tuple[float, ...], ...] | None


@frozen
class CellsSpec(Spec):
    """What Python is told of a table of cells; functions add what they are asked."""

    columns: tuple[CellColumn, ...]
    most: int  # cells that can be worked on


@frozen
class CellCounts:
    """What SQL tells of a table: how many levels each column has, and the cells that occur."""

    sizes: list[int | None]  # None where there are no rows
    numbers: Array  # NaN of a cell with a value that is no level
    counts: Array
    strangers: int  # rows in such cells


AnySpec = TypeVar("AnySpec", bound=CellsSpec)


@frozen
class Cells:
    """Writes the statement that counts cells and hands them to a UDF."""

    release: Release
    most: int
    null_is_level: bool = False
    count: str | None = None  # a column of counts, where rows are not counted one by one
    also: tuple[tuple[str, sql.Expr], ...] = ()  # further aggregates of the rows of a cell, by name

    @property
    def sizes(self) -> list[int | None]:
        return [None if a.levels is None else len(a.levels) for a in self.release.attributes]

    def refuse_too_many(self, catalog: Catalog) -> None:
        """Refuses a table of too many cells before any of it is counted, where the sizes can be known."""
        sizes = self.sizes
        unknown = [
            a.name for a, size in zip(self.release.attributes, sizes, strict=True) if size is None
        ]
        if unknown and len(sizes) >= _LOOK_FIRST and self.release.source.columns is not None:
            counts = [
                sql.call("count", exp.Distinct(expressions=[sql.column(name)])) for name in unknown
            ]
            look = sql.query(counts, sql.source(self.release.source.sql))
            found = iter(catalog.reader.execute(sql.render(look)).fetchone())
            sizes = [next(found) if size is None else size for size in sizes]
        refuse_many_cells(
            self.release.faults(), [size for size in sizes if size is not None], self.most
        )

    def spec(self, kind: Callable[..., AnySpec], **own: Any) -> AnySpec:
        """A function's specification: this table, and what is its own."""
        columns = tuple(CellColumn(a.name, a.p, a.rows) for a in self.release.attributes)
        return kind(self.release.function, self.release.source.label, columns, self.most, **own)

    def solve(
        self,
        udf: Udf,
        spec: CellsSpec,
        more: Mapping[str, sql.Expr] | None = None,
        before: sql.Statement | None = None,
    ) -> sql.Statement:
        """Steps up to ``SOLVED`` with the UDF's answer, the levels beside it in ``LEVELS_STEP``.

        ``more`` is what the UDF is told beside ``CellCounts``, aggregates over what each cell has beside it; steps
        that come ``before`` are gone on from.
        """
        cell, count = sql.column(CELL), sql.column(_COUNT)
        strangers = sql.only(sql.call("sum", count), cell.is_(exp.null()))
        told = {
            "sizes": sql.call("any_value", sql.column("_pp_sizes")),
            "numbers": sql.in_order("list", cell.copy(), [cell]),
            "counts": sql.in_order("list", count.copy(), [cell]),
            "strangers": sql.call("coalesce", strangers, sql.number(0)),
            **(more or {}),
        }
        return self._steps(udf.in_sql(spec, told), before)

    def _steps(self, answer: sql.Expr, before: sql.Statement | None) -> sql.Statement:
        statement = before or sql.Statement()
        statement.step("_pp_views", same_views(self.release), materialized=True)
        statement.step("_pp_cells", self._counted(), materialized=True)
        if self.count is not None:
            spec = count_column.CountSpec(
                self.release.function, self.release.source.label, self.count
            )
            look = count_column.check_of(spec, self.release.source.sql, "_pp_cells")
            statement.step("_pp_counts", look, materialized=True)
        statement.step(LEVELS_STEP, self._levels(), materialized=True)
        statement.step("_pp_placed", self._placed(), materialized=False)
        solved = sql.query([sql.named(answer, ANSWER)], sql.table("_pp_placed"))
        statement.step(SOLVED, solved, materialized=True)
        return statement

    def _values(self) -> list[tuple[str, Attribute]]:
        """The names of the values of a cell, and what is known of their columns."""
        return [(f"_pp_value{i}", attribute) for i, attribute in enumerate(self.release.attributes)]

    def levels(self, column: int) -> sql.Expr:
        """The list of a column's levels, in ``LEVELS_STEP`` and beside the cells."""
        return sql.column(f"_pp_levels{column}")

    def level_texts(self) -> sql.Expr:
        """The levels of each column as texts, for a UDF that names them."""
        texts = [sql.cast(self.levels(i), "VARCHAR[]") for i in range(len(self.release.columns))]
        return sql.call("any_value", sql.array(texts, "VARCHAR[]"))

    def _counted(self) -> sql.Expr:
        values = self._values()
        columns = [
            sql.named(sql.column(c.name), v)
            for c, (v, _) in zip(self.release.columns, values, strict=True)
        ]
        grouped = sql.query(
            [
                *columns,
                sql.named(self._count(), _COUNT),
                *(sql.named(value, name) for name, value in self.also),
            ],
            sql.source(self.release.source.sql),
            group=[sql.number(i) for i in range(1, len(values) + 1)],
        )
        dropped = [
            sql.column(value) for value, attribute in values if not self._null_is_level(attribute)
        ]
        # NULLs are left out after the GROUP BY, where there are few rows to look at.
        return sql.query(
            [exp.Star()], sql.derived(grouped, "_pp_grouped"), where=sql.present(dropped)
        )

    def _count(self) -> sql.Expr:
        if self.count is None:
            return aggregates.rows()
        return sql.call(
            "coalesce", sql.call("fsum", count_column.as_number(self.count)), sql.number(0.0)
        )

    def _null_is_level(self, attribute: Attribute) -> bool:
        if attribute.levels is not None:
            return None in attribute.levels
        return self.null_is_level

    def _levels(self) -> sql.Expr:
        lists = []
        for i, (value, attribute) in enumerate(self._values()):
            if attribute.levels is None:
                found = sql.in_order("list", sql.column(value), [sql.column(value)], distinct=True)
            else:
                found = sql.cast_as(sql.texts(attribute.levels), f"{attribute.type or 'VARCHAR'}[]")
            lists.append(sql.named(found, self.levels(i).name))
        known = all(attribute.levels is not None for attribute in self.release.attributes)
        return sql.query(lists, None if known else sql.table("_pp_cells"))

    def _placed(self) -> sql.Expr:
        """Every cell's number, NULL where one of its values is no level; at least one row, so that sizes arrive."""
        values = self._values()
        lists = [self.levels(i) for i in range(len(values))]
        checks = [
            sql.column(SAME_VIEWS),
            *([sql.column(count_column.COUNTED)] if self.count is not None else []),
        ]
        number = sql.double(sql.total(checks))  # 0, or an error
        for (value, attribute), levels in zip(values, lists, strict=True):
            within = sql.total(
                [sql.product(number, _size(levels)), self._place(value, attribute, levels)]
            )
            number = sql.minus(within, sql.number(1))
        # Thousands of levels would be searched for every cell, only to be refused.
        few = exp.and_(
            *(exp.LTE(this=_size(levels), expression=sql.number(MOST_LEVELS)) for levels in lists)
        )
        columns = [
            sql.named(sql.cases((few, number)), CELL),
            sql.column(_COUNT),
            sql.named(sql.array(map(_size, lists), "BIGINT"), "_pp_sizes"),
            *lists,
            *(sql.column(name) for name, _ in self.also),
        ]
        rows = sql.table(LEVELS_STEP).cross(sql.table("_pp_views"))
        if self.count is not None:
            rows = rows.cross(sql.table("_pp_counts"))
        return sql.query(columns, rows.join(sql.table("_pp_cells"), exp.true(), outer=True))

    def _place(self, value: str, attribute: Attribute, levels: sql.Expr) -> sql.Expr:
        """The place of a value among the levels of its column, the first at 1."""
        own = sql.column(value)
        place = sql.call("list_position", levels.copy(), own)
        if attribute.levels is not None:
            # By their texts, because the type may not be known; there are only as many as there are cells.
            place = sql.call("list_position", sql.texts(attribute.levels), sql.cast(own, "VARCHAR"))
        if not self._null_is_level(attribute):
            return place
        return sql.cases((own.copy().is_(exp.null()), _size(levels)), otherwise=place)

    def levels_at(self, number: str) -> dict[str, sql.Expr]:
        """The levels of the cell of a number, by the names of the columns."""
        sizes = [_size(self.levels(i)) for i in range(len(self.release.columns))]
        found = {}
        for i, column in enumerate(self.release.columns):
            rank = whole_quotient(sql.column(number), products(sizes[i + 1 :]))
            place = sql.total([sql.number(1), remainder(rank, sizes[i].copy())])
            found[column.name] = sql.item(self.levels(i), place)
        return found

    def size(self) -> sql.Expr:
        """How many cells there are."""
        return products([_size(self.levels(i)) for i in range(len(self.release.columns))])


def _size(levels: sql.Expr) -> sql.Expr:
    return sql.call("len", levels.copy())


def no_category(name: str) -> str:
    """What is wrong with a column of too many levels."""
    return (
        f"column {quoted(name)} has more than {MOST_LEVELS:,} levels, which is no category; cut it into classes in "
        f"tbl, such as '(SELECT {name} // 10 AS {name}, … FROM …)', or leave it out."
    )


def refuse_many_cells(faults: Faults, sizes: Sequence[int], most: int) -> None:
    cells = prod(sizes)
    if cells > most:
        shape = " × ".join(map(str, sizes))
        raise faults.refuse(
            f"the table would have {cells:,} cells ({shape} levels), more than the {most:,} that can be worked on; ask "
            "about fewer columns, or group their levels."
        )


def table_of(spec: CellsSpec, told: CellCounts, target: Target) -> Reconstruction:
    """The published table with its matrices, after everything that can be wrong with it."""
    faults = spec.faults()
    sizes = [size or 0 for size in told.sizes]  # no rows, no levels
    for column, size in zip(spec.columns, sizes, strict=True):
        if size > MOST_LEVELS:
            faults.add(no_category(column.name))
    faults.raise_if_any()
    if told.strangers:
        raise faults.refuse(
            f"{told.strangers} rows hold a value that is none of the levels of its column; give the whole domain in "
            "levels."
        )
    there = ~np.isnan(told.numbers) & ~np.isnan(told.counts)
    if not np.any(told.counts[there] != 0):
        raise faults.refuse(
            "there are no rows in which all of the columns are present; nothing can be reconstructed."
        )
    refuse_many_cells(faults, sizes, spec.most)
    matrices = [
        _matrix(column, size, faults) for column, size in zip(spec.columns, sizes, strict=True)
    ]
    faults.raise_if_any()
    table: Array = np.zeros(prod(sizes))
    table[told.numbers[there].astype(np.int64)] = told.counts[there]
    return Reconstruction(
        table.reshape(*sizes), tuple(m for m in matrices if m is not None), target
    )


def estimate_by(method: str, found: Reconstruction, faults: Faults) -> Array:
    """The table by a method, with a warning where the maximum of the likelihood was not reached."""
    table, missing = found.estimate(method)
    if missing > _WARN_MISSING:
        warn(
            faults,
            f"the maximum of the likelihood was not reached; the log-likelihood may be {missing:.2g} below it. Ask "
            "about fewer cells.",
        )
    return table


def _matrix(column: CellColumn, size: int, faults: Faults) -> Array | None:
    """The matrix of a column that has so many levels; None after a fault."""
    name = quoted(column.name)
    attribute = Attribute(column.name, "", None, column.p, column.matrix)
    if attribute.rows is not None and len(attribute.rows) != size:
        faults.add(
            f"matrix of column {name} is {len(attribute.rows)}×{len(attribute.rows)}, but {size} levels occur; give "
            "them all in levels."
        )
        return None
    if size == 1 and not attribute.is_identity:
        faults.add(
            f"column {name} has a single level, so that it cannot have been randomized; give all in levels."
        )
        return None
    matrix = attribute.matrix(size)
    return (
        matrix
        if attribute.is_identity or is_invertible(attribute.name, matrix, attribute.p, faults)
        else None
    )
