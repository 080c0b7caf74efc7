"""Whether the digits of DOUBLE suffice: what rounding moves, simulated."""

from __future__ import annotations

import numpy as np

from ppduck.runtime.digits import EXACT, moved_by_rounding


def test_rounding_moves_a_variance_by_no_more_than_is_allowed_for() -> None:
    rng = np.random.default_rng(3)
    for mean, n in ((1e9, 100), (1e12, 1_000), (1e12, 50)):
        allowed = moved_by_rounding(n, np.array([mean]), np.array([1.0]))[0]
        for _ in range(200):
            x = rng.normal(size=n)
            stored = mean + x
            moved = abs(np.var(stored - mean, ddof=1) / np.var(x, ddof=1) - 1)
            assert moved < allowed


def test_columns_near_0_are_exact_and_far_ones_are_not() -> None:
    near, far = moved_by_rounding(1_000, np.array([50.0, 1e12]), np.array([1.0, 1.0]))
    assert near < EXACT < far
    assert (
        moved_by_rounding(100_000, np.array([1e6]), np.array([1.0]))[0]
        < moved_by_rounding(100, np.array([1e6]), np.array([1.0]))[0]
    )
