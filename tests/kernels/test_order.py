"""Places tell ranks where a table is sorted, as a whole or in runs, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.order import FALLING, NEAR, RISING, chance, rank_guesses, ranks

pytestmark = pytest.mark.core
N = 2_000


def near(truth: np.ndarray, guess: np.ndarray) -> float:
    return float((np.abs(truth - guess) <= NEAR).mean())


def test_sorted_values_have_the_ranks_of_their_places() -> None:
    values = np.sort(np.random.default_rng(0).normal(size=N))
    place = np.arange(N) * 7.0
    assert near(ranks(values), rank_guesses(place, None, RISING)) == 1
    assert near(ranks(-values), rank_guesses(place, None, FALLING)) == 1
    assert near(ranks(values), rank_guesses(place, None, FALLING)) < 0.06


def test_runs_sorted_by_a_category_are_ranked_by_it() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4.0), N // 4)
    values = np.concatenate([np.sort(rng.normal(size=N // 4)) for _ in range(4)])
    place = np.arange(float(N))
    assert near(ranks(values, groups), rank_guesses(place, groups, RISING)) == 1
    assert near(ranks(values), rank_guesses(place, None, RISING)) < 0.3


def test_chance_is_what_dealing_gives() -> None:
    rng = np.random.default_rng(0)
    truth, guess = rng.random(N), rng.random(N) ** 2
    dealt = np.mean([near(truth, rng.permutation(guess)) for _ in range(200)])
    assert chance(truth, guess) == pytest.approx(dealt, abs=2e-3)
    assert chance(rng.random(N), rng.random(N)) == pytest.approx(2 * NEAR - NEAR**2, abs=0.005)


def test_groups_of_a_few_are_one() -> None:
    """Of one person each, any rank would be the middle one."""
    values = np.random.default_rng(0).normal(size=300)
    assert ranks(values, np.arange(300.0)) == pytest.approx(ranks(values))


def test_ties_share_their_rank() -> None:
    assert ranks(np.array([1.0, 1.0, 2.0, 3.0])) == pytest.approx([0.25, 0.25, 0.625, 0.875])
