"""The normal copula: its formula, shuffling on arrays, and scores that hit their targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import rankdata, spearmanr

from ppduck.kernels import copula
from ppduck.kernels.linear import Blocks
from ppduck.values import Moments
from tests.laws import cross_correlation, residuals
from tests.masks.rank_data import spearman

pytestmark = pytest.mark.core
SEEDS = st.integers(0, 2**31)


def scores(values: np.ndarray) -> np.ndarray:
    return np.asarray(ndtri((rankdata(values, axis=0) - 0.5) / len(values)))


def tied(rng: np.random.Generator, n: int, columns: int) -> np.ndarray:
    """Columns with ties here and there, none of them constant."""
    values = rng.normal(size=(n, columns))
    coarse = rng.random(columns) < 0.5
    values[:, coarse] = np.round(values[:, coarse])
    values[0], values[-1] = 5.0, -5.0
    return values


@settings(max_examples=100, deadline=None)
@given(st.floats(-1, 1))
def test_scores_correlate_a_little_more_than_ranks_and_with_one_sign(rho: float) -> None:
    r = copula.normal_correlation(np.array(rho))
    assert abs(rho) - 1e-12 <= abs(r) <= 1 + 1e-12
    assert r * rho >= 0


@pytest.mark.parametrize("r", [-0.9, -0.3, 0.0, 0.5, 0.95])
def test_ranks_of_normals_correlate_as_the_formula_says(r: float) -> None:
    z = np.random.default_rng(1).normal(size=(200_000, 2))
    z[:, 1] = r * z[:, 0] + np.sqrt(1 - r**2) * z[:, 1]
    found = copula.normal_correlation(np.array(spearmanr(z).statistic))
    assert float(found) == pytest.approx(r, abs=3 / np.sqrt(200_000))


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, n=st.integers(1, 40), columns=st.integers(1, 4))
def test_values_put_into_the_order_of_others_keep_their_marginals(seed: int, n: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    values, along = np.round(rng.normal(size=(n, columns)), 1), rng.normal(size=(n, columns))
    placed = copula.in_order(np.sort(values, axis=0), along)
    np.testing.assert_array_equal(np.sort(placed, axis=0), np.sort(values, axis=0))
    for j in range(columns):
        assert (np.diff(placed[np.argsort(along[:, j]), j]) >= 0).all()


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, p=st.integers(0, 3), q=st.integers(1, 3), spare=st.integers(0, 100))
def test_masked_scores_have_the_wanted_correlations_exactly_and_their_noise_none(
    seed: int, p: int, q: int, spare: int
) -> None:
    rng = np.random.default_rng(seed)
    n = p + 2 * q + 3 + spare
    known = scores(tied(rng, n, p + q) @ (rng.normal(size=(p + q, p + q)) + 2 * np.eye(p + q)))
    rows = np.column_stack([known, rng.normal(size=(n, q))])
    blocks = Blocks.from_moments(Moments.of(rows), p, q)
    # Half of what the scores themselves have: a target that noise of full rank can meet.
    between, among = blocks.sx / 2, np.where(np.eye(q, dtype=bool), 1.0, blocks.xx / 2)
    form = copula.form_of(blocks, between, among)
    y = form.intercept + rows[:, :p] @ form.on_s + rows[:, p : p + q] @ form.on_x + rows[:, p + q :] @ form.on_v
    found = np.cov(np.column_stack([known[:, :p] / blocks.scale[:p], y]), rowvar=False).reshape(p + q, p + q)
    np.testing.assert_allclose(found[:p, p:], between, atol=1e-8)
    np.testing.assert_allclose(found[p:, p:], among, atol=1e-8)
    np.testing.assert_allclose(y.mean(axis=0), 0, atol=1e-8)
    assert cross_correlation(residuals(y, known[:, :p]), known[:, p:]) < 1e-6


def test_a_target_that_no_noise_can_meet_is_met_as_nearly_as_can_be() -> None:
    rng = np.random.default_rng(4)
    z = rng.normal(size=(500, 2))
    rows = np.column_stack([z, rng.normal(size=(500, 1))])
    blocks = Blocks.from_moments(Moments.of(rows), 1, 1)
    form = copula.form_of(blocks, np.array([[1.5]]), np.eye(1))
    y = form.intercept + rows[:, :1] @ form.on_s + rows[:, 1:2] @ form.on_x + rows[:, 2:] @ form.on_v
    assert np.isfinite(y).all()
    assert np.corrcoef(y[:, 0], z[:, 0])[0, 1] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("coarse", [False, True])
def test_calibration_gives_wanted_rank_correlations_where_the_formula_alone_does_not(
    coarse: bool,
) -> None:
    rng = np.random.default_rng(7)
    n, p, q = 1_000, 2, 2
    values = rng.exponential(size=(n, 4)) @ (rng.normal(size=(4, 4)) + 2 * np.eye(4))
    values[:, 0] = values[:, 0] > np.median(values[:, 0])
    if coarse:
        values[:, 3] = np.round(values[:, 3])
    wanted = spearman(values)
    rows = np.column_stack([scores(values), rng.normal(size=(n, q))])
    blocks = Blocks.from_moments(Moments.of(rows), p, q)

    def missed(form: copula.LinearForm) -> float:
        s, x, v = rows[:, :p], rows[:, p : p + q], rows[:, p + q :]
        y = form.intercept + s @ form.on_s + x @ form.on_x + v @ form.on_v
        return float(np.abs(spearman(np.column_stack([s, copula.in_order(np.sort(x, axis=0), y)])) - wanted).max())

    target = copula.normal_correlation(wanted)
    plain = missed(copula.form_of(blocks, target[:p, p:], target[p:, p:]))
    form, left = copula.calibrated(blocks, wanted, rows)
    assert plain > 0.01
    assert missed(form) < 0.004
    assert missed(form) == pytest.approx(np.abs(left).max(), abs=1e-9), "what is left is told"


def test_rank_correlations_that_cannot_be_had_are_told() -> None:
    """Two columns that are mostly 0, each apart from 0 where the other is not: no noise on their scores gives that."""
    rng = np.random.default_rng(8)
    s = rng.normal(size=5_000)
    x, y = np.where(s < 1.2, 0, np.exp(s)), np.where(s > -1.2, 0, np.exp(-s))
    values = np.column_stack([s, x, y])
    rows = np.column_stack([scores(values), rng.normal(size=(5_000, 2))])
    _, left = copula.calibrated(Blocks.from_moments(Moments.of(rows), 1, 2), spearman(values), rows)
    assert np.abs(left).max() > 0.01
