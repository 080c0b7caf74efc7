"""Loglinear models fitted through matrices: their level, their order, and no randomization as a special case."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ppduck.kernels.distortion import Reconstruction, along_axes, uniform
from ppduck.kernels.loglinear import Fit, Generators, all_models, fit, fitted_model, terms_of
from ppduck.kernels.loglinear_distortion import fitted_through


def through(counts: np.ndarray, matrices: list[np.ndarray], model: Generators) -> Fit:
    saturated, _ = Reconstruction(counts.astype(float), tuple(matrices)).estimate("mle")
    return fitted_through(counts.astype(float), matrices, model, saturated)


@pytest.mark.parametrize(("p", "n"), [(0.6, 100), (0.7, 200)])
def test_few_rows_and_strong_randomization_do_not_reject_too_often(p: float, n: int) -> None:
    rng = np.random.default_rng(13)
    model: Generators = ((0, 1), (0, 2))
    population, _ = fit(rng.uniform(1, 4, (2, 2, 2)), model)
    matrices = [uniform(p, 2)] * 3
    expected = along_axes(population / population.sum(), matrices).ravel()
    found = [through(rng.multinomial(n, expected).reshape(2, 2, 2), matrices, model) for _ in range(15)]
    assert sum(each.p_value < 0.05 for each in found) <= 2
    assert sum(each.p_value_g2 < 0.05 for each in found) <= 2


def test_a_wider_model_never_fits_worse_through_matrices() -> None:
    rng = np.random.default_rng(17)
    matrices = [uniform(0.6, 2)] * 3
    for _ in range(3):
        counts = rng.integers(10, 40, (2, 2, 2)).astype(float)
        saturated, _ = Reconstruction(counts, tuple(matrices)).estimate("mle")
        g2 = {model: fitted_through(counts, matrices, model, saturated).g2 for model in all_models(3)}
        for one, two in combinations(g2, 2):
            if terms_of(one) < terms_of(two):
                assert g2[two] <= g2[one] + 0.02, (one, two)


def test_columns_that_are_not_randomized_keep_their_empty_margins() -> None:
    table = np.random.default_rng(5).integers(1, 9, (3, 3, 2)).astype(float)
    table[0, 2] = table[2, 0] = 0
    for model in (((0, 1), (2,)), ((0, 1), (0, 2))):
        one, two = fitted_model(table, model), through(table, [np.eye(3), np.eye(3), np.eye(2)], model)
        assert (two.df, two.parameters) == (one.df, one.parameters)
        assert two.chi2 == pytest.approx(one.chi2, abs=1e-4)


@pytest.mark.parametrize("model", all_models(3)[:-1])
def test_fits_through_matrices_keep_their_level(model: tuple[tuple[int, ...], ...]) -> None:
    """Under the model, χ² and G² of published tables follow the χ² law, also where the model is not preserved."""
    rng = np.random.default_rng(11)
    population, _ = fit(rng.uniform(1, 4, (2, 2, 2)), model)
    matrices = [uniform(0.9, 2), uniform(0.85, 2), uniform(0.9, 2)]
    expected = along_axes(population / population.sum(), matrices).ravel()
    found = [through(rng.multinomial(20_000, expected).reshape(2, 2, 2), matrices, model) for _ in range(300)]
    for values in ([each.p_value for each in found], [each.p_value_g2 for each in found]):
        assert 0.02 < np.mean(np.array(values) < 0.05) < 0.09
        assert 0.42 < np.mean(np.array(values) < 0.5) < 0.58


def test_without_randomization_both_ways_to_fit_agree() -> None:
    table = np.random.default_rng(3).integers(5, 60, (2, 3, 3)).astype(float)
    for model in all_models(3):
        one, two = fitted_model(table, model), through(table, [np.eye(d) for d in table.shape], model)
        np.testing.assert_allclose(two.fitted, one.fitted, rtol=1e-5)
        assert (two.chi2, two.g2, two.df) == (
            pytest.approx(one.chi2, abs=1e-5),
            pytest.approx(one.g2, abs=1e-5),
            one.df,
        )
