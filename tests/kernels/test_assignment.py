"""The best one-to-one matching is that of all pairs; equal records share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from ppduck.kernels.assignment import assigned
from ppduck.kernels.seeking import Space

pytestmark = pytest.mark.core


def spaces(n: int, noise: float, kept: bool) -> tuple[Space, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(int(noise * 10))
    x = rng.normal(size=(n, 4))
    x[:, 3] = rng.integers(0, 3, n)
    y = x + noise * rng.normal(size=x.shape)
    y[:, 3] = x[:, 3] if kept else np.where(rng.random(n) < 0.8, x[:, 3], rng.integers(0, 3, n))
    is_number, every = np.array([True, True, True, False]), np.ones(4, dtype=bool)
    return Space.of(x, is_number, every, ~is_number if kept else None), x, y


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("noise", [0.1, 0.5, 2.0])
def test_it_is_the_least_of_all_pairs(noise: float, kept: bool) -> None:
    space, x, y = spaces(300, noise, kept)
    (a, b), (c, d) = space.coordinates(x), space.coordinates(y)
    cost = ((a[:, None] - c) ** 2).sum(axis=2) + ((b[:, None] != d) * space.weights).sum(axis=2)
    rows, columns = linear_sum_assignment(cost)
    assert assigned(space, x, y).sum() == (rows == columns).sum()


def test_a_copy_is_matched_and_records_that_are_equal_share() -> None:
    space, x, _ = spaces(200, 0.1, False)
    assert assigned(space, x, x).mean() == 1
    twice = np.repeat(x[:50], 4, axis=0)
    assert assigned(space, twice, twice) == pytest.approx(np.full(200, 0.25))


def test_one_person_is_matched() -> None:
    space, x, y = spaces(1, 0.1, False)
    assert assigned(space, x, y).tolist() == [1.0]


def test_people_who_are_alike_are_not_told_apart_by_their_rows() -> None:
    space, x, y = spaces(400, 2.0, False)
    assert assigned(space, np.repeat(x[:1], 400, axis=0), y).sum() < 10
