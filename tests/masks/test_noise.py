"""Additive noise: its variance, its independence, and the quality of the normals behind every mask."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from scipy import stats

from tests.laws import matrix

pytestmark = pytest.mark.core
N = 200_000


@pytest.fixture
def noise(con: duckdb.DuckDBPyConnection) -> np.ndarray:
    """What noise_mask adds to five columns, in units of what it should be."""
    con.execute(
        f"""
        CREATE TABLE t AS SELECT i AS id, sin(i) AS a, cos(i) * 9 AS b, sin(i * 3) + 5 AS c, cos(2 * i) AS d,
                                 sin(i * 5) * 1e3 AS e
        FROM range({N}) AS r(i)
        """
    )
    original = matrix(con, "SELECT a, b, c, d, e FROM t ORDER BY id")
    call = "noise_mask('t', conf=['a','b','c','d','e'], level={'a': 0.1, 'b': 0.1, 'c': 0.5, 'd': 1, 'e': 2}, key='id')"
    masked = matrix(con, f"SELECT a, b, c, d, e FROM {call} ORDER BY id")
    return (masked - original) / (original.std(axis=0, ddof=1) * np.sqrt([0.1, 0.1, 0.5, 1, 2]))


def test_noise_is_standard_normal(noise: np.ndarray) -> None:
    error = 5 / np.sqrt(N)
    assert np.abs(noise.mean(axis=0)).max() < error
    assert np.abs(noise.var(axis=0) - 1).max() < error * np.sqrt(2)
    assert np.abs(stats.skew(noise)).max() < error * np.sqrt(6)
    assert np.abs(stats.kurtosis(noise)).max() < error * np.sqrt(24)
    for column in noise.T:
        assert stats.kstest(column, "norm").pvalue > 1e-4


def test_noise_is_independent_across_columns_rows_and_squares(noise: np.ndarray) -> None:
    error = 5 / np.sqrt(N)
    for values in (noise, noise**2):
        columns = np.corrcoef(values.T) - np.eye(5)
        assert np.abs(columns).max() < error
        for lag in (1, 2, 7, 2048):
            lagged = [np.corrcoef(column[:-lag], column[lag:])[0, 1] for column in values.T]
            assert np.abs(lagged).max() < error


def test_variance_grows_and_correlation_shrinks(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x, sin(i) + cos(i * 2) AS s FROM range(50000) AS r(i)")
    before = con.execute("SELECT var_samp(x), corr(x, s) FROM t").fetchone()
    after = con.execute(
        "SELECT var_samp(x), corr(x, s) FROM noise_mask('t', conf=['x'], level=0.5, key='id')"
    ).fetchone()
    assert before is not None
    assert after is not None
    assert after[0] == pytest.approx(before[0] * 1.5, rel=0.02)
    assert after[1] == pytest.approx(before[1] / np.sqrt(1.5), rel=0.02)


def test_nulls_stay_and_other_columns_pass(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, if(i % 4 = 0, NULL, i) AS x, 'n' || i AS name FROM range(40) AS r(i)"
    )
    rows = con.execute(
        "SELECT id, x, name FROM noise_mask('t', conf=['x'], level=0.1, key='id') ORDER BY id"
    ).fetchall()
    assert [row[0] for row in rows if row[1] is None] == list(range(0, 40, 4))
    assert [row[2] for row in rows] == [f"n{i}" for i in range(40)]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("level=-0.1", r"noise_mask: level must be from 0\.000001 to 1,000,000,000,000: .*, got -0\.1"),
        ("level='inf'::DOUBLE", r"level must be from 0\.000001 to 1,000,000,000,000: .*, got inf"),
        ("level=0", r"with less the confidential values would pass through, got 0\."),
        ("level=1e-30", r"with less the confidential values would pass through, got 1e-30"),
        ("seed=1", r"parameter 'level' is missing"),
        ("level='much'", r"level takes a number from 0\.000001 to"),
        ("level={'y': 0.1}", r'level names column "y", which is not in conf'),
    ],
)
def test_refused_levels(customers: duckdb.DuckDBPyConnection, parameters: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        customers.execute(f"FROM noise_mask('customers', conf=['x1'], {parameters})")
