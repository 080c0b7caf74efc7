"""Ranges of association measures: coverage simulated, ends where they belong, and why there is none."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ppduck.kernels.association import RATIOS, measures_for, value
from ppduck.kernels.association_ranges import BORDER, FEW, UNDEFINED, ranges
from ppduck.kernels.distortion import along_axes, half_width, uniform
from ppduck.values import Array

DRAWS, ROWS = 4_000, 5_822
REACH = half_width(0.95, "normal")
TABLES = {
    "2x2 dense": np.array([[2458.0, 282.0], [2248.0, 834.0]]),  # A and B of COIL
    "2x2 sparse": np.array([[85.0, 5.0], [6.0, 4.0]]),
    "2x2 strong": np.array([[48.0, 2.0], [3.0, 47.0]]),
    "2x2 opposed": np.array([[10.0, 40.0], [45.0, 5.0]]),
    "2x2 independent": np.outer([6.0, 4.0], [7.0, 3.0]),
    "3x3 dense": np.array([[20.0, 5.0, 5.0], [5.0, 25.0, 5.0], [5.0, 5.0, 25.0]]),
    "3x3 sparse": np.array([[70.0, 5.0, 2.0], [6.0, 5.0, 2.0], [5.0, 2.0, 3.0]]),
    "3x3 independent": np.outer([5.0, 3.0, 2.0], [4.0, 4.0, 2.0]),
}
MEASURES = sorted({(table, name) for table in TABLES for name in measures_for(TABLES[table].shape)})


@cache
def drawn(table: str, p: float, rows: int = ROWS) -> tuple[Array, Array, Array]:
    """The true table, and unbiased estimates from so many randomized samples of it with their covariances."""
    truth = TABLES[table] / TABLES[table].sum()
    matrices = [uniform(p, size) for size in truth.shape]
    rng = np.random.default_rng(9)
    published = rng.multinomial(rows, along_axes(truth, matrices).ravel(), size=DRAWS) / rows
    inverse = np.kron(*(np.linalg.inv(matrix) for matrix in matrices))
    estimates = published @ inverse.T
    spread = np.einsum("ij,bj,kj->bik", inverse, published, inverse)
    covariances = (spread - estimates[:, :, None] * estimates[:, None]) / (rows - 1)
    return truth, estimates.reshape(-1, *truth.shape), covariances


@pytest.mark.parametrize("rows", [1_000, ROWS])
@pytest.mark.parametrize("p", [0.65, 0.9])
@pytest.mark.parametrize(("table", "name"), MEASURES)
def test_ranges_cover_as_often_as_they_say(table: str, name: str, p: float, rows: int) -> None:
    """4,000 draws: a standard error of 0.0034 at 0.95. Draws at the border have no range of measures with logarithms; the
    others may cover more often than they say. So does the odds ratio, whose range is of two kinds near the border."""
    truth, estimates, covariances = drawn(table, p, rows)
    true = value(measures_for(truth.shape)[name], truth, rows)
    found = ranges(name, estimates, covariances, rows, REACH)
    given = np.equal(found.why, None)
    assert (given == ~np.isnan(found.lower)).all()
    assert (given == ~np.isnan(found.upper)).all()
    covered = ((found.lower <= true + 1e-12) & (true - 1e-12 <= found.upper))[given].mean()
    assert covered > 0.93
    if given.all() and name != "odds_ratio":
        assert covered < 0.98
    assert given.mean() > (0.25 if p == 0.65 else 0.9 if table == "2x2 strong" else 0.98)


def test_ratios_are_never_negative_and_shares_never_above_1() -> None:
    for table in ("2x2 dense", "2x2 sparse"):
        _, estimates, covariances = drawn(table, 0.65, 1_000)
        for name in RATIOS:
            found = ranges(name, estimates, covariances, 1_000, REACH)
            if name in ("odds_ratio", "interest", "conviction", "collective_strength", "jaccard", "cosine", "laplace"):
                assert np.nanmin(found.lower) >= 0, name
            if name in ("jaccard", "cosine", "laplace", "phi", "kappa", "risk_difference", "added_value", "certainty"):
                assert np.nanmax(found.upper) <= 1, name


def one(name: str, table: list[list[float]], p: float, rows: int = 1_000) -> tuple[float, float, str | None]:
    """The range of a measure where the estimate is exactly this table."""
    truth = np.array(table)
    matrices = [uniform(p, size) for size in truth.shape]
    inverse = np.kron(*(np.linalg.inv(matrix) for matrix in matrices))
    published = along_axes(truth, matrices).ravel()
    covariance = (inverse * published @ inverse.T - np.outer(truth.ravel(), truth.ravel())) / (rows - 1)
    found = ranges(name, truth[None], covariance[None], rows, REACH)
    return float(found.lower[0]), float(found.upper[0]), found.why[0]


def test_the_odds_ratio_has_its_range_on_the_log_scale() -> None:
    """Woolf's (1955) where nothing is randomized: the variance of the logarithm is the sum of 1/n over the cells."""
    lower, upper, why = one("odds_ratio", [[0.4, 0.1], [0.2, 0.3]], 1.0, 1_000)
    error = np.sqrt((1 / 400 + 1 / 100 + 1 / 200 + 1 / 300) * 1_000 / 999)
    assert (lower, upper, why) == (
        pytest.approx(6 * np.exp(-REACH * error)),
        pytest.approx(6 * np.exp(REACH * error)),
        None,
    )


def test_a_ratio_whose_divisor_may_be_0_has_no_upper_end() -> None:
    lower, upper, why = one("conviction", [[0.5, 0.1], [0.02, 0.38]], 0.65, 500)
    assert 0 < lower < 0.4 * 0.52 / 0.02
    assert (upper, why) == (np.inf, None)


def test_fieller_is_the_plain_range_where_the_divisor_is_known() -> None:
    lower, upper, _ = one("piatetsky_shapiro", [[0.4, 0.1], [0.2, 0.3]], 0.9)
    assert (lower + upper) / 2 == pytest.approx(0.3 - 0.5 * 0.4)


def test_at_independence_the_range_of_chi2_is_that_of_its_law() -> None:
    """With nothing randomized χ² has one degree of freedom: mean 1 + θ, variance 2 + 4θ; (0 − 1 − θ)² = z² (2 + 4θ)."""
    lower, upper, _ = one("chi2", np.outer([0.6, 0.4], [0.7, 0.3]).tolist(), 1.0, 10_000)
    half = 2 * REACH**2 - 1
    assert (lower, upper) == (0, pytest.approx(half + np.sqrt(half**2 + half), rel=1e-3))


@pytest.mark.parametrize("name", ["g2", "mutual_information", "uncertainty", "j_measure"])
def test_at_the_border_what_has_logarithms_has_no_range(name: str) -> None:
    lower, upper, why = one(name, [[0.5, 0.0], [0.2, 0.3]], 0.9)
    assert np.isnan([lower, upper]).all()
    assert why == BORDER


@pytest.mark.parametrize(
    "table", [[[0.5, 0.0], [0.2, 0.3]], [[0.48, -0.01], [0.03, 0.5]], [[0.47, -0.01], [-0.01, 0.55]]]
)
def test_an_odds_ratio_that_may_be_infinite_has_a_lower_end(table: list[list[float]]) -> None:
    lower, upper, why = one("odds_ratio", table, 0.9)
    assert 1 < lower < 1_000
    assert (upper, why) == (np.inf, None)


def test_an_odds_ratio_that_may_be_0_has_an_upper_end() -> None:
    lower, upper, why = one("odds_ratio", [[-0.01, 0.5], [0.41, 0.1]], 0.9)
    assert (lower, why) == (0, None)
    assert 0 < upper < 1


def test_few_rows_in_a_published_cell_of_a_2x2_table_leave_no_range() -> None:
    """With one or two rows in the rarest cell π11 - π1 π2 seems surer than it is."""
    truth, matrices, rows = np.array([[0.97, 0.015], [0.01, 0.005]]), [np.eye(2), uniform(0.95, 2)], 300
    published = np.random.default_rng(2).multinomial(rows, along_axes(truth, matrices).ravel(), size=DRAWS)
    inverse = np.kron(*(np.linalg.inv(matrix) for matrix in matrices))
    estimates = published / rows @ inverse.T
    spread = np.einsum("ij,bj,kj->bik", inverse, published / rows, inverse)
    covariances = (spread - estimates[:, :, None] * estimates[:, None]) / (rows - 1)
    asked = ("piatetsky_shapiro", estimates.reshape(-1, 2, 2), covariances, rows, REACH)
    true = 0.005 - 0.015 * 0.02
    without = ranges(*asked)
    assert ((without.lower <= true) & (true <= without.upper)).mean() < 0.9
    found = ranges(*asked, published.min(axis=1))
    withheld = published.min(axis=1) < 5
    assert (np.equal(found.why, FEW) == withheld).all()
    assert (np.isnan(found.lower) == withheld).all()


def test_a_level_that_never_occurs_leaves_nothing_to_say() -> None:
    assert one("phi", [[0.6, 0.4], [0.0, 0.0]], 0.9)[2] == UNDEFINED
