"""unchanged_values(): a copy, a stranger, a part of each, and columns of few values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest

from tests.laws import insert

pytestmark = pytest.mark.core
Ask = Callable[[str], list[dict[str, Any]]]
CALL = "FROM unchanged_values('t', '{}', key='id')"


@pytest.fixture
def t(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A measurement, a count that is mostly 0, and a text."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, sin(i * 7) AS x, if(i % 10 = 0, i, 0) AS zeros, ['a', 'b'][1 + i % 2] AS c "
        "FROM range(2000) r(i)"
    )
    return con


def test_a_copy_is_unchanged_and_a_stranger_is_not(t: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    copied = {row["column_name"]: row for row in ask(CALL.format("t"))}
    assert list(copied) == ["x", "zeros", "c"]
    assert {row["excess"] for row in copied.values()} == {1}
    assert {row["unchanged"] for row in copied.values()} == {2000}
    assert not any(row["passed"] for row in copied.values())
    t.execute("CREATE TABLE r AS SELECT (id * 331 + 7) % 2000 AS id, x, zeros, c FROM t")
    moved = {row["column_name"]: row for row in ask(CALL.format("r"))}
    assert moved["x"]["share"] < 0.005
    assert moved["zeros"]["share"] == pytest.approx(0.81, abs=0.02), "zeros meet zeros"
    assert moved["zeros"]["excess"] == pytest.approx(0, abs=0.06)
    assert moved["zeros"]["passed"]


@pytest.mark.long
def test_a_random_order_holds_but_once_in_a_thousand(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    rng = np.random.default_rng(5)
    values = np.column_stack([rng.normal(size=300), rng.integers(0, 3, size=300), rng.integers(0, 2, size=300)])
    insert(con, "t", ["x", "three", "two"], values)
    held = []
    for _ in range(60):
        con.execute("DROP TABLE IF EXISTS r")
        insert(con, "r", ["x", "three", "two"], rng.permuted(values, axis=0))
        held += [row["passed"] for row in ask(CALL.format("r"))]
    assert sum(held) >= len(held) - 2


def test_each_column_is_looked_at_by_itself(t: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """NULL elsewhere in a row hides nothing; a value that is NULL on either side is left out and counted."""
    t.execute("CREATE TABLE r AS SELECT id, if(id < 500, x, x + 1) AS x, NULL::INTEGER AS zeros, c FROM t")
    found = {row["column_name"]: row for row in ask(CALL.format("r"))}
    assert (found["x"]["unchanged"], found["x"]["rows"], found["x"]["left_out"]) == (500, 2000, 0)
    assert found["x"]["excess"] == pytest.approx(0.25, abs=1e-3)
    assert (found["zeros"]["rows"], found["zeros"]["left_out"], found["zeros"]["share"]) == (0, 2000, None)


@pytest.mark.parametrize(("kept", "passed"), [(0, True), (0.05, False)])
def test_open_columns_may_tell_of_few_values(
    con: duckdb.DuckDBPyConnection, ask: Ask, kept: float, passed: bool
) -> None:
    """Both sides lean on something that is public: they are equal more often than rows that are dealt out."""
    rng = np.random.default_rng(8)
    told, x, y = rng.normal(size=(3, 20_000)) * 3
    x, y = (np.round(20 + 0.6 * told + 0.8 * own) for own in (x, y))
    insert(con, "t", ["x"], x[:, None])
    insert(con, "r", ["x"], np.where(rng.uniform(size=20_000) < kept, x, y)[:, None])
    [row] = ask("SELECT * FROM unchanged_values('t', 'r', conf=['x'], key='id')")
    assert row["excess"] > 0.01
    assert row["passed"] is passed


@pytest.mark.parametrize(
    ("also", "beyond", "passed"),
    [("false", 0, True), ("o.id = 17", 0, False), ("false", 2, False)],
    ids=["only the ends", "a row between them too", "other values are beyond them"],
)
def test_the_ends_of_a_range_may_be_what_they_were(
    t: duckdb.DuckDBPyConnection, ask: Ask, also: str, beyond: int, passed: bool
) -> None:
    """A mask that keeps the range of a column gives its ends to some rows, and may give them to their own."""
    t.execute(f"""
        CREATE TABLE r AS
        SELECT o.id, if(o.x IN (SELECT unnest([min(x), max(x)]) FROM t) OR {also}, o.x,
                        if(o.id = 5, {beyond}, 0) + 0.99 * m.x + 0.001) AS x, m.zeros, m.c
        FROM t o JOIN t m ON m.id = (o.id * 331 + 7) % 2000
        """)
    [found] = [row for row in ask(CALL.format("r")) if row["column_name"] == "x"]
    assert found["unchanged"] == 2 + (also != "false")
    assert found["passed"] is passed


def test_a_constant_tells_nothing(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, 5 AS x FROM range(100) r(i)")
    [row] = ask(CALL.format("t"))
    assert (row["share"], row["chance_share"], row["excess"], row["passed"]) == (1, 1, 0, True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'t', '(FROM t WHERE id > 3)', key='id'", r'4 of the 2000 rows of "t" have no partner'),
        ("'t', '(SELECT id, x::VARCHAR AS x FROM t)', key='id'", 'column "x" is of type DOUBLE in "t" and of type VARCHAR'),
        ("'(SELECT id, x::VARCHAR AS x FROM t)', 't', key='id'", 'column "x" is of type VARCHAR in .* and of type DOUBLE'),
        ("'t', 't', conf=['y'], key='id'", 'conf names column "y", which does not exist'),
    ],
)  # fmt: skip
def test_bad_input_is_told(t: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        t.execute(f"FROM unchanged_values({call})").fetchall()
