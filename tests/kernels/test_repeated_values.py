"""What two noisy values tell: theory, simulation, and ranges that cover."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels import repeated_values as repeated
from ppduck.kernels.prediction import explained
from ppduck.values import Moments

pytestmark = pytest.mark.core


@pytest.mark.parametrize("noise", [0.2, 1.0, 5.0])
def test_the_mean_of_two_has_half_the_noise(noise: float) -> None:
    assert repeated.of_mean(1 / (1 + noise)) == pytest.approx(1 / (1 + noise / 2))


def test_a_gain_is_covered() -> None:
    """Of 400 tables of 300 rows with noise as large as the signal, R² gains 2/3 - 1/2."""
    rng, covered = np.random.default_rng(11), 0
    for _ in range(400):
        x = rng.normal(size=300)
        moments = Moments.of(np.column_stack([x, x + rng.normal(size=300), x + rng.normal(size=300)]))
        both, one = (float(explained(moments, [0], by)[0]) for by in ([1, 2], [1]))
        lower, upper = repeated.gain_range(both, one, 300)
        covered += lower <= 1 / 6 <= upper
    assert 0.91 < covered / 400 < 0.985


def test_no_gain_has_a_range_about_nothing() -> None:
    lower, upper = repeated.gain_range(0.3, 0.3, 100)
    assert lower == pytest.approx(-upper)
    assert 0 < upper < 0.03
    assert repeated.gain_range(0.0, 0.0, 100)[1] < 0.03


@pytest.mark.parametrize("rho", [0.05, 0.3, np.sqrt(2) - 1, 0.6, 0.99])
def test_the_range_from_a_correlation_holds_its_gain(rho: float) -> None:
    lower, upper = repeated.mean_gain_range(rho, 500)
    assert 0 <= lower <= repeated.of_mean(rho) - rho <= upper + 1e-12
    assert upper <= 3 - 2 * np.sqrt(2) + 1e-12  # which no gain exceeds


def test_correlation_given_others_is_that_of_residuals() -> None:
    rng = np.random.default_rng(5)
    s, x = rng.normal(size=(2000, 2)), rng.normal(size=2000)
    one, other = (s @ [3.0, -1.0] + x + rng.normal(size=2000) for _ in range(2))
    design = np.column_stack([np.ones(2000), s])
    left = [y - design @ np.linalg.lstsq(design, y, rcond=None)[0] for y in (one, other)]
    moments = Moments.of(np.column_stack([s, one, other, s[:, 0], -other]))
    assert repeated.residual_correlation(moments, 2, 3, [0, 1]) == pytest.approx(np.corrcoef(*left)[0, 1])
    assert repeated.residual_correlation(moments, 2, 3, [0, 1, 4]) == pytest.approx(np.corrcoef(*left)[0, 1])
    assert repeated.residual_correlation(moments, 3, 5, []) == pytest.approx(-1)
    assert repeated.residual_correlation(moments, 2, 0, [0, 1]) == 0


def test_chance_reaches_its_bound_once_in_a_thousand() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 20000, 50))
    a, b = (x - x.mean(axis=1, keepdims=True) for x in (a, b))
    found = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    assert 2 < np.sum(found > repeated.by_chance(50, 0)) < 45
