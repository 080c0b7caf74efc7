"""Sufficiency-based noise: the 25-row example of the paper, figure by figure, and its refusals."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

from tests.laws import assert_same_moments, cross_correlation, insert, matrix, r_squared, random_table, residuals
from tests.masks.examples import FOUR_COLUMNS, four_columns

pytestmark = pytest.mark.core
NAMES = ["s1", "s2", "x1", "x2"]


@pytest.fixture
def example(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    values = four_columns()
    assert np.abs(values - FOUR_COLUMNS).max() < 1e-4, "the exact example must still be the printed one"
    insert(con, "t", NAMES, values)
    return con


def released(con: duckdb.DuckDBPyConnection, parameter: str) -> np.ndarray:
    call = f"sufficiency_mask('t', conf=['x1','x2'], {parameter}, nonconf=['s1','s2'], key='id')"
    return matrix(con, f"SELECT s1, s2, x1, x2 FROM {call} ORDER BY id")


@pytest.mark.parametrize(
    ("alpha", "noise", "explained"),
    [
        ((0.9, 0.9), [[0.1591, 0.0891], [0.0891, 0.1728]], (0.840875, 0.827219)),
        ((0.8, 0.3), [[0.3015, 0.3563], [0.3563, 0.8275]], (0.783402, 0.264656)),
        ((0.0, 0.0), [[0.8375, 0.4688], [0.4688, 0.9094]], (0.162501, 0.090624)),
    ],
)
def test_printed_noise_covariance_and_value_disclosure(
    example: duckdb.DuckDBPyConnection,
    alpha: tuple[float, float],
    noise: list[list[float]],
    explained: tuple[float, float],
) -> None:
    original = matrix(example, "SELECT s1, s2, x1, x2 FROM t ORDER BY id")
    masked = released(example, f"alpha={{'x1': {alpha[0]}, 'x2': {alpha[1]}}}")
    assert_same_moments(original, masked)
    s, x, y = original[:, :2], original[:, 2:], masked[:, 2:]
    r = residuals(x, s)
    e = y - (x - r) - r * np.array(alpha)
    assert cross_correlation(e, original) < 1e-9
    assert np.cov(e.T).round(4).tolist() == noise
    for j in range(2):
        assert round(r_squared(x[:, j], np.column_stack([s, y])), 6) == explained[j]
        assert round(r_squared(x[:, j], s), 6) == (0.162501, 0.090624)[j]


def test_alpha_that_leaves_no_covariance_for_the_noise_is_refused(example: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r'sufficiency_mask on "t": with alpha \{x1: 0.9, x2: 0.2\} the noise covariance would be '
        r"\[\[0.1591, 0.3844\], \[0.3844, 0.8730\]\], which is not positive definite \(smallest eigenvalue -0.0085\)",
    ):
        released(example, "alpha={'x1': 0.9, 'x2': 0.2}")


def test_printed_regressions_before_and_after(example: duckdb.DuckDBPyConnection) -> None:
    """Regression of X1 on S1, S2 and of S1 on the rest, as printed, from original and masked rows."""
    original = matrix(example, "SELECT s1, s2, x1, x2 FROM t ORDER BY id")
    for table in (original, released(example, "alpha=0.9"), released(example, "alpha={'x1': 0.8, 'x2': 0.3}")):
        assert printed_regression(table[:, 2], table[:, :2]) == {
            "coefficients": [0.0, -0.0625, 0.4375],
            "sums of squares": [3.90005, 20.10004, 24.00008],
            "standard error": 0.955844,
            "r squared": 0.162501,
        }
        found = printed_regression(table[:, 0], table[:, 1:])
        assert found["coefficients"] == [0.0, 0.52084, 0.08333, -0.22916]
        assert found["sums of squares"] == [9.55006, 14.44998, 24.00004]
        assert round(found["standard error"], 5) == 0.82951
        assert round(found["r squared"], 5) == 0.39792


def printed_regression(y: np.ndarray, x: np.ndarray) -> dict[str, Any]:
    """A regression with the digits that the slides print."""
    design = np.column_stack([np.ones(len(y)), x])
    fitted = np.linalg.lstsq(design, y, rcond=None)[0]
    left, total = ((y - design @ fitted) ** 2).sum(), ((y - y.mean()) ** 2).sum()
    return {
        "coefficients": [round(float(value), 5) + 0.0 for value in fitted],
        "sums of squares": [round(float(value), 5) for value in (total - left, left, total)],
        "standard error": round(float(np.sqrt(left / (len(y) - design.shape[1]))), 6),
        "r squared": round(float(1 - left / total), 6),
    }


def test_printed_principal_components_before_and_after(example: duckdb.DuckDBPyConnection) -> None:
    printed = np.array([
        [0.6249, -0.1695, 0.7304, -0.2173],
        [0.6606, 0.0317, -0.3625, 0.6567],
        [0.3613, 0.6551, -0.3286, -0.5765],
        [-0.2062, 0.7356, 0.4766, 0.4350],
    ])  # fmt: skip
    original = matrix(example, "SELECT s1, s2, x1, x2 FROM t ORDER BY id")
    for table in (original, released(example, "alpha=0.9")):
        values, vectors = np.linalg.eigh(np.corrcoef(table.T))
        assert values[::-1].round(4).tolist() == [1.8489, 1.4167, 0.4165, 0.3179]
        vectors = vectors[:, ::-1]
        vectors *= np.sign((vectors * printed).sum(axis=0))
        # The slides' two printings of this table differ by one in the last digit, so that much is theirs.
        np.testing.assert_allclose(vectors, printed, atol=1.5e-4)


def test_alpha_zero_has_the_laws_of_egadp_and_alpha_near_one_stays_near(example: duckdb.DuckDBPyConnection) -> None:
    original = matrix(example, "SELECT s1, s2, x1, x2 FROM t ORDER BY id")
    correlations = []
    for alpha in (0.0, 0.5, 0.9, 0.999):
        masked = released(example, f"alpha={alpha}")
        assert_same_moments(original, masked)
        correlations.append(np.corrcoef(original[:, 2], masked[:, 2])[0, 1])
    assert correlations == sorted(correlations)
    assert correlations[-1] > 0.998


def test_level_sets_the_share_of_noise_variance(con: duckdb.DuckDBPyConnection) -> None:
    values = random_table(np.random.default_rng(8), 400, 2, 1) + np.random.default_rng(1).normal(size=(400, 3)) * 4
    insert(con, "t", ["s1", "s2", "x1"], values)
    call = "sufficiency_mask('t', conf=['x1'], level=0.10, nonconf=['s1','s2'], key='id')"
    masked = matrix(con, f"SELECT s1, s2, x1 FROM {call} ORDER BY id")
    assert_same_moments(values, masked)
    # What is left of Y after regression on everything that the owner has is the noise.
    noise = residuals(masked[:, 2:], values)
    assert float(noise.var() / values[:, 2].var()) == pytest.approx(0.10, rel=1e-9)


def test_paper_alpha_for_ten_percent_noise(con: duckdb.DuckDBPyConnection) -> None:
    """var(X) = 1.2761 and var(ε) = 0.10322 at α = 0.9 ask for α = 0.8747 to get exactly 10 % noise."""
    residual = 0.10322 / (1 - 0.9**2) / 1.2761
    values = random_table(np.random.default_rng(9), 200, 1, 1)
    s = (values[:, :1] - values[:, :1].mean()) / values[:, :1].std()
    r = residuals(values[:, 1:], s)
    x = np.sqrt(1 - residual) * s + np.sqrt(residual) * r / r.std()
    insert(con, "t", ["s", "x"], np.column_stack([s, x]))
    masked = matrix(
        con, "SELECT x FROM sufficiency_mask('t', conf=['x'], level=0.10, nonconf=['s'], key='id') ORDER BY id"
    )
    own = residuals(x, s)
    alpha = float((residuals(masked, s) * own).sum() / (own * own).sum())
    assert round(alpha, 4) == 0.8747


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("alpha=1.5", r"alpha must be from 0 to 0\.999999: .*, got 1\.5"),
        ("alpha=-0.1", r"alpha must be from 0 to 0\.999999: .*, got -0\.1"),
        ("alpha={'x1': 0.5, 'x2': 2}", r"alpha must be from 0 to 0\.999999.*, got \{'x1': 0.5, 'x2': 2\}"),
        ("alpha={'x1': 0.5}", r'alpha says nothing of conf column "x2"'),
        ("alpha={'x1': 0.5, 'x2': 0.5, 'x3': 0.5}", r'alpha names column "x3", which is not in conf. Did you mean'),
        ("alpha='high'", r"alpha takes a number from 0 to 0\.999999"),
        ("alpha=0.5, level=0.1", r"give either alpha .* or level"),
        ("seed=1", r"give either alpha .* or level"),
        ("alpha=0.999999", r"not positive definite \(smallest eigenvalue 0.0000\).*alpha that are .* or lower\."),
        ("level=1e-6", r"not positive definite \(smallest eigenvalue 0.0000\).*levels that are .* or higher\."),
        ("alpha=1", r"alpha must be from 0 to 0\.999999: at 1 the confidential values would pass through, got 1"),
        (
            "level=0.95",
            r'level 0.95 is more noise than conf column "x1" has room for: .* leave 0.837499 of its variance',
        ),
        ("level=-1", r"level must be from 0\.000001 to 1: .*, got -1"),
    ],
)
def test_refused_parameters(example: duckdb.DuckDBPyConnection, parameter: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        released(example, parameter)


def test_columns_of_alpha_are_found_whatever_their_case(example: duckdb.DuckDBPyConnection) -> None:
    masked = released(example, "alpha={'X1': 0.8, 'x2': 0.3}")
    assert_same_moments(matrix(example, "SELECT s1, s2, x1, x2 FROM t ORDER BY id"), masked)
