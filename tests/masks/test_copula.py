"""The solve on normal scores: rank correlations come out, and what follows nonconf in every rank is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ppduck.call.linear_mask import Request, TermPlaces
from ppduck.errors import PpduckError
from ppduck.kernels.linear import Blocks, LinearForm
from ppduck.libraries import stats
from ppduck.masks._copula import solve, staying
from ppduck.values import Array, Moments

pytestmark = pytest.mark.core
N = 4000


def scores(values: Array) -> Array:
    return np.asarray(stats.norm.ppf((stats.rankdata(values, axis=0) - 0.5) / len(values)))


def sums_of(rows: Array) -> tuple[Array, Array]:
    return rows.sum(axis=0), (rows.T @ rows)[np.tril_indices(rows.shape[1])]


def asked(s: Array, x: Array) -> tuple[Blocks, Request, Array]:
    """What a statement would tell of two columns: moments of scores and noise, ranks, and all rows as the sample."""
    values = np.column_stack([s, x])
    noise = np.random.default_rng(7).normal(size=(len(s), 1))
    rows = np.column_stack([scores(values), noise])
    blocks = Blocks.from_moments(Moments.from_sums(len(rows), *sums_of(rows)), 1, 1)
    ranks = Moments.of(stats.rankdata(values, axis=0) - (len(s) + 1) / 2)
    request = Request("shuffle_mask", "t", None, ["x"], ["s"], None, TermPlaces(1), ["s", "x"], ranks, rows)
    return blocks, request, rows


def masked(form: LinearForm, rows: Array) -> Array:
    return np.asarray(form.intercept + rows @ np.vstack([form.on_s, form.on_x, form.on_v]))


@pytest.mark.parametrize("slope", [-3.0, 0.0, 0.4, 2.0])
def test_rank_correlations_come_out_and_nothing_else_is_told(slope: float) -> None:
    rng = np.random.default_rng(3)
    s = rng.normal(size=N)
    x = np.exp(slope * s + rng.normal(size=N))  # far from normal; ranks do not mind
    blocks, request, rows = asked(s, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        form = solve(blocks, request)
    found = masked(form, rows)[:, 0]
    wanted = stats.spearmanr(s, x).statistic
    assert stats.spearmanr(s, found).statistic == pytest.approx(wanted, abs=0.01)
    # Given the scores of S, masked scores have nothing to do with those of X.
    left = [each - rows[:, 0] * (each @ rows[:, 0]) / (rows[:, 0] @ rows[:, 0]) for each in (rows[:, 1], found)]
    assert abs(np.corrcoef(left)[0, 1]) < 1e-6


def test_a_column_that_follows_in_every_rank_is_refused() -> None:
    s = np.random.default_rng(4).normal(size=200)
    blocks, request, _ = asked(s, np.exp(s))
    with pytest.raises(PpduckError, match='conf column "x" follows the nonconf columns in every rank'):
        solve(blocks, request)


def test_values_stay_where_masked_scores_are_the_own() -> None:
    rng = np.random.default_rng(5)
    blocks, request, _ = asked(rng.normal(size=N), rng.normal(size=N))
    zero, one = np.zeros((1, 1)), np.ones((1, 1))
    own, drawn = LinearForm(np.zeros(1), zero, one, zero), LinearForm(np.zeros(1), zero, zero, one)
    assert staying(blocks, request, own)[0] > 0.99
    assert staying(blocks, request, drawn)[0] < 0.05
