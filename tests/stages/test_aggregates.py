"""What parts of a table answer is merged into what the whole would have answered."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppduck.query import tree as sql
from ppduck.stages import aggregates
from ppduck.stages.aggregates import Aggregate
from ppduck.stages.narrow_table import sampled_upto
from ppduck.stages.plan import Totals
from ppduck.stages.relation import rounded_mean, spread

pytestmark = pytest.mark.core
ONCE = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
X, Y, KEY = (sql.column(name) for name in ("x", "y", "k"))
BOTH = [X, Y]
POSITIVE = sql.call("isfinite", X)
EXACT = [
    aggregates.rows("rows"),
    aggregates.count("present", sql.call("count", X.copy())),
    aggregates.counts("counts", [sql.call("count", each.copy()) for each in BOTH]),
    aggregates.present("there", Y),
    aggregates.least("least", BOTH),
    aggregates.most("most", BOTH),
    aggregates.peaks("peaks", BOTH),
    aggregates.constant("constant", BOTH),
    aggregates.every("every", [POSITIVE]),
    aggregates.digest("digest", KEY),
    aggregates.count_distinct("distinct", KEY),
    aggregates.counts_distinct("each_distinct", [KEY, sql.cast(X.copy(), "VARCHAR")]),
    aggregates.in_order_of("sample", BOTH, KEY),
    aggregates.farthest("farthest", sql.array([KEY, Y], "DOUBLE"), KEY, sql.number(10)),
    sampled_upto(5),
    spread("spread", X),
]
NEAR = [
    aggregates.sums("sums", BOTH),
    aggregates.products("products", BOTH),
    aggregates.mean("mean", X, none=0.0),
    aggregates.means("means", BOTH),
    rounded_mean("rounded", X),
]
NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False) | st.integers(-2, 2).map(float)
ROWS = st.lists(st.tuples(st.integers(0, 2), NUMBERS | st.none(), NUMBERS, st.integers(0, 3)), min_size=1, max_size=40)


def merged(con: duckdb.DuckDBPyConnection, found: list[Aggregate], parts: int) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """By group: what the whole answers, and what the merged parts do."""
    totals = Totals("_pp_totals", False, [("by", sql.column("g"))], found, sql.table("part"))
    con.execute("CREATE OR REPLACE TEMP VIEW part AS FROM whole")
    whole = {row[0]: row[1:] for row in con.execute(sql.render(totals.tree)).fetchall()}
    partial: dict[Any, list[Any]] = {}
    for i in range(parts):
        con.execute(f"CREATE OR REPLACE TEMP VIEW part AS FROM whole WHERE p % {parts} = {i}")
        for group, *values in con.execute(sql.render(totals.partial())).fetchall():
            partial.setdefault(group, []).append(values)
    answers = {}
    for group, rows in partial.items():
        at, told = 0, []
        for each in found:
            told.append(each.merge([tuple(row[at : at + len(each.partials)]) for row in rows]))
            at += len(each.partials)
        answers[group] = tuple(told)
    return whole, answers


def tabled(con: duckdb.DuckDBPyConnection, rows: list[tuple[int, float | None, float, int]]) -> None:
    group, x, y, part = (list(column) for column in zip(*rows, strict=True))
    keys = pa.array([i * 7919 % 1009 for i in range(len(rows))], pa.uint64())
    columns = {"g": group, "x": pa.array(x, pa.float64()), "y": pa.array(y, pa.float64()), "k": keys, "p": part}
    con.register("given_rows", pa.table(columns))
    con.execute("CREATE OR REPLACE TABLE whole AS FROM given_rows")
    con.unregister("given_rows")


@ONCE
@given(rows=ROWS)
@pytest.mark.parametrize("parts", [1, 3])
def test_counts_extremes_and_lists_are_those_of_the_whole(
    con: duckdb.DuckDBPyConnection, parts: int, rows: list[tuple[int, float | None, float, int]]
) -> None:
    tabled(con, rows)
    whole, found = merged(con, EXACT, parts)
    assert found == whole


@ONCE
@given(rows=ROWS)
@pytest.mark.parametrize("parts", [1, 3])
def test_sums_are_those_of_the_whole_but_for_rounding(
    con: duckdb.DuckDBPyConnection, parts: int, rows: list[tuple[int, float | None, float, int]]
) -> None:
    tabled(con, rows)
    whole, found = merged(con, NEAR, parts)
    assert set(whole) == set(found)
    for group in whole:
        for one, other in zip(flat(whole[group]), flat(found[group]), strict=True):
            assert one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-3)


def flat(values: Any) -> list[Any]:
    return [v for each in values for v in flat(each)] if isinstance(values, (list, tuple)) else [values]


def test_nan_is_the_largest_here_as_in_duckdb(con: duckdb.DuckDBPyConnection) -> None:
    tabled(con, [(0, 1.0, 2.0, 0), (0, math.nan, 5.0, 1), (0, 3.0, math.inf, 2)])
    whole, found = merged(con, [aggregates.most("most", BOTH)], 3)
    assert math.isnan(found[0][0][0])
    assert math.isnan(whole[0][0][0])
    assert found[0][0][1] == whole[0][0][1] == math.inf


@pytest.mark.parametrize("copies", [1, 2, 500])
def test_distinct_keys_are_known_to_a_few_per_cent(con: duckdb.DuckDBPyConnection, copies: int) -> None:
    keys = 100_000 // copies
    con.execute(
        f"CREATE OR REPLACE TABLE whole AS SELECT 0 AS g, hash(i % {keys}) AS k, i % 7 AS p FROM range(100000) r(i)"
    )
    _, found = merged(con, [aggregates.distinct("keys", KEY)], 7)
    error = 4 / math.sqrt(1024 / copies) if copies < 100 else 4
    assert abs(found[0][0] / keys - 1) < error
    few = 800
    con.execute(f"CREATE OR REPLACE TABLE whole AS SELECT 0 AS g, hash(i) AS k, i % 7 AS p FROM range({few}) r(i)")
    _, found = merged(con, [aggregates.distinct("keys", KEY)], 7)
    assert found[0] == (few,)


def test_a_part_without_rows_says_nothing() -> None:
    for each in EXACT:
        assert each.merged_by
    assert aggregates.means("m", [X]).merge([(None, [0]), ([6.0], [2])]) == [3.0]
    assert aggregates.mean("m", X, none=0.0).merge([(None, 0)]) == 0.0
    assert aggregates.digest("d", KEY).merge([(None,), ("18446744073709551615",), ("1",)]) == "18446744073709551616"
