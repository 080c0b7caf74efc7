"""Leverage from moments against numpy's hat matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.leverage import involved, largest, leverage
from ppduck.kernels.linear import Blocks, independent
from ppduck.values import Moments

pytestmark = pytest.mark.core


def hat(s: np.ndarray) -> np.ndarray:
    """The diagonal of the hat matrix of [1, S]."""
    design = np.column_stack([np.ones(len(s)), (s - s.mean(axis=0)) / s.std(axis=0)])
    return np.asarray(np.einsum("ij,ji->i", design, np.linalg.pinv(design)))


def blocks_of(s: np.ndarray) -> Blocks:
    return Blocks.from_moments(Moments.of(s), s.shape[1], 0)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(10, 80),
    p=st.integers(1, 6),
    extra=st.integers(0, 2),
    bump=st.floats(0, 1e4),
)
def test_leverage_is_the_diagonal_of_the_hat_matrix(seed: int, n: int, p: int, extra: int, bump: float) -> None:
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-5, 6, p)
    s[0] += bump * s.std(axis=0)
    s = np.column_stack([s, s @ rng.normal(size=(p, extra))])  # combinations add nothing
    blocks = blocks_of(s)
    terms = independent(blocks.ss)
    deviations = s - s.mean(axis=0)
    found = [leverage(blocks, terms, row) for row in deviations]
    np.testing.assert_allclose(found, hat(s), atol=1e-6)
    assert largest(blocks, terms, deviations.min(axis=0), deviations.max(axis=0)) >= max(found) - 1e-12


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(40, 120), levels=st.integers(2, 8), average=st.booleans())
def test_no_row_is_beyond_the_bound_for_categories(seed: int, n: int, levels: int, average: bool) -> None:
    rng = np.random.default_rng(seed)
    of = [rng.integers(0, levels, n), np.minimum(rng.geometric(0.4, n) - 1, levels - 1)]
    indicators = [(each[:, None] == np.arange(1, levels)).astype(float) for each in of]
    for each in indicators:
        each[-1] = each[:-1].mean(axis=0) if average else each[-1]
    s = np.column_stack([rng.normal(size=n), *indicators])
    places = [list(range(1, levels)), list(range(levels, 2 * levels - 1))]
    deviations = s - s.mean(axis=0)
    blocks = blocks_of(s)
    terms = independent(blocks.ss)
    most = largest(blocks, terms, deviations.min(axis=0), deviations.max(axis=0), places)
    assert max(leverage(blocks, terms, row) for row in deviations) <= most + 1e-9


def test_levels_of_many_rows_need_no_look_at_every_row() -> None:
    levels = np.arange(100_000) % 100
    s = (levels[:, None] == np.arange(1, 100)).astype(float)
    deviations = s - s.mean(axis=0)
    blocks = blocks_of(s)
    bounds = deviations.min(axis=0), deviations.max(axis=0)
    assert largest(blocks, independent(blocks.ss), *bounds, [list(range(99))]) == pytest.approx(1e-3, rel=0.01)


def test_the_columns_that_set_a_row_apart_are_told() -> None:
    rng = np.random.default_rng(3)
    s = rng.normal(size=(500, 5))
    s[:, 3] = s[:, 1]
    s[7, 3] += 2
    blocks = blocks_of(s)
    row = s[7] - s.mean(axis=0)
    assert leverage(blocks, [1], row) < 0.1
    assert involved(blocks, [0, 1, 2, 3, 4], row, 0.95) == [1, 3]
