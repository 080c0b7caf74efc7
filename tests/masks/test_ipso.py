"""IPSO: exact moments, noise orthogonal to S."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from tests.laws import assert_same_moments, cross_correlation, insert, matrix, random_table, residuals
from tests.masks.examples import TWO_COLUMNS, two_columns

pytestmark = pytest.mark.core


def test_printed_model_of_the_two_column_example(con: duckdb.DuckDBPyConnection) -> None:
    """var 1 and 1, correlation 0.4; Y = 0 + 0.4·S + e with var(e) = 0.84, exactly, from 25 rows."""
    assert np.abs(two_columns() - TWO_COLUMNS).max() < 1e-4
    insert(con, "t", ["s", "x"], two_columns())
    found = con.execute(
        """
        SELECT var_samp(s), var_samp(x), corr(s, x), regr_intercept(x, s), regr_slope(x, s),
               var_samp(x) * (1 - regr_r2(x, s))
        FROM ipso_mask('t', conf=['x'], nonconf=['s'], key='id')
        """
    ).fetchone()
    assert found == pytest.approx((1, 1, 0.4, 0, 0.4, 0.84), abs=1e-9)


@pytest.mark.parametrize(("n", "p", "q"), [(10, 3, 3), (500, 4, 2), (40, 0, 3)])
def test_moments_are_exact(con: duckdb.DuckDBPyConnection, n: int, p: int, q: int) -> None:
    values = random_table(np.random.default_rng(n), n, p, q)
    s, x = [f"s{i}" for i in range(p)], [f"x{i}" for i in range(q)]
    insert(con, "t", s + x, values)
    columns = ", ".join(s + x)
    masked = matrix(con, f"SELECT {columns} FROM ipso_mask('t', conf := {x}, nonconf := {s}, key := 'id') ORDER BY id")
    assert_same_moments(values, masked)
    noise = residuals(masked[:, p:], values[:, :p])
    if p:
        assert cross_correlation(noise, values[:, :p]) < 1e-9
    # Against X the noise is only random: that is what EGADP adds.
    assert cross_correlation(noise, values[:, p:]) > 1e-6
