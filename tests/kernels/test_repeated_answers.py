"""The posterior of two answers is Bayes' rule, and the shares are those that were drawn from."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels import repeated_answers as repeated
from ppduck.kernels.distortion import uniform

pytestmark = pytest.mark.core
PI = np.array([0.7, 0.2, 0.1])


def test_pairs_of_answers_are_drawn_apart() -> None:
    one, other = uniform(0.8, 3), uniform(0.6, 3)
    pairs = repeated.joint(one, other)
    assert pairs.shape == (9, 3)
    assert pairs.sum(axis=0) == pytest.approx(np.ones(3))
    assert pairs[3 * 1 + 2] == pytest.approx(one[1] * other[2])


def test_the_shares_come_back() -> None:
    pairs = repeated.joint(uniform(0.8, 3), uniform(0.5, 3))
    assert repeated.shares(1000 * pairs @ PI, pairs) == pytest.approx(PI, abs=1e-4)
    counts = np.random.default_rng(1).multinomial(200_000, pairs @ PI).astype(float)
    assert repeated.shares(counts, pairs) == pytest.approx(PI, abs=0.01)


def test_a_level_that_nobody_has_gets_no_share() -> None:
    matrix = uniform(0.9, 3)
    assert repeated.shares(matrix @ [0.6, 0.4, 0.0], matrix) == pytest.approx([0.6, 0.4, 0.0], abs=1e-3)


def test_right_guesses_are_those_of_a_simulation() -> None:
    rng = np.random.default_rng(4)
    one, other = uniform(0.6, 3), uniform(0.55, 3)
    pairs = repeated.joint(one, other)
    truth = rng.choice(3, size=100_000, p=PI)
    a, b = (np.array([rng.choice(3, p=m[:, j]) for j in truth[:40_000]]) for m in (one, other))
    guessed = repeated.guesses(PI, pairs)[a * 3 + b]
    assert np.mean(guessed == truth[:40_000]) == pytest.approx(repeated.right_on_average(PI, pairs), abs=0.01)


def test_certainty_is_bayes_rule() -> None:
    p = 0.8
    pairs = repeated.joint(uniform(p, 2), uniform(p, 2))
    even = np.array([0.5, 0.5])
    agree, differ = p**2 / (p**2 + (1 - p) ** 2), 0.5
    assert repeated.certainty(even, pairs) == pytest.approx([agree, differ, differ, agree])
    assert repeated.certainty(np.array([1.0, 0.0]), np.eye(2)).tolist() == [1.0, 0.0]


def test_two_answers_of_one_design_and_even_shares_are_guessed_no_better_on_average() -> None:
    """Where they differ either may be right: what is gained where they agree is lost there."""
    for d in (2, 3, 5):
        own, even = uniform(0.7, d), np.full(d, 1 / d)
        assert repeated.right_on_average(even, repeated.joint(own, own)) == pytest.approx(0.7)
