"""Guesses are of people whom the model has not seen: a copy is guessed, noise is not."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.guessing import WITHIN, Inputs, chosen, explained, guesses, hits, taught

pytestmark = pytest.mark.core
N = 3_000
NONE = np.empty((N, 0))


def test_a_copy_is_guessed_to_rounding() -> None:
    x = np.random.default_rng(0).lognormal(size=N)
    guess = guesses(Inputs(x[:, None] * 3 + 7, NONE), x, is_number=True)
    assert np.abs(guess - x).max() < 1e-8 * x.std()
    assert hits(x, guess, is_number=True, spread=x.std()).mean() == 1


def test_noise_tells_nothing() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    guess = guesses(Inputs(rng.normal(size=(N, 4)), rng.integers(0, 5, (N, 2)).astype(float)), x, is_number=True)
    assert explained(x, guess) < 0.01
    # the density of a normal at its mean times the width
    assert hits(x, guess, is_number=True, spread=1.0).mean() == pytest.approx(2 * WITHIN * 0.3989, abs=0.02)


def test_a_curve_is_learnt() -> None:
    rng = np.random.default_rng(0)
    s = rng.normal(size=N)
    x = np.where(s > 0, 3.0, 0.0) + 0.01 * rng.normal(size=N)
    assert explained(x, guesses(Inputs(s[:, None], NONE), x, is_number=True)) > 0.97


def test_what_is_missing_tells() -> None:
    rng = np.random.default_rng(0)
    x = np.where(np.arange(N) % 3 == 0, 10.0, 0.0) + rng.normal(size=N)
    shown = np.where(x > 5, np.nan, rng.normal(size=N))
    assert explained(x, guesses(Inputs(shown[:, None], NONE), x, is_number=True)) > 0.9


def test_categories_are_guessed_by_categories() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, N) * 1e12
    masked = np.where(rng.random(N) < 0.7, codes, rng.integers(0, 4, N) * 1e12)
    guess = guesses(Inputs(NONE, masked[:, None]), codes, is_number=False)
    assert hits(codes, guess, is_number=False, spread=0.0).mean() == pytest.approx(0.775, abs=0.03)


def test_columns_that_say_nothing_are_passed_over() -> None:
    x = np.random.default_rng(0).normal(size=N)
    names = np.arange(N, dtype=float)[:, None]
    inputs = Inputs(np.column_stack([np.full(N, np.nan), np.ones(N)]), np.column_stack([names, np.zeros(N)]))
    assert inputs.columns.shape == (N, 0)
    guess = guesses(inputs, x, is_number=True)
    assert len(np.unique(guess)) <= 5  # the mean of each four folds


def test_few_people_and_nobody() -> None:
    x = np.arange(10.0)
    inputs = Inputs(x[:, None], np.empty((10, 0)))
    assert np.isfinite(guesses(inputs, x, is_number=True)).all()
    assert (taught(inputs, np.full(10, np.nan), np.ones(10, dtype=bool), is_number=True) == 0).all()
    assert (guesses(inputs, np.ones(10), is_number=False) == 1).all()


def test_the_better_model_is_chosen_and_chance_is_not() -> None:
    rng = np.random.default_rng(0)
    poor, good = (rng.random((2, N)) < [[0.2], [0.5]]).astype(float)
    assert (chosen([poor, good]) == good).all()
    assert (chosen([good, poor]) == good).all()
    taken = [(chosen([poor, (rng.random(N) < 0.2).astype(float)]) != poor).any() for _ in range(100)]
    assert sum(taken) < 60
