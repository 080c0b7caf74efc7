"""How often a category is guessed right: each half of the rows by what the other half shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.category_guess import guessed, guessed_from

pytestmark = pytest.mark.core

N = 2000


def levels(seed: int, shares: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1)) -> np.ndarray:
    return np.random.default_rng(seed).choice(len(shares), N, p=shares)


def naive(codes: list[int], of: list[int]) -> float:
    """Row by row, where no two guesses are as good as each other."""
    right = 0
    for half in (0, 1):
        learnt = [(c, o) for i, (c, o) in enumerate(zip(codes, of, strict=True)) if i % 2 == half]
        for i, (code, own) in enumerate(zip(codes, of, strict=True)):
            if i % 2 != half and learnt:
                alike = [o for c, o in learnt if c == code] or [o for _, o in learnt]
                right += max(set(alike), key=lambda level: (alike.count(level), level)) == own
    return right / len(codes)


@pytest.mark.parametrize("seed", range(5))
def test_recoded_levels_are_guessed_whatever_they_are_called(seed: int) -> None:
    own = levels(seed)
    for names in (np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]), np.array([7, 5, 99, 3])):
        assert guessed(names[own], own) == 1


@pytest.mark.parametrize("seed", range(5))
def test_merged_levels_are_guessed_by_the_larger(seed: int) -> None:
    own = levels(seed)
    assert guessed(own // 2, own) == pytest.approx(np.isin(own, (0, 2)).mean())


@pytest.mark.parametrize("of", [(0.4, 0.3, 0.2, 0.1), (0.25,) * 4, (0.9, 0.1), (0.5, 0.5)])
def test_what_is_independent_is_guessed_as_often_as_by_chance(of: tuple[float, ...]) -> None:
    """Not more often, though there are codes of few rows: none of 200 draws is five standard errors beyond."""
    chance = max(of)
    for seed in range(200):
        codes = np.random.default_rng(seed + 1000).integers(0, 30, N)
        assert guessed(codes, levels(seed, of)) < chance + 5 * np.sqrt(0.25 / N)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_a_share_is_within_0_and_1_and_the_same_from_counts_in_any_order(rows: list[tuple[int, int]]) -> None:
    codes, of = (np.array(column) for column in zip(*rows, strict=True))
    found = guessed(codes, of)
    assert 0 <= found <= 1
    half = np.arange(len(rows)) % 2
    assert guessed_from(half, codes, of, np.ones(len(rows))) <= 1
    if len(rows) == 1:
        assert found == 0  # nobody else shows anything


@pytest.mark.parametrize("seed", range(20))
def test_counts_make_what_rows_make(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own = levels(seed)[:301]
    codes = np.where(rng.random(301) < 0.5, own, rng.integers(0, 6, 301))
    found = guessed(codes, own)
    assert found == pytest.approx(naive(codes.tolist(), own.tolist()), abs=0.03)
    cells, counts = np.unique(np.column_stack([np.arange(301) % 2, codes, own]), axis=0, return_counts=True)
    order = rng.permutation(len(cells))
    half, seen, of = cells[order].T
    assert guessed_from(half, seen, of, counts[order]) == pytest.approx(found, abs=0.03)


def test_a_code_that_one_half_lacks_is_guessed_by_the_most_frequent_level() -> None:
    codes, own = np.array([0, 1, 0, 1, 0, 1]), np.array([2, 2, 2, 2, 2, 2])
    assert guessed(codes, own) == 1
