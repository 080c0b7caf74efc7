"""Moments of pairs are right wherever the columns lie, and however the tables are stored."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from ppduck.pairs.moments import apart, apart_by, far_off
from tests.laws import insert

pytestmark = pytest.mark.core
CALL = "SELECT r2_s, r2_y, r2_sy FROM value_disclosure('t', '{}', conf=['x'], nonconf=['s'], key='id')"


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A release of 500 rows, far from zero, whose first rows are farther off."""
    rng = np.random.default_rng(4)
    s, e = rng.normal(size=(2, 500))
    x = 1e8 + 3 * s + e
    x[:20] += 1e6
    y = x + rng.normal(size=500)
    insert(con, "t", ["s", "x"], np.column_stack([s, x]))
    insert(con, "r", ["s", "x"], np.column_stack([s, y]))
    con.execute("CREATE TABLE shuffled AS FROM r ORDER BY hash(id)")
    return con


def r2(con: duckdb.DuckDBPyConnection) -> list[float]:
    """By least squares of numpy, in other units."""
    s, x, y = np.array(
        con.execute("SELECT t.s, t.x - 1e8, r.x - 1e8 FROM t JOIN r USING (id) ORDER BY id").fetchall()
    ).T
    found = []
    for columns in ([s], [y], [s, y]):
        z = np.column_stack([np.ones(len(x)), *columns])
        left = x - z @ np.linalg.lstsq(z, x, rcond=None)[0]
        found.append(1 - left.var() / x.var())
    return found


@pytest.mark.parametrize("release", ["r", "shuffled", "(FROM r)"])
def test_rows_side_by_side_and_rows_that_are_joined_have_the_same(
    tables: duckdb.DuckDBPyConnection, release: str
) -> None:
    assert tables.execute(CALL.format(release)).fetchone() == pytest.approx(r2(tables), rel=1e-7)


def test_a_sample_and_all_rows_agree_where_there_are_few(tables: duckdb.DuckDBPyConnection) -> None:
    curve = CALL.format("r").replace("key='id'", "key='id', model='curve'")
    assert tables.execute(curve).fetchone() == pytest.approx(r2(tables), abs=0.05)


def test_a_centre_far_from_the_mean_is_found() -> None:
    [near] = far_off(1)
    with duckdb.connect() as con:
        found = con.execute(
            f"""SELECT {near.sql(dialect="duckdb")} FROM (VALUES ([1.0], [10.0], 10), ([1e5], [1e9 + 1], 10))
            AS sums("_pp_sums", "_pp_products", "_pp_count")"""
        ).fetchall()
    assert found == [(False,), (True,)]


def test_what_was_told_of_pieces_comes_apart_again() -> None:
    assert [each.tolist() for each in apart(np.arange(4.0), 2)] == [[0.0, 1.0], [2.0, 3.0]]
    sizes = np.array([1.0, np.nan, 2.0])  # no row of the second was drawn
    assert [each.tolist() for each in apart_by(np.arange(3.0), sizes)] == [[0.0], [], [1.0, 2.0]]
