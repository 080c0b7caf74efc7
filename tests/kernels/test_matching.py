"""The best matching, in this process and in one of its own, which an interrupt ends."""

from __future__ import annotations

import threading
import time

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
