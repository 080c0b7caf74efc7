"""The coefficients of a form from sums, without a database: means and covariances come out exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ppduck.errors import PpduckError
from ppduck.runtime.solve import Solvable, Summed, levers, solve
from ppduck.runtime.spec import MaskSpec
from ppduck.values import Array

Spec = Callable[..., MaskSpec]


def summed(rows: Array, centre: Array, judged: int = 2) -> Solvable:
    """What SQL would tell of rows of [s, x, v]."""
    z = rows - centre
    lower = np.tril_indices(z.shape[1])
    x = rows[:, 1]
    return Solvable(
        None, len(z), z.sum(axis=0), (z.T @ z)[lower], z[:, :judged].min(axis=0), z[:, :judged].max(axis=0), [],
        centre[1:2], None, None, None, None, np.array([x.min()]), np.array([x.max()]), np.array([x.mean()]), np.zeros(1), 1, 1,
    )  # fmt: skip


@pytest.fixture
def rows() -> Array:
    drawn = np.random.default_rng(1).normal(size=(500, 3))
    drawn[:, 1] = 50 + drawn[:, 0] + 2 * drawn[:, 1]
    return drawn


@pytest.mark.parametrize("centre", [[0.0, 50.0, 0.0], [0.3, 47.0, 0.0]])
def test_egadp_keeps_moments_and_adds_nothing_to_x(spec: Spec, rows: Array, centre: list[float]) -> None:
    told = summed(rows, np.array(centre))
    intercept, on_s, on_x, on_v = solve(spec(), told)
    s, x, v = (rows - np.array(centre)).T
    y = centre[1] + intercept + on_s * s + on_x * x + on_v * v
    assert y.mean() == pytest.approx(rows[:, 1].mean(), abs=1e-9)
    np.testing.assert_allclose(np.cov(rows[:, 0], y), np.cov(rows[:, 0], rows[:, 1]), rtol=1e-9)
    residual = y - np.polyval(np.polyfit(rows[:, 0], y, 1), rows[:, 0])
    assert np.corrcoef(residual, rows[:, 1])[0, 1] == pytest.approx(0, abs=1e-9)


def test_too_few_or_constant_rows_are_refused(spec: Spec, rows: Array) -> None:
    centre = np.array([0.0, 50.0, 0.0])
    with pytest.raises(PpduckError, match="only 2 rows have every conf column present; at least 3 are needed"):
        solve(spec(), summed(rows[:2], centre))
    rows[:, 1] = 50.0
    with pytest.raises(PpduckError, match='conf column "x" is constant over the rows that have every conf column'):
        solve(spec(), summed(rows, centre))


def test_no_row_needs_a_look_where_none_can_reach_the_limit(spec: Spec, rows: Array) -> None:
    told = summed(rows, np.array([0.0, 50.0, 0.0]))
    narrow = Summed(*(getattr(told, each) for each in Summed.__dataclass_fields__))
    assert levers(spec(), narrow) is None
    rows[0, :2] = (1000.0, 5.0)
    told = summed(rows, np.array([0.0, 50.0, 0.0]))
    limit, *weights = levers(spec(), Summed(*(getattr(told, each) for each in Summed.__dataclass_fields__))) or []
    assert 0 < limit < 1
    assert len(weights) == 2 * 3


def test_a_dominant_row_is_refused(spec: Spec, rows: Array) -> None:
    rows[0, 1] = 1e5
    with pytest.raises(PpduckError, match='a single row makes up more than 80 % of the variance of conf column "x"'):
        solve(spec(), summed(rows, np.array([0.0, 50.0, 0.0])))
    told = replace(summed(rows, np.array([0.0, 50.0, 0.0])), group="bank = 3")
    with pytest.raises(PpduckError, match='conf column "x" in the group bank = 3'):
        solve(spec(), told)
