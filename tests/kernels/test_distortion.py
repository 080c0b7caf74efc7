"""Matrices and reconstruction: the published figures, and the laws that hold for every design."""

from __future__ import annotations

from functools import reduce
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from ppduck.kernels.distortion import (
    Reconstruction,
    along_axes,
    condition,
    half_width,
    invariant,
    most_likely,
    uniform,
)
from ppduck.values import Array

# Guo 2010, the pair G, H of COIL at p = 0.9. These counts of the 5,822 rows give every printed digit of the covariance.
GH = np.array([[2143.0, 568.0], [1269.0, 1842.0]])
GH_COVARIANCE = np.array(
    [
        [7.113, -1.668, -3.134, -2.311],
        [-1.668, 2.902, 0.244, -1.478],
        [-3.134, 0.244, 5.667, -2.777],
        [-2.311, -1.478, -2.777, 6.566],
    ]
)


def random_matrix(rng: np.random.Generator, size: int) -> Array:
    """A matrix with columns that sum to 1, well away from singular."""
    matrix = rng.dirichlet(np.ones(size), size=size).T * 0.4 + 0.6 * np.eye(size)
    return np.asarray(matrix / matrix.sum(axis=0))


def random_case(seed: int, shape: list[int]) -> tuple[Array, tuple[Array, ...]]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape), tuple(random_matrix(rng, d) for d in shape)


def kron(matrices: tuple[Array, ...]) -> Array:
    return np.asarray(reduce(np.kron, matrices))


SHAPES = st.lists(st.integers(2, 4), min_size=1, max_size=3)


def test_the_worked_example_of_the_paper() -> None:
    found = Reconstruction(GH, (uniform(0.9, 2), uniform(0.9, 2)))
    # Three decimals, of which one is cut instead of rounded (0.09756 as .097).
    np.testing.assert_allclose(found.observed.ravel(), (0.368, 0.097, 0.218, 0.316), atol=0.0006)
    estimate = found.moment()
    # Half a unit of λ̂'s third decimal is 0.0005·Σ|P⁻¹| of π̂, to which comes half a unit of its own.
    slack = 0.0005 * np.abs(kron(tuple(found.inverses))).sum(axis=1).max() + 0.0005
    assert slack < 0.0013
    np.testing.assert_allclose(estimate.ravel(), (0.427, 0.031, 0.181, 0.362), atol=slack)
    np.testing.assert_array_equal(np.round(found.covariance(estimate) * 1e5, 3), GH_COVARIANCE)
    error = np.sqrt(found.variance(estimate)[1, 1])
    lower, upper = estimate[1, 1] + half_width(0.95, "normal") * error * np.array([-1, 1])
    assert (round(lower, 3), round(upper, 3)) == (0.346, 0.378)


def test_uniform_matrix() -> None:
    np.testing.assert_allclose(uniform(0.8, 3), [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    np.testing.assert_array_equal(uniform(1.0, 4), np.eye(4))
    assert condition(uniform(0.8, 3)) == pytest.approx(1 / 0.7)
    assert condition(uniform(1 / 3, 3)) > 1e10


@given(st.integers(0, 10**6), SHAPES)
@settings(deadline=None, max_examples=50)
def test_one_factor_at_a_time_is_the_kronecker_product(seed: int, shape: list[int]) -> None:
    table, matrices = random_case(seed, shape)
    np.testing.assert_allclose(along_axes(table, matrices).ravel(), kron(matrices) @ table.ravel(), atol=1e-14)


@given(st.integers(0, 10**6), SHAPES)
@settings(deadline=None, max_examples=50)
def test_the_expected_table_is_reconstructed_exactly(seed: int, shape: list[int]) -> None:
    truth, matrices = random_case(seed, shape)
    found = Reconstruction(1000 * along_axes(truth, matrices), matrices)
    np.testing.assert_allclose(found.moment(), truth, atol=1e-12)
    estimate, missing = found.estimate("mle")
    np.testing.assert_allclose(estimate, truth, atol=1e-12)
    assert missing == 0


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 4))
@settings(deadline=None, max_examples=50)
def test_marginals_of_the_reconstruction_are_reconstructed_marginals(seed: int, rows: int, columns: int) -> None:
    published, matrices = random_case(seed, [rows, columns])
    whole = Reconstruction(500 * published, matrices)
    margin = Reconstruction(500 * published.sum(axis=1), matrices[:1])
    np.testing.assert_allclose(whole.moment().sum(axis=1), margin.moment(), atol=1e-12)
    # The variance of a sum of cells is that of the margin: the covariance is right beyond its diagonal.
    covariance = whole.covariance(whole.moment()).reshape(rows, columns, rows, columns).sum(axis=(1, 3))
    np.testing.assert_allclose(covariance, margin.covariance(margin.moment()), atol=1e-14)


@pytest.mark.parametrize("target", ["population", "table"])
@given(seed=st.integers(0, 10**6), shape=SHAPES)
@settings(deadline=None, max_examples=30)
def test_covariance_is_sigma_1_plus_sigma_2(target: str, seed: int, shape: list[int]) -> None:
    published, matrices = random_case(seed, shape)
    found = Reconstruction(200 * published, matrices, "table" if target == "table" else "population")
    estimate = found.moment()
    p, pi, observed = kron(matrices), estimate.ravel(), published.ravel()
    back = np.linalg.inv(p)
    sampling = np.diag(pi) - np.outer(pi, pi)
    distortion = back @ (np.diag(observed) - p @ np.diag(pi) @ p.T) @ back.T
    expected = distortion / 200 if target == "table" else (sampling + distortion) / 199
    np.testing.assert_allclose(found.covariance(estimate), expected, atol=1e-12)
    np.testing.assert_allclose(found.variance(estimate).ravel(), np.maximum(np.diag(expected), 0), atol=1e-12)


def test_reconstructions_scatter_as_the_formula_says() -> None:
    """Over many randomizations of one table: unbiased within 4 standard errors, covariance as Σ2."""
    rng = np.random.default_rng(7)
    truth = np.array([[120.0, 60.0, 20.0], [30.0, 90.0, 80.0]])
    matrices = (uniform(0.85, 2), random_matrix(rng, 3))
    p, runs = kron(matrices), 20_000
    counts = sum(rng.multinomial(int(n), p[:, j], size=runs) for j, n in enumerate(truth.ravel()))
    estimates = np.asarray(counts) / truth.sum() @ np.linalg.inv(p).T
    expected = Reconstruction(along_axes(truth, matrices), matrices, "table")
    covariance = expected.covariance(truth / truth.sum())
    error = np.sqrt(np.diag(covariance) / runs)
    assert np.all(np.abs(estimates.mean(axis=0) - truth.ravel() / truth.sum()) < 4 * error)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    # A correlation from 20,000 runs is known to about 0.007.
    assert np.max(np.abs(np.cov(estimates.T) - covariance) / scale) < 0.04


def test_ranges_cover_what_they_say() -> None:
    """Samples from a population, randomized: 95 % ranges hold the population's share 93 to 97 times in 100."""
    rng = np.random.default_rng(11)
    population = np.array([0.35, 0.15, 0.2, 0.3])
    matrices = (uniform(0.9, 2), uniform(0.8, 2))
    runs, n = 4000, 2000
    published = rng.multinomial(n, kron(matrices) @ population, size=runs)
    inside = np.zeros(4)
    for counts in published:
        found = Reconstruction(counts.reshape(2, 2).astype(float), matrices)
        estimate = found.moment()
        reach = half_width(0.95, "normal") * np.sqrt(found.variance(estimate))
        inside += (np.abs(estimate - population.reshape(2, 2)) <= reach).ravel()
    assert np.all((inside / runs > 0.93) & (inside / runs < 0.97))


@given(st.integers(0, 10**6), SHAPES)
@settings(deadline=None, max_examples=30)
def test_the_most_likely_table_can_gain_nowhere(seed: int, shape: list[int]) -> None:
    """Karush-Kuhn-Tucker: Pᵀ(λ̂/Pπ) is 1 where π is positive and at most 1 where it is 0."""
    observed, matrices = random_case(seed, shape)
    start = Reconstruction(observed, matrices).moment()
    found, gap = most_likely(observed, matrices, start)
    slope = along_axes(observed / along_axes(found, matrices), [matrix.T for matrix in matrices])
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert slope.max() - 1 <= gap + 1e-5 <= 2e-5
    assert np.max(found * np.abs(slope - 1)) < 1e-4


def test_the_most_likely_table_is_what_an_optimiser_finds() -> None:
    observed = np.array([[30.0, 170.0], [280.0, 20.0]]) / 500
    matrices = (uniform(0.8, 2), uniform(0.7, 2))
    moment = Reconstruction(observed, matrices).moment()
    assert moment.min() < 0
    found, missing = Reconstruction(500 * observed, matrices).estimate("mle")
    assert missing < 0.01
    p = kron(matrices)
    by_hand = minimize(
        lambda x: -observed.ravel() @ np.log(p @ x),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(found.ravel(), by_hand.x, atol=1e-4)
    assert np.any(found == 0), "a cell at the border is zero, not nearly zero"


@given(st.integers(0, 10**6), st.integers(2, 6))
@settings(deadline=None)
def test_invariant_matrix_has_the_shares_as_its_fixed_point(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(size))
    matrix = invariant(random_matrix(rng, size), shares)
    np.testing.assert_allclose(matrix @ shares, shares, atol=1e-13)
    np.testing.assert_allclose(matrix.sum(axis=0), 1, atol=1e-13)
    assert matrix.min() >= 0
    assert np.max(np.abs(matrix - np.eye(size))) > 0.01, "it still randomizes"


def test_invariant_matrix_leaves_a_level_without_rows_alone() -> None:
    shares = np.array([0.5, 0.5, 0.0])
    matrix = invariant(uniform(0.8, 3), shares)
    np.testing.assert_allclose(matrix @ shares, shares)
    np.testing.assert_allclose(matrix[:, 2], [0, 0, 1])
    np.testing.assert_allclose(matrix.sum(axis=0), 1)
    assert condition(matrix) < 10


def test_half_widths() -> None:
    assert half_width(0.95, "normal") == pytest.approx(norm.ppf(0.975))
    assert half_width(0.95, "chebyshev") == pytest.approx(np.sqrt(20))


@pytest.mark.parametrize("target", ["population", "table"])
def test_the_variance_of_a_linear_form_needs_no_matrix(target: Literal["population", "table"]) -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(20, 90, size=(3, 4)).astype(float)
    found = Reconstruction(counts, (uniform(0.8, 3), uniform(0.7, 4)), target)
    estimate, slope = found.moment(), rng.normal(size=12)
    assert found.variance_of(slope, estimate) == pytest.approx(slope @ found.covariance(estimate) @ slope, rel=1e-12)
