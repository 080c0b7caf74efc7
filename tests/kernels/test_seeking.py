"""Pairs within reach: all that the definition has, and no others, however they are found."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels import seeking
from ppduck.kernels.seeking import Batch, Seekers, Space

pytestmark = pytest.mark.core
IS_NUMBER = np.array([True, True, False, True])
EVERY = np.ones(4, dtype=bool)


def table(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 4)) * [1, 1000, 1, 0.01] + [0, 1e6, 0, 5]
    rows[:, 2] = rng.integers(0, 4, n) * 1e12
    return rows


def by_definition(space: Space, people: np.ndarray, records: np.ndarray) -> np.ndarray:
    (x, a), (y, b) = space.coordinates(people), space.coordinates(records)
    found = ((x[:, None] - y) ** 2).sum(axis=2)
    return found + ((a[:, None] != b) * space.weights).sum(axis=2)


@pytest.mark.parametrize("limit", [0.0, 0.05, 0.9, 1.5, 30.0])
@pytest.mark.parametrize("kept", [[], [0], [2], [0, 2]])
def test_all_pairs_within_the_limit_are_found(limit: float, kept: list[int]) -> None:
    x, y = table(300), table(400, seed=1)
    y[:100] = x[:100]
    flags = np.isin(np.arange(4), kept)
    space = Space.of(x, IS_NUMBER, EVERY, flags if kept else None)
    who, which, d2 = Seekers(space, x, np.full(300, limit)).near(Batch(space, y))
    distances = by_definition(space, x, y)
    assert {*zip(who, which, strict=True)} == {*zip(*np.nonzero(distances <= limit), strict=True)}
    assert d2 == pytest.approx(distances[who, which])


def test_each_person_has_a_limit_of_its_own() -> None:
    x, y = table(200), table(300, seed=1)
    space = Space.of(x, IS_NUMBER, EVERY)
    limit = np.random.default_rng(2).random(200) * 6
    who, _, _ = Seekers(space, x, limit).near(Batch(space, y))
    expected = (by_definition(space, x, y) <= limit[:, None]).sum(axis=1)
    assert (np.bincount(who, minlength=200) == expected).all()


def test_both_ways_to_search_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = table(300), table(400, seed=1)
    space = Space.of(x, IS_NUMBER, EVERY)
    seekers = Seekers(space, x, np.full(300, 0.5))
    found = []
    for few in (0, 10**6):
        monkeypatch.setattr(seeking, "_FEW", few)
        who, which, _ = seekers.near(Batch(space, y))
        found.append({*zip(who, which, strict=True)})
    assert found[0] == found[1] != set()


def test_the_scale_of_a_column_does_not_matter() -> None:
    x, y = table(100), table(100, seed=1)
    scale = np.array([3.0, 0.001, 1.0, 5e7])
    plain, scaled = Space.of(x, IS_NUMBER, EVERY), Space.of(x * scale, IS_NUMBER, EVERY)
    one = plain.squared(plain.coordinates(x), plain.coordinates(y))
    other = scaled.squared(scaled.coordinates(x * scale), scaled.coordinates(y * scale))
    assert one == pytest.approx(other, rel=1e-6)


def test_turned_is_mahalanobis() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3))
    y = x + rng.normal(size=(500, 3))
    every = np.ones(3, dtype=bool)
    space = Space.of(x, every, every).turned(x, y)
    inverse = np.linalg.inv(np.cov(x.T, bias=True) + np.cov(y.T, bias=True))
    expected = np.einsum("ij,jk,ik->i", x - y, inverse, x - y)
    assert space.squared(space.coordinates(x), space.coordinates(y)) == pytest.approx(expected)


def test_null_is_near_null_and_far_from_others() -> None:
    x = table(50)
    x[0, 0] = np.nan
    space = Space.of(x, IS_NUMBER, EVERY)
    same = x[:1].copy()
    assert space.squared(space.coordinates(x[:1]), space.coordinates(same)) == pytest.approx([0.0])
    moved = x[:1].copy()
    moved[0, 0] = 0.0
    assert space.squared(space.coordinates(x[:1]), space.coordinates(moved))[0] > 25


def test_nobody_finds_nothing() -> None:
    space = Space.of(table(5), IS_NUMBER, EVERY)
    who, which, d2 = Seekers(space, np.empty((0, 4)), np.empty(0)).near(Batch(space, table(5)))
    assert len(who) == len(which) == len(d2) == 0
    assert Space.of(table(5), IS_NUMBER, ~EVERY).empty
