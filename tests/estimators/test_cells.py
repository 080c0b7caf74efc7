"""Cells by their number: SQL and Python agree on it, and whatever cannot be a table is refused by name."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pytest

from ppduck.call.udf import told_udf
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import Attribute
from ppduck.errors import Faults, PpduckError
from ppduck.estimators import cells
from ppduck.estimators.cells import CellColumn, CellCounts, Cells, CellsSpec, table_of
from ppduck.estimators.design_source import Release
from ppduck.extension.udfs import callable_by_duckdb
from ppduck.kernels.noise import KeyedNoise
from ppduck.notes import Speaker
from ppduck.query import tree as sql

pytestmark = pytest.mark.core
COLUMNS = (Column("a", "VARCHAR"), Column("b", "INTEGER"))
SPEC = CellsSpec("f", "t", (CellColumn("a", 1.0, None), CellColumn("b", 0.8, None)), 100)


def echo(spec: CellsSpec, told: CellCounts) -> list[float]:
    """What Python is told, in a row: sizes, then numbers and counts, then strangers."""
    sizes = [np.nan if size is None else float(size) for size in told.sizes]
    return [*sizes, *told.numbers, *told.counts, float(told.strangers)]


ECHO = told_udf("echo", echo, CellsSpec, CellCounts, "DOUBLE[]")


def release(*levels: tuple[str | None, ...] | None) -> Release:
    attributes = tuple(Attribute(c.name, c.type, own, 1.0) for c, own in zip(COLUMNS, levels, strict=True))
    return Release("f", Source("t", '"t"', COLUMNS), COLUMNS, attributes)


def told(rows: str, table: Cells, last: sql.Expr) -> list[Any]:
    """What a statement over the cells of these rows gives."""
    statement = table.solve(ECHO, table.spec(CellsSpec))
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) AS v(a, b)")
        function = callable_by_duckdb(ECHO, Speaker(), lambda: KeyedNoise(b"sixteen bytes or more"))
        create: Any = con.create_function
        create("echo", function, list(ECHO.takes), ECHO.gives, null_handling="special", type="arrow")
        return con.execute(sql.render(statement.query(last))).fetchall()


ANSWER = sql.query([sql.call("unnest", sql.column(cells.ANSWER))], sql.table(cells.SOLVED))


@pytest.mark.parametrize("levels", [(None, None), (("x", "y", "z"), ("1", "2"))])
def test_cells_are_numbered_in_the_order_of_their_levels(levels: Any) -> None:
    rows = [("z", 2), ("x", 1), ("z", 2), ("y", 1), ("x", 1), ("x", 2)]
    written = ", ".join(f"('{a}', {b})" for a, b in rows)
    found = [value for (value,) in told(written, Cells(release(*levels), 100), ANSWER.copy())]
    counts = Counter(["x", "y", "z"].index(a) * 2 + b - 1 for a, b in rows)
    numbers = sorted(counts)
    assert found == [3, 2, *numbers, *(counts[number] for number in numbers), 0]


def test_the_levels_of_a_number() -> None:
    table = Cells(release(("x", "y"), ("1", "2", "3")), 100)
    every = sql.query(
        [sql.named(sql.call("unnest", sql.call("range", table.size())), "i")], sql.table(cells.LEVELS_STEP)
    )
    shown = [sql.column("i"), *table.levels_at("i").values()]
    rows = sql.derived(every, "every").cross(sql.table(cells.LEVELS_STEP))
    found = told("('x', 1)", table, sql.query(shown, rows, order=[sql.column("i")]))
    assert found == [(i, *level) for i, level in enumerate(product("xy", (1, 2, 3)))]


def test_null_is_left_out_or_a_level() -> None:
    rows = "('x', 1), (NULL, 1), ('y', NULL)"
    dropped = [value for (value,) in told(rows, Cells(release(None, None), 100), ANSWER.copy())]
    assert dropped == [1, 1, 0, 1, 0]
    kept = [value for (value,) in told(rows, Cells(release(None, None), 100, null_is_level=True), ANSWER.copy())]
    assert kept == [3, 2, 0, 3, 4, 1, 1, 1, 0]  # levels x, y, NULL and 1, NULL


def test_a_value_that_is_no_level_is_counted_as_a_stranger() -> None:
    found = [
        v for (v,) in told("('x', 1), ('q', 1), ('q', 2)", Cells(release(("x", "y"), ("1", "2")), 100), ANSWER.copy())
    ]
    assert found[-1] == 2
    assert np.isnan(found[3:5]).all()


def counted(sizes: list[int | None], numbers: list[float], counts: list[float], strangers: int = 0) -> CellCounts:
    return CellCounts(sizes, np.array(numbers, dtype=float), np.array(counts, dtype=float), strangers)


def test_the_table() -> None:
    found = table_of(SPEC, counted([2, 3], [0, 4, np.nan], [5, 7, 1]), "table")
    assert found.counts.tolist() == [[5, 0, 0], [0, 7, 0]]
    assert (found.n, found.target) == (12, "table")
    assert found.matrices[1] == pytest.approx(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]))


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (counted([2, 1001], [0], [5]), r'column "b" has more than 1,000 levels, which is no category'),
        (counted([2, 3], [0], [5], 4), "4 rows hold a value that is none of the levels"),
        (counted([2, 3], [], []), "there are no rows in which all of the columns are present"),
        (counted([2, 3], [1], [0]), "there are no rows in which all of the columns are present"),
        (counted([None, None], [np.nan], [np.nan]), "there are no rows in which all of the columns are present"),
        (counted([11, 10], [0], [5]), r"would have 110 cells \(11 × 10 levels\), more than the 100"),
        (counted([2, 1], [0], [5]), 'column "b" has a single level, so that it cannot have been randomized'),
    ],
)
def test_what_is_no_table(told: CellCounts, fault: str) -> None:
    with pytest.raises(PpduckError, match=f'^f on "t": .*{fault}'):
        table_of(SPEC, told, "table")


def test_a_matrix_of_another_size() -> None:
    spec = CellsSpec("f", "t", (CellColumn("a", None, ((0.9, 0.1), (0.1, 0.9))),), 100)
    with pytest.raises(PpduckError, match='matrix of column "a" is 2×2, but 3 levels occur; give them all in levels'):
        table_of(spec, counted([3], [0], [5]), "table")


def test_many_cells_are_refused_before_they_are_counted() -> None:
    class Sizes:
        def execute(self, query: str, parameters: object = None) -> Any:
            assert query.count("count(DISTINCT") == 8
            return self

        def fetchone(self) -> Any:
            return (10,) * 8

        def extract_statements(self, query: str) -> list[Any]:
            raise NotImplementedError

    columns = tuple(Column(f"c{i}", "VARCHAR") for i in range(8))
    own = Release(
        "f", Source("t", '"t"', columns), columns, tuple(Attribute(c.name, c.type, None, 1.0) for c in columns)
    )
    with pytest.raises(PpduckError, match="would have 100,000,000 cells"):
        Cells(own, 1000).refuse_too_many(Catalog(Sizes()))


def test_a_specification_tells_columns_and_what_is_its_own() -> None:
    spec = Cells(release(None, None), 7).spec(CellsSpec)
    assert (spec.function, spec.table, spec.most) == ("f", "t", 7)
    assert spec.columns == (CellColumn("a", 1.0, None), CellColumn("b", 1.0, None))
    assert CellsSpec.read(spec.text()) == spec


def test_an_unreached_maximum_warns() -> None:
    class Unreached:
        def estimate(self, method: str) -> Any:
            assert method == "mle"
            return "table", 0.5

    with pytest.warns(match='f on "t": the maximum of the likelihood was not reached'):
        assert cells.estimate_by("mle", Unreached(), Faults("f", "t")) == "table"  # type: ignore[arg-type]


def test_levels_are_told_as_texts_in_the_order_of_the_columns() -> None:
    counted = Cells(release(None, None), 100)
    first, second = (sql.render(counted.levels(i)) for i in range(2))
    assert sql.render(counted.level_texts()).lower() == (
        f"any_value(cast(list_value(cast({first} as text[]), cast({second} as text[])) as text[][]))"
    )
