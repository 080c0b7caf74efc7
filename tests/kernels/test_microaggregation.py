"""MDAV: the same groups as by its definition, however they are searched for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels import microaggregation
from ppduck.kernels.microaggregation import centroids, grouped, mdav, standardised


def by_definition(points: np.ndarray, k: int) -> np.ndarray:
    left, groups = np.arange(len(points)), []

    def distances(point: np.ndarray) -> np.ndarray:
        return ((points[left] - point) ** 2).sum(axis=1)

    def take(point: np.ndarray) -> None:
        nonlocal left
        near = np.argsort(distances(point), kind="stable")[:k]
        groups.append(left[near])
        left = np.delete(left, near)

    while len(left) >= 3 * k:
        first = points[left[distances(points[left].mean(axis=0)).argmax()]]
        second = points[left[distances(first).argmax()]]
        take(first)
        take(second)
    if len(left) >= 2 * k:
        take(points[left[distances(points[left].mean(axis=0)).argmax()]])
    groups.append(left)
    number = np.empty(len(points), dtype=int)
    for i, group in enumerate(groups):
        number[group] = i
    return number


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(4, 120), k=st.integers(2, 12), d=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_groups_are_those_of_the_definition(seed: int, n: int, k: int, d: int) -> None:
    points = np.random.default_rng(seed).normal(size=(n, d))
    before = points.copy()
    found = mdav(points, min(k, n // 2))
    assert (found == by_definition(points, min(k, n // 2))).all()
    assert (points == before).all(), "what is grouped is not touched"


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("k", [3, 15])
def test_an_index_finds_the_same_groups(monkeypatch: pytest.MonkeyPatch, d: int, k: int) -> None:
    points = np.random.default_rng(d).standard_t(3, size=(3000, d))
    plain = mdav(points, k)
    monkeypatch.setattr(microaggregation, "TREE_FROM", 0)
    monkeypatch.setattr(microaggregation, "LEAF", 40)
    assert (mdav(points, k) == plain).all()


@pytest.mark.parametrize("indexed", [False, True])
def test_equal_records_do_no_harm(monkeypatch: pytest.MonkeyPatch, indexed: bool) -> None:
    if indexed:
        monkeypatch.setattr(microaggregation, "TREE_FROM", 0)
        monkeypatch.setattr(microaggregation, "LEAF", 16)
    points = np.random.default_rng(1).integers(0, 3, size=(500, 2)).astype(float)
    size = np.bincount(mdav(points, 7))
    assert size.sum() == 500
    assert size.min() >= 7
    assert size.max() < 14
    assert (np.bincount(mdav(np.zeros((100, 2)), 7)) >= 7).all()


def test_parts_have_groups_of_at_least_k(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microaggregation, "EXACT_BY_TREE", 100)
    monkeypatch.setattr(microaggregation, "BLOCK", 50)
    for n in (101, 999, 2000):
        size = np.bincount(grouped(np.random.default_rng(n).normal(size=(n, 2)), 9))
        assert size.sum() == n
        assert size.min() >= 9


def test_constant_columns_are_0_and_means_stay() -> None:
    values = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    assert (standardised(values)[:, 0] == 0).all()
    assert standardised(values)[:, 1].std() == pytest.approx(1)
    group = np.repeat([0, 1], 5)
    assert centroids(values, group)[:, 1].tolist() == [2.0] * 5 + [7.0] * 5
