"""The table of cells: one GROUP BY over the published rows, everything else on its few rows.

Cells travel to Python as their number in C order; levels stay in DuckDB, in their own types.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck import interrupts
from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.ranges import Range
from ppduck.catalogue.tables import Catalog
from ppduck.designs.conditioning import is_invertible, warn
from ppduck.designs.design import LEVELS, MATRIX, MOST_LEVELS, Attribute, P
from ppduck.errors import Faults, quoted
from ppduck.estimators import count_column
from ppduck.estimators.design_source import Published, unchanged
from ppduck.kernels.randomized import Reconstruction
from ppduck.query import tree as sql
from ppduck.values import Array

ARGUMENTS = ["VARCHAR", "BIGINT[]", "DOUBLE[]", "DOUBLE[]", "BIGINT"]
_WARN_MISSING = 0.1
_LOOK_FIRST = 8  # columns from which on the levels are counted before the cells are

TBL = Parameter("tbl", arguments.words, "a view over rr_mask or pram_mask, or published rows with p or matrix")
DESIGN = (
    P,
    MATRIX,
    LEVELS,
    Parameter(
        "on_null",
        arguments.choice("drop", "level"),
        "leave rows with NULL out, or NULL is a level; left out by default, because rr_mask publishes NULL as it is "
        "unless told otherwise, and such a row says nothing of what is estimated",
        "'drop'",
    ),
)
CONFIDENCE = Parameter("confidence", arguments.number(Range(0.5, 0.999999)), "the coverage of the ranges", "0.95")
RANGE = Parameter(
    "range",
    arguments.choice("normal", "chebyshev"),
    "ranges by the normal law or by Chebyshev; normal by default, because what is estimated is near to it from some "
    "hundred rows on",
    "'normal'",
)
TARGET = Parameter(
    "target",
    arguments.choice("population", "table"),
    "ranges for the population that the rows are a sample of, or for the rows before randomization; "
    "the population by default, because shares and associations are published to speak of it",
    "'population'",
)
METHOD = Parameter(
    "method", arguments.choice("moment", "mle"), "unbiased, or the maximum of the likelihood", "'moment'"
)


def chosen(given: dict[str, Any]) -> dict[str, Any]:
    """What a call says of ranges and method, for the specification."""
    return {
        parameter.name: given[parameter.name]
        for parameter in (CONFIDENCE, RANGE, TARGET, METHOD)
        if parameter.name in given
    }


@dataclass(frozen=True)
class Cells:
    """Writes the statement that counts cells and hands them to a UDF."""

    published: Published
    most: int
    on_null: str = "drop"
    count: str | None = None  # a column of counts, where rows are not counted one by one
    also: tuple[tuple[str, str], ...] = ()  # further aggregates of the rows of a cell, by name

    @property
    def sizes(self) -> list[int | None]:
        return [None if a.levels is None else len(a.levels) for a in self.published.attributes]

    def refuse_too_many(self, catalog: Catalog) -> None:
        """Refuses a table of too many cells before any of it is counted, where the sizes can be known."""
        sizes = self.sizes
        unknown = [a.name for a, size in zip(self.published.attributes, sizes, strict=True) if size is None]
        if unknown and len(sizes) >= _LOOK_FIRST and self.published.source.columns is not None:
            counts = [sql.call("count", exp.Distinct(expressions=[sql.column(name)])) for name in unknown]
            found = iter(catalog.reader.execute(sql.select(counts, self.published.source.sql)).fetchone())
            sizes = [next(found) if size is None else size for size in sizes]
        refuse_many_cells(self.published.faults(), [size for size in sizes if size is not None], self.most)

    def statement(
        self, function: str, own: dict[str, Any], *more: str, before: sql.Statement | None = None
    ) -> sql.Statement:
        """Steps up to ``_pp_solved`` with the UDF's answer in ``_pp_r``, the levels beside it.

        ``more`` are further arguments of the UDF, aggregates over what each cell has beside it; steps that come
        ``before`` are gone on from.
        """
        names = [f"_pp_a{i}" for i in range(len(self.published.attributes))]
        spec = {
            interrupts.ASKING: interrupts.asking(),
            "function": self.published.function,
            "table": self.published.source.label,
            "columns": [attribute.described() for attribute in self.published.attributes],
            "most": self.most,
            **own,
        }
        statement = before or sql.Statement()
        statement.step("_pp_views", unchanged(self.published), materialized=True)
        statement.step("_pp_cells", self._counted(names), materialized=True)
        if self.count is not None:
            told = (self.published.function, self.published.source.label, self.count, self.published.source.sql)
            statement.step("_pp_counts", count_column.checked(*told, "_pp_cells"), materialized=True)
        statement.step("_pp_levels", self._levels(names), materialized=True)
        statement.step("_pp_placed", self._placed(names), materialized=False)
        answer = sql.call(
            function,
            sql.text(json.dumps(spec)),
            sql.call("any_value", sql.column("_pp_sizes")),
            sql.raw('list("_pp_cell" ORDER BY "_pp_cell")'),
            sql.raw('list("_pp_n" ORDER BY "_pp_cell")'),
            sql.cast(sql.raw('coalesce(sum("_pp_n") FILTER ("_pp_cell" IS NULL), 0)'), "BIGINT"),
            *map(sql.raw, more),
        )
        solved = sql.select([sql.named(answer, "_pp_r")], '"_pp_placed"')
        statement.step("_pp_solved", solved, materialized=True)
        return statement

    def _counted(self, names: Sequence[str]) -> str:
        columns = [sql.named(sql.column(c.name), name) for c, name in zip(self.published.columns, names, strict=True)]
        count = sql.named(self._count(), "_pp_n")
        grouped = sql.select(
            [*columns, count, *(sql.named(sql.raw(text), name) for name, text in self.also)],
            self.published.source.sql,
            group=[sql.number(i) for i in range(1, len(names) + 1)],
        )
        dropped = [
            sql.column(name)
            for name, attribute in zip(names, self.published.attributes, strict=True)
            if not self._null_is_level(attribute)
        ]
        # NULLs are left out after the GROUP BY, where there are few rows to look at.
        return sql.select([exp.Star()], f"({grouped})", where=sql.present(dropped))

    def _count(self) -> sql.Expr:
        if self.count is None:
            return sql.call("count", exp.Star())
        return sql.call("coalesce", sql.call("fsum", count_column.as_number(self.count)), sql.number(0.0))

    def _null_is_level(self, attribute: Attribute) -> bool:
        if attribute.levels is not None:
            return None in attribute.levels
        return self.on_null == "level"

    def _levels(self, names: Sequence[str]) -> str:
        lists = []
        for name, attribute in zip(names, self.published.attributes, strict=True):
            if attribute.levels is None:
                quoted_name = sql.render(sql.column(name))
                found: sql.Expr = sql.raw(f"list(DISTINCT {quoted_name} ORDER BY {quoted_name} NULLS LAST)")
            else:
                found = sql.raw(f"CAST({_texts(attribute)} AS {attribute.type or 'VARCHAR'}[])")
            lists.append(sql.named(found, name.replace("_pp_a", "_pp_l")))
        known = all(attribute.levels is not None for attribute in self.published.attributes)
        return f"SELECT {', '.join(map(sql.render, lists))}" if known else sql.select(lists, '"_pp_cells"')

    def _placed(self, names: Sequence[str]) -> str:
        """Every cell's number, NULL where one of its values is no level; at least one row, so that sizes arrive."""
        lists = [sql.column(name.replace("_pp_a", "_pp_l")) for name in names]
        # Both are 0, or an error.
        number = 'CAST("_pp_ok" AS DOUBLE)' if self.count is None else 'CAST("_pp_ok" + "_pp_counted" AS DOUBLE)'
        for name, levels, attribute in zip(names, lists, self.published.attributes, strict=True):
            size, value = f"len({sql.render(levels.copy())})", sql.render(sql.column(name))
            place = f"list_position({sql.render(levels.copy())}, {value})"
            if attribute.levels is not None:
                # By their texts, because the type may not be known; there are only as many as there are cells.
                place = f"list_position({_texts(attribute)}, CAST({value} AS VARCHAR))"
            if self._null_is_level(attribute):
                place = f"CASE WHEN {value} IS NULL THEN {size} ELSE {place} END"
            number = f"({number} * {size} + {place} - 1)"
        # Thousands of levels would be searched for every cell, only to be refused.
        few = " AND ".join(f"len({sql.render(levels.copy())}) <= {MOST_LEVELS}" for levels in lists)
        number = f"CASE WHEN {few} THEN {number} END"
        sizes = sql.array((sql.call("len", levels.copy()) for levels in lists), "BIGINT")
        columns = [
            sql.named(sql.raw(number), "_pp_cell"),
            sql.column("_pp_n"),
            sql.named(sizes, "_pp_sizes"),
            *lists,
            *(sql.column(name) for name, _ in self.also),
        ]
        checked = '"_pp_views"' if self.count is None else '"_pp_views" CROSS JOIN "_pp_counts"'
        return sql.select(columns, f'"_pp_levels" CROSS JOIN {checked} LEFT JOIN "_pp_cells" ON true')

    def decoded(self, number: str) -> list[sql.Expr]:
        """The levels of a cell's number, under the names of the columns."""
        result = []
        attributes = self.published.attributes
        for i, column in enumerate(self.published.columns):
            later = [f'len("_pp_l{k}")' for k in range(i + 1, len(attributes))]
            stride = " * ".join(later) if later else "1"
            place = f'1 + ({sql.render(sql.column(number))} // ({stride})) % len("_pp_l{i}")'
            result.append(sql.named(sql.raw(f'list_extract("_pp_l{i}", {place})'), column.name))
        return result


def _texts(attribute: Attribute) -> str:
    texts = ["NULL" if level is None else sql.render(sql.text(level)) for level in attribute.levels or ()]
    return f"[{', '.join(texts)}]"


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


def reconstruction(
    spec: dict[str, Any], sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int,
) -> Reconstruction:  # fmt: skip
    """The published table with its matrices, after everything that can be wrong with it."""
    faults = Faults(spec["function"], spec["table"])
    for column, size in zip(spec["columns"], sizes, strict=True):
        if (size or 0) > MOST_LEVELS:  # no rows, no levels
            faults.add(no_category(column["column"]))
    faults.raise_if_any()
    if strangers:
        raise faults.refuse(
            f"{strangers} rows hold a value that is none of the levels of its column; give the whole domain in levels."
        )
    placed = [(n, c) for n, c in zip(numbers or (), counts or (), strict=True) if n is not None and c is not None]
    if not any(count != 0 for _, count in placed):
        raise faults.refuse("there are no rows in which all of the columns are present; nothing can be reconstructed.")
    refuse_many_cells(faults, sizes, spec["most"])
    matrices = [_matrix(column, size, faults) for column, size in zip(spec["columns"], sizes, strict=True)]
    faults.raise_if_any()
    table: Array = np.zeros(prod(sizes))
    table[[int(number) for number, _ in placed]] = [count for _, count in placed]
    return Reconstruction(
        table.reshape(*sizes), tuple(m for m in matrices if m is not None), spec.get("target", "population")
    )


def estimated(spec: dict[str, Any], found: Reconstruction, method: str) -> Array:
    """The table by a method, with a warning where the maximum of the likelihood was not reached."""
    table, missing = found.estimate(method)
    if missing > _WARN_MISSING:
        warn(
            Faults(spec["function"], spec["table"]),
            f"the maximum of the likelihood was not reached; the log-likelihood may be {missing:.2g} below it. Ask "
            "about fewer cells.",
        )
    return table


def _matrix(column: dict[str, Any], size: int, faults: Faults) -> Array | None:
    """The matrix of a column that has so many levels; None after a fault."""
    name = quoted(column["column"])
    attribute = Attribute(column["column"], "", None, column["p"], column["matrix"])
    if attribute.rows is not None and len(attribute.rows) != size:
        faults.add(
            f"matrix of column {name} is {len(attribute.rows)}×{len(attribute.rows)}, but {size} levels occur; give "
            "them all in levels."
        )
        return None
    if size == 1 and not attribute.is_identity:
        faults.add(f"column {name} has a single level, so that it cannot have been randomized; give all in levels.")
        return None
    matrix = attribute.matrix(size)
    return matrix if attribute.is_identity or is_invertible(attribute.name, matrix, attribute.p, faults) else None
