"""What is public, as an orthonormal basis: what is left of a column is orthogonal to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ppduck.kernels.public import MOST_BENT, TENTHS, Public, bent, centred, powers, ranks, unit

pytestmark = pytest.mark.core

N = 300
columns = arrays.arrays(float, 12, elements=st.floats(-1e6, 1e6, width=32))


def table(seed: int, wide: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, wide))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_left_is_orthogonal_to_what_is_public_and_stays_when_left_again(seed: int) -> None:
    known, values = table(seed), table(seed + 100)
    public = Public([centred(column) for column in known.T], N)
    left = public.left_of(values)
    assert np.allclose(left.sum(axis=0), 0, atol=1e-9)
    assert np.allclose(known.T @ left, 0, atol=1e-9)
    assert np.allclose(public.left_of(left), left, atol=1e-12)
    assert np.allclose(public.basis.T @ public.basis, np.eye(5), atol=1e-9)
    # As least squares have it.
    design = np.column_stack([np.ones(N), known])
    assert np.allclose(left, values - design @ np.linalg.lstsq(design, values, rcond=None)[0], atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_of_what_is_public_nothing_is_left(seed: int) -> None:
    known = table(seed)
    public = Public([centred(column) for column in known.T], N)
    mixed = known @ np.random.default_rng(seed).normal(size=(4, 3)) + 5
    assert not public.left_of(mixed).any()


def test_columns_that_repeat_or_are_constant_add_nothing_to_the_basis() -> None:
    a, b = table(1, 2).T
    once, twice = (Public([centred(each) for each in given], N) for given in ((a, b), (a, b, a + b, 2 * a, 0 * a)))
    assert once.basis.shape == twice.basis.shape
    assert np.allclose(once.left_of(table(2)), twice.left_of(table(2)), atol=1e-8)
    assert Public([], N).basis.shape == (N, 1)


@settings(deadline=None, max_examples=100)
@given(columns)
def test_ranks_and_centred_have_mean_0_and_length_1_or_are_nothing(values: np.ndarray) -> None:
    for found in (ranks(values), centred(values)):
        assert np.isfinite(found).all()
        assert abs(found.sum()) < 1e-6
        assert found @ found == pytest.approx(1) or not found.any()
    assert ranks(values).any() == (values.min() < values.max())


@settings(deadline=None, max_examples=100)
@given(columns)
def test_ranks_do_not_see_how_far_values_are_apart(values: np.ndarray) -> None:
    assert np.array_equal(ranks(values), ranks(np.sign(values) * np.abs(values) ** 3))
    assert np.allclose(ranks(values), -ranks(-values), atol=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_centred_takes_any_size(size: float) -> None:
    values = table(3, 1)[:, 0]
    assert np.allclose(centred(values * size), centred(values), atol=1e-12)


def test_what_is_not_known_stands_at_the_mean() -> None:
    values = np.array([1.0, np.nan, 2.0, 6.0, np.inf])
    for found in (ranks(values), centred(values)):
        assert found[1] == found[4] == 0
    assert not ranks(np.full(3, np.nan)).any()
    assert not centred(np.full(3, np.nan)).any()
    assert not unit(np.zeros(3)).any()


def test_bands_and_squares_of_open_columns_are_public() -> None:
    age = np.random.default_rng(4).uniform(20, 70, (N, 1))
    public = Public(bent(age), N)
    tenths = np.floor(np.argsort(np.argsort(age[:, 0])) / (N + 1) * TENTHS)
    for band in range(TENTHS):
        inside = (tenths == band).astype(float)[:, None]
        assert float(np.square(public.left_of(inside)).sum() / inside.sum()) < 0.1
    assert not public.left_of(age**2).any()
    assert not public.left_of(3 * age + 1).any()


def test_columns_are_bent_only_where_rows_are_enough() -> None:
    assert len(bent(table(5, 1))) == 1 + 1 + TENTHS - 1
    assert len(bent(table(5, 10))) == 10
    assert len(bent(np.tile(table(5, 1), (100, MOST_BENT + 1)))) == MOST_BENT + 1
    assert len(bent((table(5, 1) > 0).astype(float))) == 1
    assert bent(np.empty((N, 0))) == []


def test_powers_of_a_key_are_finite_and_take_off_what_a_formula_makes_of_it() -> None:
    keys = np.arange(-50.0, N - 50)[:, None]
    found = powers(keys)
    assert all(np.isfinite(column).all() for column in found)
    public = Public(found, N)
    for made in (keys, keys**2, keys**3, np.sqrt(keys + 51), np.log(keys + 51)):
        assert not public.left_of(made).any()
    assert all(np.isfinite(column).all() for column in powers(np.full((N, 1), np.nan)))
