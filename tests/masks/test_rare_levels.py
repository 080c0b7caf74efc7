"""Rare levels: which of them become one, and that rows find theirs among very many."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.masks import _rare_levels
from ppduck.query import tree as sql
from ppduck.stages.masking import SOURCE

pytestmark = pytest.mark.core
Rows = list[tuple[object, bool]]


def found(con: duckdb.DuckDBPyConnection, rare_below: int, called: sql.Expr) -> tuple[Rows, int, bool]:
    """Each value of a table with whether it is merged, how many there are, and whether a level is taken."""
    value = sql.column("x")
    statement = sql.Statement()
    statement.step(SOURCE, sql.query([sql.star("t")], sql.table("t")), materialized=False)
    for stage in _rare_levels.stages(0, value, rare_below):
        statement.step(stage.name, stage.tree, materialized=stage.kept)
    look = {
        "n": _rare_levels.values(0),
        "taken": _rare_levels.is_taken(0, called),
        _rare_levels.lookup(0): _rare_levels.buckets(0),
    }
    statement.step("look", sql.query(sql.columns(look)), materialized=True)
    merged = sql.call("coalesce", _rare_levels.is_merged(0, value), sql.raw("false"))
    columns = [value.copy(), merged, sql.column("n"), sql.column("taken")]
    rows = sql.table(SOURCE).cross(sql.table("look"))
    every = con.execute(sql.render(statement.query(sql.query(columns, rows)))).fetchall()
    return [row[:2] for row in every], every[0][2] if every else 0, bool(every and every[0][3])


def expected(values: list[str | None], rare_below: int) -> set[str]:
    """Rare levels, and of others the rarest, until all of them together are not rare."""
    counts = Counter(value for value in values if value is not None)
    rising = sorted(counts, key=lambda level: (counts[level], level.encode()))
    merged: set[str] = set()
    for level in rising:
        of_merged = sum(counts[each] for each in merged)
        if counts[level] < rare_below or (merged and of_merged < rare_below):
            merged.add(level)
    return merged


@given(
    values=st.lists(st.none() | st.sampled_from(["a", "b", "c", "dd", "ä", ""]), max_size=40),
    rare_below=st.integers(2, 8),
)
@settings(max_examples=60, deadline=None)
def test_the_law(values: list[str | None], rare_below: int) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (x VARCHAR)")
        if values:
            con.executemany("INSERT INTO t VALUES (?)", [[value] for value in values])
        rows, count, taken = found(con, rare_below, sql.text("a"))
    merged = expected(values, rare_below)
    assert rows == [(value, value in merged) for value in values]
    present = [value for value in values if value is not None]
    assert not values or count == len(present)
    assert taken == (bool(merged) and "a" in present)
    sizes = Counter(None if value in merged else value for value in present)
    assert len(present) < rare_below or all(size >= rare_below for size in sizes.values())


@pytest.mark.parametrize("type_", ["VARCHAR", "INTEGER", "HUGEINT"])
def test_rows_find_their_level_among_many_thousands(type_: str) -> None:
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS SELECT (i % 60000)::{type_} AS x FROM range(100000) r(i)")
        rows, count, taken = found(con, 2, sql.cast(sql.text("-1"), type_))
    assert (count, taken) == (100_000, False)
    assert [merged for _, merged in rows] == [i % 60_000 >= 40_000 for i in range(100_000)]
