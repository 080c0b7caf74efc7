"""Independence within strata: its level on randomized rows, and the power that randomization costs."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.distortion import along_axes, uniform
from ppduck.kernels.independence import (
    conditional,
    efficiency,
    gini_split,
    naive_bayes,
    partial_correlation,
    power_left,
)

pytestmark = pytest.mark.core


def test_empty_rows_of_a_stratum_have_no_freedom() -> None:
    table = np.array([[[5.0, 0], [3, 4], [2, 1]], [[6, 0], [1, 2], [0, 9]]])  # the second stratum has two columns only
    assert conditional(table).df == 2 + 1


def rejected(tables: np.ndarray, level: float = 0.05) -> float:
    found = [conditional(table) for table in tables]
    return float(np.mean([each.p_value < level for each in found]))


def test_the_level_on_randomized_rows() -> None:
    """Under independence the test on published rows rejects at its level (Result 9), whatever the matrices."""
    rng = np.random.default_rng(17)
    population = np.outer([0.2, 0.3, 0.5], [0.6, 0.1, 0.3])
    for matrices in ((uniform(0.8, 3), uniform(0.6, 3)), (rng.dirichlet([1] * 3, 3).T, rng.dirichlet([1] * 3, 3).T)):
        published = (
            rng.multinomial(1000, along_axes(population, matrices).ravel(), 4000).reshape(-1, 3, 3).astype(float)
        )
        assert 0.04 < rejected(published) < 0.06


def test_the_level_given_another_column() -> None:
    """Kept where that column is not randomized, lost where it is (Result 10)."""
    rng = np.random.default_rng(19)
    strong = np.array([[0.9, 0.1], [0.1, 0.9]])
    population = np.einsum("k,ik,jk->ijk", [0.5, 0.5], strong, strong)
    published = along_axes(population, (uniform(0.9, 2), uniform(0.8, 2), np.eye(2)))
    tables = rng.multinomial(2000, published.ravel(), 3000).reshape(-1, 2, 2, 2).astype(float)
    assert 0.04 < rejected(tables) < 0.06
    mixed = along_axes(population, (np.eye(2), np.eye(2), uniform(0.8, 2)))
    assert rejected(rng.multinomial(2000, mixed.ravel(), 200).reshape(-1, 2, 2, 2).astype(float)) > 0.99


def test_power_is_that_of_simulation() -> None:
    """A dependence that the original would show with a power of 0.8, randomized: found as often as is said."""
    rng = np.random.default_rng(23)
    matrices = (uniform(0.85, 2), uniform(0.8, 2))
    population = np.array([[0.28, 0.22], [0.2, 0.3]])
    kept = efficiency(population, matrices)
    exact = [conditional(each).chi2 for each in (along_axes(population, matrices), population)]
    assert kept == pytest.approx(exact[0] / exact[1])
    n = 7.849 / exact[1]  # rows for a power of 0.8 at the level of 0.05
    said = power_left(kept, 1, 0.05, 0.8)
    draws = rng.multinomial(round(n), along_axes(population, matrices).ravel(), 4000).reshape(-1, 2, 2).astype(float)
    assert rejected(draws) == pytest.approx(said, abs=0.03)
    before = rng.multinomial(round(n), population.ravel(), 4000).reshape(-1, 2, 2).astype(float)
    assert rejected(before) == pytest.approx(0.8, abs=0.03)


def test_efficiency_of_more_levels_is_an_average() -> None:
    """Over random directions of a weak dependence, in the metric of χ²."""
    rng = np.random.default_rng(24)
    a, b = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.2, 0.3, 0.4])
    matrices = (uniform(0.7, 3), rng.dirichlet([2] * 4, 4).T)
    ratios = [[], []]
    for _ in range(3000):
        noise = rng.normal(size=(3, 4)) * np.sqrt(np.outer(a, b))
        noise = noise - np.outer(a, noise.sum(axis=0)) - np.outer(noise.sum(axis=1), b) + np.outer(a, b) * noise.sum()
        table = np.outer(a, b) + 1e-4 * noise
        ratios[0].append(conditional(along_axes(table, matrices)).chi2)
        ratios[1].append(conditional(table).chi2)
    assert efficiency(np.outer(a, b), matrices) == pytest.approx(np.mean(ratios[0]) / np.mean(ratios[1]), rel=0.05)


def test_no_randomization_loses_nothing() -> None:
    assert efficiency(np.ones((3, 4, 2)) / 24, (np.eye(3), np.eye(4))) == pytest.approx(1)
    assert power_left(1.0, 6, 0.05, 0.8) == pytest.approx(0.8)
    assert power_left(0.0, 6, 0.05, 0.8) == 0.05


def test_partial_correlation_only_falls() -> None:
    """Result 11, on expected tables of three binary columns of which the third is not randomized."""
    rng = np.random.default_rng(29)
    for _ in range(2000):
        table = rng.dirichlet([0.7] * 8).reshape(2, 2, 2)
        matrices = [rng.dirichlet([1, 1], 2).T for _ in range(2)] + [np.eye(2)]
        before, after = partial_correlation(table), partial_correlation(along_axes(table, matrices))
        if before is not None and after is not None:
            assert abs(after) <= abs(before) + 1e-9


def test_partial_correlation_is_that_of_residuals() -> None:
    rng = np.random.default_rng(31)
    rows = rng.integers(0, 2, (5000, 3)) | rng.integers(0, 2, (5000, 1))
    table = np.zeros((2, 2, 2))
    np.add.at(table, tuple(rows.T), 1)
    r = np.corrcoef(rows.T)
    expected = (r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))  # (4.5)
    assert partial_correlation(table) == pytest.approx(expected)


def test_a_split_that_tells_the_class_has_no_impurity() -> None:
    assert gini_split(np.diag([3.0, 5.0])) == pytest.approx(0)
    assert gini_split(np.outer([2.0, 6.0], [0.5, 0.5])) == pytest.approx(0.5)


def test_naive_bayes_is_bayes_rule_of_independent_columns() -> None:
    rng = np.random.default_rng(37)
    classes, a, b = rng.dirichlet([2, 2]), rng.dirichlet([1] * 3, 2).T, rng.dirichlet([1] * 2, 2).T
    joint = np.einsum("c,ac,bc->abc", classes, a, b)
    found = naive_bayes([joint.sum(axis=1), joint.sum(axis=0)])
    np.testing.assert_allclose(found, joint / joint.sum(axis=-1, keepdims=True))
