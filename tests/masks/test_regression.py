"""The regression of X on S, and what is refused of it, from moments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.call.linear_mask import Request, TermPlaces
from ppduck.errors import PpduckError
from ppduck.kernels.linear import Blocks
from ppduck.masks._regression import refuse_few, refuse_ill_conditioned, refuse_inexact, regression
from ppduck.values import Array, Moments

pytestmark = pytest.mark.core


def blocks_of(s: Array, x: Array) -> Blocks:
    rows = np.column_stack([s, x])
    products = (rows.T @ rows)[np.tril_indices(rows.shape[1])]
    return Blocks.from_moments(Moments.from_sums(len(rows), rows.sum(axis=0), products), s.shape[1], x.shape[1])


def request(p: int = 2, group: str | None = None) -> Request:
    names = [f"s{i}" for i in range(1, p + 1)]
    return Request("egadp_mask", "t", group, ["x"], names, None, TermPlaces(p))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), p=st.integers(1, 4))
def test_it_is_the_regression_of_least_squares(seed: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(60, p)) * 10.0 ** rng.integers(-3, 4, size=p)
    x = s @ rng.normal(size=(p, 1)) / s.std() + rng.normal(size=(60, 1))
    coefficients, residual = regression(blocks_of(s, x), request(p), noise_ranks=1)
    slopes = np.linalg.lstsq(s - s.mean(axis=0), x - x.mean(), rcond=None)[0]
    np.testing.assert_allclose(coefficients, slopes * s.std(axis=0, ddof=1)[:, None] / x.std(ddof=1), atol=1e-8)
    left = (x - x.mean()) - (s - s.mean(axis=0)) @ slopes
    np.testing.assert_allclose(residual, left.T @ left / 59 / x.var(ddof=1), atol=1e-9)


def test_a_column_that_nonconf_determines_is_refused() -> None:
    s = np.random.default_rng(1).normal(size=(50, 2))
    with pytest.raises(
        PpduckError, match=r'conf column "x" is a linear function of the nonconf .* in the group g = 1 \(R² = 1\.0'
    ):
        regression(blocks_of(s, s[:, :1] - 2 * s[:, 1:]), request(group="g = 1"), noise_ranks=2)


@pytest.mark.parametrize(("noise_ranks", "needed", "formula"), [(1, 5, "p + q"), (2, 6, "p + 2q")])
def test_as_many_rows_are_needed_as_noise_has_directions(noise_ranks: int, needed: int, formula: str) -> None:
    rows = np.random.default_rng(2).normal(size=(20, 3))
    refuse_few(blocks_of(rows[:needed, :2], rows[:needed, 2:]), request(), noise_ranks=noise_ranks)
    few = blocks_of(rows[: needed - 1, :2], rows[: needed - 1, 2:])
    with pytest.raises(
        PpduckError, match=f"{needed - 1} rows are too few; at least {needed} are needed .{formula.replace('+', '.')}"
    ):
        refuse_few(few, request(), noise_ranks=noise_ranks)


def test_large_coefficients_of_opposite_sign_are_refused() -> None:
    refuse_ill_conditioned(request(), np.array([[2.0], [-1.0]]))
    with pytest.raises(PpduckError, match='columns "s1", "s2" are so nearly collinear'):
        refuse_ill_conditioned(request(), np.array([[1e4], [-1e4]]))


def test_normal_equations_that_do_not_hold_are_refused() -> None:
    covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    coefficients = np.array([[0.5], [0.0]])
    refuse_inexact(request(), covariance, coefficients, covariance @ coefficients)
    with pytest.raises(
        PpduckError, match='columns "s1", "s2" are so nearly collinear that moments cannot be kept to 1e-09'
    ):
        refuse_inexact(request(), covariance, coefficients, covariance @ coefficients + 1e-6)
