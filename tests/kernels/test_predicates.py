"""Predicates match what their windows say, and dealt records keep what is true of anybody."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.predicates import WINDOW, Predicates, dealt
from ppduck.kernels.seeking import Space

pytestmark = pytest.mark.core
IS_NUMBER = np.array([True, False, True])
CONF = np.array([False, False, True])


def table(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=n), rng.integers(0, 3, n) * 1e15, 100 * rng.normal(size=n)])


def test_matches_are_counted_as_the_windows_say() -> None:
    rows = table(2000)
    records = rows[:300] + np.array([0.01, 0, 3])
    predicates = Predicates(Space.of(rows, IS_NUMBER, np.ones(3, dtype=bool)), records)
    sd = rows.std(axis=0)
    within = [np.abs(rows[:, j] - records[:, None, j]) <= WINDOW * sd[j] for j in (0, 2)]
    expected = (within[0] & within[1] & (rows[:, 1] == records[:, None, 1])).sum(axis=1)
    assert (predicates.matches(rows) == expected).all()
    halves = predicates.matches(rows[:900]) + predicates.matches(rows[900:])
    assert (halves == expected).all()
    assert expected.max() > 1
    own = within[0] & within[1] & (rows[:, 1] == records[:, None, 1])
    assert (predicates.hold(rows[:300]) == own[np.arange(300), np.arange(300)]).all()


def test_nothing_matches_where_there_is_nobody() -> None:
    rows = table(50)
    predicates = Predicates(Space.of(rows, IS_NUMBER, np.ones(3, dtype=bool)), rows)
    assert predicates.matches(np.empty((0, 3))).sum() == 0


def test_dealt_records_have_the_conf_of_another_one_like_them() -> None:
    rng = np.random.default_rng(1)
    known = np.repeat(rng.normal(size=500), 2)
    pool = np.column_stack([known, np.zeros(1000), known * 10 + np.tile([0, 1], 500)])
    found = dealt(Space.of(pool, IS_NUMBER, ~CONF), pool[:200], pool, CONF)
    assert (found[:, :2] == pool[:200, :2]).all()
    assert np.abs(found[:, 2] - pool[:200, 2]) == pytest.approx(1.0)  # the other of the pair, never the own


def test_without_known_columns_conf_goes_to_the_next() -> None:
    pool = table(10)
    none = np.zeros(3, dtype=bool)
    found = dealt(Space.of(pool, IS_NUMBER, none), pool[:4], pool, ~none)
    assert (found == pool[1:5]).all()
