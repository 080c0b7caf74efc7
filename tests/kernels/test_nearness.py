"""What the moments tell of masked values is what is found in them."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels import nearness
from ppduck.kernels.linear import Blocks, LinearForm
from ppduck.values import Moments


def additive(x: np.ndarray, noise: float) -> nearness.Nearness:
    """Of Y = X + e."""
    blocks = Blocks.from_moments(Moments.of(x[:, None]), 0, 1)
    form = LinearForm(np.zeros(1), np.zeros((0, 1)), np.eye(1), np.array([[noise]]))
    return nearness.nearness(blocks, form, [])


@pytest.mark.parametrize("noise", [0.1, 0.5, 2.0, 30.0])
@pytest.mark.parametrize("most", [3, 200])
def test_what_is_expected_of_noise_is_what_comes_out(noise: float, most: int) -> None:
    rng = np.random.default_rng(16)
    x = rng.integers(0, most, 100_000).astype(float)
    y = x + noise * rng.normal(size=len(x))
    found = additive(x, noise)
    assert found.correlation[0] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=0.01)
    assert found.apart[0] == pytest.approx(noise)
    assert found.masked_spread[0] == pytest.approx(y.std(), rel=0.01)
    expected = nearness.given_back(found, np.ones(1))[0]
    assert expected == pytest.approx(nearness.staying(x, np.round(y)), abs=0.05)
    assert nearness.given_back(found, np.zeros(1))[0] == 0


def test_prediction_with_noise_correlates_by_its_share_of_the_variance() -> None:
    rng = np.random.default_rng(7)
    s = rng.normal(size=1000)
    x = 3 * s + rng.normal(size=1000)
    blocks = Blocks.from_moments(Moments.of(np.column_stack([s, x])), 1, 1)
    slope = np.cov(s, x)[0, 1] / s.var(ddof=1)
    left = np.sqrt(x.var(ddof=1) - slope**2 * s.var(ddof=1))
    form = LinearForm(np.zeros(1), np.array([[slope]]), np.zeros((1, 1)), np.array([[left]]))
    found = nearness.nearness(blocks, form, [0])
    assert found.by_nonconf[0] == pytest.approx(np.corrcoef(s, x)[0, 1] ** 2)
    assert found.correlation[0] == pytest.approx(found.by_nonconf[0])


def test_values_that_stay_are_counted_beyond_chance() -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 4, 20_000).astype(float)
    assert nearness.staying(x, x) == 1
    assert nearness.staying(x, rng.permutation(x)) == pytest.approx(0, abs=0.02)
    half = np.where(np.arange(len(x)) % 2 == 0, x, rng.permutation(x))
    assert nearness.staying(half, x) == pytest.approx(0.5, abs=0.02)
    some = np.where(np.arange(len(x)) % 5 == 0, np.nan, x)
    assert nearness.staying(some, x) == 1
    assert nearness.staying(np.full(3, np.nan), np.ones(3)) == 0
    assert nearness.staying(np.ones(3), np.ones(3)) == 0


def test_values_below_zero_are_expected_where_noise_reaches() -> None:
    rng = np.random.default_rng(5)
    x = np.abs(rng.normal(3, 2, 100_000))
    for noise in (0.1, 2.0):
        y = x + noise * rng.normal(size=len(x))
        expected = nearness.below_zero(additive(x, noise), np.array([x.mean()]), np.array([x.min()]))[0]
        assert 0.3 < expected / (y < 0).mean() < 3
    far = additive(x + 50, 0.1)
    assert nearness.below_zero(far, np.array([53.0]), np.array([50.0]))[0] < 1e-12
    assert nearness.below_zero(far, np.array([53.0]), np.array([-1.0]))[0] == 0


def test_a_correlation_without_spread_is_none() -> None:
    assert nearness.correlation(np.ones(4), np.arange(4.0)) == 0
    assert nearness.correlation(np.array([1, 2, np.nan, 3]), np.array([2, 4, 9, 6.0])) == pytest.approx(1)
