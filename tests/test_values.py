"""Moments by sums and by rows, and names as DuckDB compares them."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.values import Moments, folded, one_below_the_other

pytestmark = pytest.mark.core


def test_a_list_of_rows_is_a_table() -> None:
    assert one_below_the_other(np.arange(6.0), 3).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert one_below_the_other(None, 3).shape == one_below_the_other(np.empty(0), 3).shape == (3, 0)
    assert one_below_the_other(np.empty(0), 0).shape == (0, 0)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(2, 40), size=st.integers(1, 4))
def test_moments_of_rows_are_those_of_their_sums(seed: int, n: int, size: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(n, size))
    lower = np.tril_indices(size)
    one, two = Moments.of(rows), Moments.from_sums(n, rows.sum(axis=0), (rows.T @ rows)[lower])
    np.testing.assert_allclose(one.cross, two.cross, atol=1e-10)
    np.testing.assert_allclose(one.sd, rows.std(axis=0, ddof=1))


def test_no_rows_have_no_moments_and_equal_values_no_spread() -> None:
    nothing = Moments.from_sums(0, [0.0], [0.0])
    assert (nothing.n, nothing.mean.tolist(), nothing.cross.tolist()) == (0, [0.0], [[0.0]])
    assert Moments(3, np.zeros(1), np.array([[-1e-18]])).sd.tolist() == [0.0]  # rounding


@pytest.mark.parametrize(("one", "other"), [("X1", "x1"), ("Ä", "ä"), ("İ", "i"), ("straße", "STRASSE"), ("K", "k")])
def test_names_are_the_same_where_duckdb_says_so(one: str, other: str) -> None:
    with duckdb.connect() as con:
        con.execute(f'CREATE TABLE t("{one}" INT)')
        try:
            con.execute(f'SELECT "{other}" FROM t')
            same = True
        except duckdb.BinderException:
            same = False
    assert (folded(one) == folded(other)) == same
