"""The linear algebra under the masks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.linear import Blocks, independent, regress, root, scaled_noise
from ppduck.values import Moments

pytestmark = pytest.mark.core
SEEDS = st.integers(0, 2**31)


def correlation(seed: int, size: int, extra: int) -> np.ndarray:
    """A correlation matrix of ``size`` independent columns and ``extra`` combinations of them."""
    rng = np.random.default_rng(seed)
    free = rng.normal(size=(200, size))
    return np.corrcoef(np.column_stack([free, free @ rng.normal(size=(size, extra))]).T)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, size=st.integers(1, 8), extra=st.integers(0, 4))
def test_collinear_columns_are_found_and_regression_still_fits(seed: int, size: int, extra: int) -> None:
    matrix = np.atleast_2d(correlation(seed, size, extra))
    assert len(independent(matrix)) == size
    cross = matrix @ np.random.default_rng(seed).normal(size=(size + extra, 2))
    np.testing.assert_allclose(matrix @ regress(matrix, cross), cross, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, size=st.integers(1, 7))
def test_root_squared_is_the_matrix_and_noise_is_scaled_to_its_target(seed: int, size: int) -> None:
    target, noise = np.atleast_2d(correlation(seed, size, 0)), np.atleast_2d(correlation(seed + 1, size, 0))
    np.testing.assert_allclose(root(target) @ root(target), target, atol=1e-12)
    scaling = scaled_noise(target, noise)
    np.testing.assert_allclose(scaling.T @ noise @ scaling, target, atol=1e-9)


def test_root_of_a_singular_matrix() -> None:
    flat = np.array([[1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(root(flat) @ root(flat), flat, atol=1e-12)
    np.testing.assert_allclose(root(np.zeros((2, 2))), 0)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, n=st.integers(3, 50), size=st.integers(1, 5), offset=st.sampled_from([0.0, 1.0, -3.0]))
def test_moments_from_sums_about_any_centre(seed: int, n: int, size: int, offset: float) -> None:
    values = np.random.default_rng(seed).normal(size=(n, size)) + offset
    products = (values.T @ values)[np.tril_indices(size)]
    moments = Moments.from_sums(n, values.sum(axis=0).tolist(), products.tolist())
    np.testing.assert_allclose(moments.mean, values.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.atleast_2d(np.cov(values.T)), atol=1e-10)


def test_rows_come_apart_as_their_moments_do() -> None:
    drawn = np.random.default_rng(1).normal(size=(9, 4))
    blocks = Blocks.from_moments(Moments.of(drawn), 2, 1)
    s, x, v = blocks.parts(blocks.rows(drawn.reshape(-1)))
    np.testing.assert_array_equal(np.column_stack([s, x, v]), drawn)
    assert (s.shape[1], x.shape[1], v.shape[1]) == (2, 1, 1)
