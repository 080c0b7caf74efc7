"""The best matching, in this process and in one of its own, which an interrupt ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from ppduck import interrupts
from ppduck.errors import PpduckError
from ppduck.kernels import matching

pytestmark = pytest.mark.core
Sides = tuple[np.ndarray, np.ndarray]


def sides(n: int, columns: int = 3) -> tuple[Sides, Sides, np.ndarray]:
    rng = np.random.default_rng(n)
    made = [(rng.normal(size=(n, columns)), rng.integers(0, 3, (n, 2)).astype(float)) for _ in range(2)]
    return made[0], made[1], np.array([1.0, 0.5])


@pytest.mark.parametrize("columns", [0, 3])
@pytest.mark.parametrize("few", [0, 1_000])
def test_it_costs_the_least(monkeypatch: pytest.MonkeyPatch, few: int, columns: int) -> None:
    monkeypatch.setattr(matching, "FEW", few)
    one, other, weights = sides(200, columns)
    costs = ((one[0][:, None] - other[0]) ** 2).sum(axis=2) + (one[1][:, None] != other[1]) @ weights
    given = matching.matched(one, other, weights)
    rows, columns_ = linear_sum_assignment(costs)
    assert sorted(given) == list(range(200))
    assert costs[rows, given].sum() == pytest.approx(costs[rows, columns_].sum(), rel=1e-12)


@pytest.mark.parametrize(
    "change", [np.copy, lambda y: 1e3 * y, lambda y: y * [1, 0, 1e-5], lambda y: y[:, [0, 0, 1]], np.abs]
)
def test_points_that_spread_alike_have_the_same_best_matching(change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Also where a column is constant, is another one, or is far away."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(150, 3)) @ rng.normal(size=(3, 3)) + 7
    y = change(x + 2 * rng.normal(size=(150, 3)))
    for one, other in ((x, y), (y, x)):
        costs = ((one[:, None] - other) ** 2).sum(axis=2)
        moved, there = matching.spread_alike(one, other)
        alike = ((moved[:, None] - there) ** 2).sum(axis=2)
        rows, best = linear_sum_assignment(costs)
        found = linear_sum_assignment(alike)[1]
        assert costs[rows, found].sum() == pytest.approx(costs[rows, best].sum(), rel=1e-9)


def test_both_sides_then_spread_alike() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4_000, 2)) @ np.array([[2.0, 1.0], [0.0, 0.3]])
    moved, there = matching.spread_alike(x, 9 * rng.normal(size=(4_000, 2)))
    assert np.cov(moved.T) == pytest.approx(np.cov(there.T), rel=1e-6)


def test_an_interrupt_ends_what_takes_long() -> None:
    """6,000 people who are unlike all records take many seconds."""
    one, other, weights = sides(6_000)
    spec = '{"asking": "somebody"}'
    threading.Timer(1.5, interrupts.stop, ["somebody"]).start()
    begun = time.monotonic()
    with interrupts.at_work(spec), pytest.raises(PpduckError, match="Interrupted"):
        matching.matched(one, other, weights)
    assert time.monotonic() - begun < 10


def test_a_process_that_ends_is_told(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(matching, "FEW", 0)
    one, other, _ = sides(20)
    with pytest.raises(PpduckError, match="the process that matches 20 people one to one has ended"):
        matching.matched(one, other, np.array([1.0]))
    assert "Traceback" in capfd.readouterr().err
