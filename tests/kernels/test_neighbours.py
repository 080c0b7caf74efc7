"""Neighbours by size: a rule that moves them alike is found, independent columns are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ppduck.kernels.neighbours import FEWEST, LEAST_SHARE, repeated

pytestmark = pytest.mark.core

N = 1000
SEEDS = range(5)
Make = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def cents(rng: np.random.Generator, n: int = N) -> np.ndarray:
    return np.sort(np.round(np.exp(rng.normal(10, 0.4, n)), 2))


def wholes(rng: np.random.Generator, n: int = N) -> np.ndarray:
    return np.sort(rng.integers(10_000, 60_000, n)).astype(float)


def found(x: np.ndarray, d: np.ndarray) -> dict[str, tuple[float, float]]:
    rng = np.random.default_rng(0)
    return {how: (share, most) for how, share, most in repeated(x, d, [rng.permutation(len(x)) for _ in range(2)])}


def tells(x: np.ndarray, d: np.ndarray) -> bool:
    return any(share > most for share, most in found(x, d).values())


RULES: dict[str, Make] = {
    "a line": lambda x, rng: 3 * x + 7,
    "a constant of a group": lambda x, rng: x + rng.normal(0, 1e6, 4)[rng.integers(0, 4, N)],
    "a factor of a group": lambda x, rng: x * np.array([1.5, -2.0, 7.0])[rng.integers(0, 3, N)],
    "a line modulo a number": lambda x, rng: (7919 * np.round(x)) % 1_000_003,
    "some bits flipped": lambda x, rng: (np.round(x).astype(int) ^ 0b1010110110).astype(float),
    "digits moved on": lambda x, rng: np.array(
        [float(str(int(v)).translate(str.maketrans("0123456789", "3456789012"))) for v in x]
    ),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_that_moves_neighbours_alike_is_found(rule: Make, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = wholes(rng)
    assert tells(x, rule(x, rng))


@pytest.mark.parametrize("draw", [cents, wholes])
def test_independent_columns_are_not(draw: Callable[[np.random.Generator], np.ndarray]) -> None:
    """In none of 200 draws: whole numbers and cents repeat, but no more than when they are dealt out."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, d = draw(rng), rng.permutation(draw(rng))
        assert not tells(x, d), seed
        assert not tells(x, rng.permutation(x)), seed


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_hides_the_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = cents(rng)
    assert not tells(x, x + rng.normal(0, x.std(), N))


def test_a_constant_column_tells_nothing() -> None:
    x = wholes(np.random.default_rng(1))
    assert not tells(x, np.ones(N))
    assert not tells(x, (x > np.median(x)).astype(float))


@pytest.mark.parametrize("x", [np.arange(float(FEWEST)), np.ones(N)])
def test_of_few_steps_nothing_is_said(x: np.ndarray) -> None:
    assert found(x, x) == {}


def test_limits_are_shares_and_no_less_than_the_least() -> None:
    x = wholes(np.random.default_rng(2))
    figures = found(x, x)
    assert list(figures) == ["by the slope between neighbours", "by the difference of neighbours"]
    for share, most in figures.values():
        assert 0 <= share <= 1
        assert most >= LEAST_SHARE
