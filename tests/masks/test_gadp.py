"""GADP: the printed model, and moments up to sampling error."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from ppduck.call.linear_mask import Request, TermPlaces
from ppduck.kernels.linear import Blocks
from ppduck.masks import gadp
from ppduck.values import Moments
from tests.laws import insert, matrix, moments_apart, random_table
from tests.masks.examples import two_columns

pytestmark = pytest.mark.core


def test_printed_model_of_the_two_column_example() -> None:
    """β0 = 0, β1 = 0.4, var(ε) = 0.84."""
    values = two_columns()
    centred = values - values.mean(axis=0)
    blocks = Blocks.from_moments(Moments(25, values.mean(axis=0), centred.T @ centred), 1, 1)
    form = gadp.solve(blocks, Request("gadp_mask", "t", None, ["x"], ["s"], None, TermPlaces(1)))
    assert form.intercept == pytest.approx([0], abs=1e-9)
    assert form.on_s == pytest.approx(np.array([[0.4]]), abs=1e-9)
    assert form.on_v**2 == pytest.approx(np.array([[0.84]]), abs=1e-9)


def test_the_same_model_through_sql(con: duckdb.DuckDBPyConnection) -> None:
    """The example 40,000 times over: slope, intercept and residual variance to four standard errors."""
    insert(con, "t", ["s", "x"], two_columns())
    con.execute("CREATE TABLE often AS SELECT row_number() OVER () AS id, s, x FROM t, range(40000)")
    found = con.execute(
        """
        SELECT regr_intercept(x, s), regr_slope(x, s), var_samp(x) * (1 - regr_r2(x, s))
        FROM gadp_mask('often', conf=['x'], nonconf=['s'], key='id')
        """
    ).fetchone()
    # Of a million rows the variance is a population's: 24/25 of the 25-row sample's.
    assert found == pytest.approx((0, 0.4, 0.84 * 24 / 25), abs=0.004)


def test_moments_are_near_but_not_exact(con: duckdb.DuckDBPyConnection) -> None:
    values = random_table(np.random.default_rng(3), 20_000, 2, 2)
    insert(con, "t", ["s1", "s2", "x1", "x2"], values)
    masked = matrix(con, "SELECT s1, s2, x1, x2 FROM gadp_mask('t', conf=['x1','x2'], nonconf=['s1','s2'], key='id')")
    worst = max(moments_apart(values, masked))
    assert 1e-6 < worst < 0.05
