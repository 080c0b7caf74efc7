"""Rank swapping: values stay, ranks move within p %, and chance hangs on the key."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.census import COLUMNS
from tests.laws import insert, matrix

pytestmark = pytest.mark.core


def ranks(values: np.ndarray) -> np.ndarray:
    return values.argsort().argsort()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(40, 400), p=st.floats(10, 100))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_values_stay_and_ranks_move_within_p_percent(
    con: duckdb.DuckDBPyConnection, seed: int, n: int, p: float
) -> None:
    data = np.random.default_rng(seed).normal(size=(n, 2))
    insert(con, "t", ["x", "y"], data)
    released = matrix(con, f"SELECT x, y FROM rank_swap_mask('t', conf=['x', 'y'], reach={p!r}, key='id') ORDER BY id")
    for before, after in zip(data.T, released.T, strict=True):
        assert (np.sort(before) == np.sort(after)).all()
        moved = np.abs(ranks(before) - ranks(after))
        assert moved.max() <= p * n / 100
        assert (moved > 0).all()
    con.execute("DROP TABLE t")


def test_columns_are_swapped_independently(con: duckdb.DuckDBPyConnection) -> None:
    """Equal columns come out as different ones."""
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x, sin(i) AS y FROM range(1000) r(i)")
    [(same,)] = con.execute(
        "SELECT count(*) FILTER (x = y) FROM rank_swap_mask('t', conf=['x', 'y'], reach=20, key='id')"
    ).fetchall()
    assert same < 30


def test_displacements_are_spread_over_the_reach(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, i AS x FROM range(20000) r(i)")
    moved = matrix(con, "SELECT abs(x - id) FROM rank_swap_mask('t', conf=['x'], reach=10, key='id')")[:, 0]
    shares = np.histogram(moved, bins=5, range=(0, 2000))[0] / 20000
    assert moved.max() == pytest.approx(2000, abs=5)
    assert (shares > 0.12).all(), "every distance within the reach occurs"


def test_ties_types_and_nulls(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        CREATE TABLE t AS SELECT i AS id, if(i % 3 = 0, NULL, i % 7)::TINYINT AS few, (i * 1.25)::DECIMAL(9, 2) AS money,
               9007199254740993 + i AS large FROM range(600) r(i)
        """
    )
    released = con.sql("FROM rank_swap_mask('t', conf=['few', 'money', 'large'], reach=40, key='id')")
    assert released.types == con.sql("FROM t").types
    for column in ("few", "money", "large"):
        query = f"SELECT {column}, count(*) FROM {{}} GROUP BY ALL ORDER BY ALL"
        after = "rank_swap_mask('t', conf=['few', 'money', 'large'], reach=40, key='id')"
        assert con.execute(query.format(after)).fetchall() == con.execute(query.format("t")).fetchall()
    [(moved,)] = con.execute(
        "SELECT count(*) FILTER ((r.few IS NULL) <> (t.few IS NULL)) "
        "FROM t JOIN rank_swap_mask('t', conf=['few'], reach=40, key='id') r USING (id)"
    ).fetchall()
    assert moved == 0, "NULL stays NULL"


def test_rows_without_a_key_that_are_alike_are_always_swapped_alike(con: duckdb.DuckDBPyConnection) -> None:
    """A view has no row numbers, and many rows tie in all that is masked."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, (hash(i) % 1000)::INTEGER AS x, (hash(i + 7) % 500)::INTEGER AS y FROM range(200000) r(i)"
    )
    con.execute("CREATE VIEW v AS FROM t; SET threads = 2")
    query = "SELECT bit_xor(hash(id, x, y)) FROM rank_swap_mask('v', conf=['x', 'y'], reach=10)"
    assert len({con.execute(query).fetchall()[0] for _ in range(3)}) == 1


def test_groups_are_swapped_by_themselves(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, if(i % 3 = 0, NULL, i % 3) AS g, 1000 * (i % 3) + sin(i) AS x FROM range(300) r(i)"
    )
    query = "SELECT g, list(x ORDER BY x) FROM {} GROUP BY g ORDER BY g"
    released = "rank_swap_mask('t', conf=['x'], reach=10, strata=['g'], key='id')"
    assert con.execute(query.format(released)).fetchall() == con.execute(query.format("t")).fetchall()


def test_the_same_release_is_the_same_and_another_is_another(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x, cos(i) AS y FROM range(500) r(i)")
    query = "SELECT x FROM rank_swap_mask('t', conf={}, reach={}, key='id') ORDER BY id"
    first = matrix(con, query.format("['x', 'y']", 10))
    assert (first == matrix(con, query.format("['y', 'x']", 10.0))).all(), "however it is written"
    assert (first != matrix(con, query.format("['x', 'y']", 11))).mean() > 0.9
    con.execute("UPDATE t SET y = 0 WHERE id = 3")
    assert (first != matrix(con, query.format("['x', 'y']", 10))).mean() > 0.9


@pytest.mark.parametrize("p", [12, 13, 14, 15, 17])
def test_information_lost_on_census_is_in_the_range_of_the_literature(
    con: duckdb.DuckDBPyConnection, reference_data: Path, p: int
) -> None:
    """A rank swap tried beforehand gave 19.6, 21.4, 22.7, 25.2 and 29.2, printed are 21.08 to 27.44; sd about 2."""
    figure = {12: 19.6, 13: 21.4, 14: 22.7, 15: 25.2, 17: 29.2}[p]
    con.execute(f"CREATE TABLE t AS SELECT row_number() OVER () AS id, * FROM '{reference_data}/census.parquet'")
    found = []
    for seed in range(2):
        con.execute(
            f"CREATE OR REPLACE TABLE r AS FROM rank_swap_mask('t', conf={COLUMNS}, reach={p}, key='id', seed={seed})"
        )
        [(loss,)] = con.execute(
            f"SELECT value FROM information_loss('t', 'r', conf={COLUMNS}, key='id') WHERE component = 'information_loss'"
        ).fetchall()
        found.append(100 * loss)
    assert np.mean(found) == pytest.approx(figure, abs=3 * 2.3 * np.sqrt(1 + 1 / 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'t', conf=['x'], reach=0", "reach must be from 1 to 100: reach is in per cent of the ranks.*, got 0"),
        ("'t', conf=['x'], reach=0.14", "reach must be from 1 to 100: reach is in per cent of the ranks.*, got 0.14"),
        ("'t', conf=['x'], reach=100.5", "reach must be from 1 to 100.*, got 100.5"),
        ("'t', conf=['x'], reach='a'", "reach takes a number from 1 to 100, got 'a'"),
        ("'t', conf=['x']", "parameter 'reach' is missing: how far a value may move, in % of the ranks"),
        ("'t', conf=['x'], reach=1", 'reach = 1 % of the 100 values of conf column "x" is 1 ranks, .* take a reach of at least 4'),
        ("'t', conf=['name'], reach=10", 'conf names column "name" of type VARCHAR; only numeric columns'),
        ("'t', conf=['same'], reach=10", 'conf column "same" is constant; there is nothing to mask in it'),
        ("'t', conf=['few'], reach=100", 'conf column "few" has 2 values, and fewer than 4 cannot be swapped'),
        ("'t', conf=['x'], reach=10, round=true", "there is no parameter 'round'"),
        ("'t', conf=['x'], reach=10, nonconf=['id']", "there is no parameter 'nonconf'"),
    ],
)  # fmt: skip
def test_bad_input_is_told(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, sin(i) AS x, 'n' || i AS name, 5 AS same, if(i < 2, i, NULL) AS few FROM range(100) r(i)"
    )
    with pytest.raises(duckdb.InvalidInputException, match=f"rank_swap_mask.*{message}"):
        con.execute(f"FROM rank_swap_mask({call})").fetchall()
