"""Canonical correlations and shares of variance from moments alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.prediction import (
    CHANCE,
    canonical_correlation,
    canonical_gain_by_chance,
    explained,
    gain_by_chance,
    partial_correlation,
    rank,
    root_by_chance,
)
from ppduck.values import Moments
from tests.laws import canonical_correlation as by_rows
from tests.laws import r_squared


@given(seed=st.integers(0, 2**32 - 1), p=st.integers(1, 4), q=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_moments_tell_what_rows_tell(seed: int, p: int, q: int) -> None:
    rng = np.random.default_rng(seed)
    rows = (
        rng.normal(size=(50, p + q))
        @ (rng.normal(size=(p + q, p + q)) + 2 * np.eye(p + q))
        * rng.uniform(1e-3, 1e3, p + q)
    )
    moments = Moments.of(rows)
    a, b = range(p), range(p, p + q)
    assert canonical_correlation(moments, a, b) == pytest.approx(by_rows(rows[:, a], rows[:, b]), abs=1e-7)
    assert canonical_correlation(moments, a, b) == pytest.approx(canonical_correlation(moments, b, a), abs=1e-9)
    for j, share in zip(a, explained(moments, a, b), strict=True):
        assert share == pytest.approx(r_squared(rows[:, j], rows[:, b]), abs=1e-7)
        assert share <= canonical_correlation(moments, a, b) ** 2 + 1e-9


def test_dependent_and_constant_columns_add_nothing() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(100, 3))
    wide = np.column_stack([rows, rows[:, 0] + 2 * rows[:, 1], np.full(100, 7.0)])
    moments = Moments.of(wide)
    assert rank(moments, [0, 1, 3, 4]) == 2
    assert explained(moments, [2], [0, 1, 3, 4])[0] == pytest.approx(explained(moments, [2], [0, 1])[0])
    assert explained(moments, [4], [0, 1])[0] == 0
    assert canonical_correlation(moments, [4], [0]) == 0
    assert canonical_correlation(moments, [2], []) == 0


def test_what_chance_explains_is_rarely_exceeded() -> None:
    """R² of X by S and by S with three columns that say nothing, for errors that are not normal."""
    rng = np.random.default_rng(2)
    trials, exceeded = 4000, 0
    for _ in range(trials):
        s, noise = rng.normal(size=(60, 2)), rng.normal(size=(60, 3))
        x = s @ [1.0, 0.5] + rng.exponential(size=60)
        moments = Moments.of(np.column_stack([s, noise, x]))
        before, after = (explained(moments, [5], by)[0] for by in ([0, 1], [0, 1, 2, 3, 4]))
        exceeded += after - before > gain_by_chance(60, before, 2, 3)
    assert exceeded <= trials * CHANCE + 4 * np.sqrt(trials * CHANCE)
    assert exceeded > 0, "a bound that is never reached would let real gains pass"


def test_the_bound_shrinks_with_rows_and_is_1_where_nothing_can_be_told() -> None:
    bounds = [gain_by_chance(n, 0.5, 2, 2, 2) for n in (10, 100, 1_000, 1_000_000)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 2e-5
    assert root_by_chance(5, 2, 2, 2) == 1
    assert 0 < canonical_gain_by_chance(1000, 0.9, 2, 2, 2) < canonical_gain_by_chance(1000, 0.1, 2, 2, 2)


@pytest.mark.parametrize(("conf", "n"), [(2, 30), (3, 40), (5, 60), (10, 120)])
def test_the_largest_root_of_several_columns_is_rarely_exceeded_and_not_by_far(conf: int, n: int) -> None:
    rng = np.random.default_rng(conf)
    trials = 3000
    roots = np.empty(trials)
    for i in range(trials):
        x, y = (np.linalg.qr(side - side.mean(axis=0))[0] for side in rng.normal(size=(2, n, conf)))
        roots[i] = np.linalg.svd(x.T @ y, compute_uv=False)[0] ** 2
    bound = root_by_chance(n, 0, conf, conf)
    assert (roots > bound).sum() <= trials * CHANCE + 4 * np.sqrt(trials * CHANCE)
    assert bound < np.quantile(roots, 0.999) * 1.35


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_partial_correlations_are_those_of_residuals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6))
    s, x, y = rows[:, :2], rows[:, 2:4], rows[:, 4:]
    design = np.column_stack([np.ones(60), s])
    x, y = (side - design @ np.linalg.lstsq(design, side, rcond=None)[0] for side in (x, y))
    found = partial_correlation(Moments.of(rows), [2, 3], [4, 5], [0, 1])
    assert found == pytest.approx(by_rows(x, y), abs=1e-7)
