"""Ranges of shares and of their differences: figures of the papers, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ppduck.kernels.score_ranges import difference, halves, of_r2, of_same_people, of_shares, of_two_groups, wilson

pytestmark = pytest.mark.core
SHARES = st.floats(0, 1)


@pytest.mark.parametrize(
    ("count", "n", "lower", "upper"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_has_the_figures_of_newcombe(count: int, n: int, lower: float, upper: float) -> None:
    """Newcombe (1998), Two-sided confidence intervals for the single proportion, Table I."""
    assert wilson(count / n, n) == pytest.approx((lower, upper), abs=5e-5)


@pytest.mark.parametrize(
    ("a", "m", "b", "n", "lower", "upper"),
    [(56, 70, 48, 80, 0.0524, 0.3339), (9, 10, 3, 10, 0.1705, 0.8090), (10, 10, 0, 20, 0.6791, 1.0)],
)
def test_differences_have_the_figures_of_newcombe(a: int, m: int, b: int, n: int, lower: float, upper: float) -> None:
    """Newcombe (1998), Interval estimation for the difference between independent proportions, Table II, method 10."""
    assert of_two_groups(a / m, m, b / n, n) == pytest.approx((lower, upper), abs=5e-5)


@given(SHARES, st.integers(0, 5000))
def test_a_range_holds_its_share(share: float, n: int) -> None:
    low, high = wilson(share, n)
    assert 0 <= low <= share <= high <= 1


def test_outcomes_of_the_same_people_that_agree_are_known_better() -> None:
    rng = np.random.default_rng(0)
    one = (rng.random(500) < 0.4).astype(float)
    other = np.where(rng.random(500) < 0.9, one, 1 - one)
    low, high = of_same_people(one, other)
    apart = of_two_groups(one.mean(), 500, other.mean(), 500)
    assert apart[0] < low < one.mean() - other.mean() < high < apart[1]
    low, high = of_same_people(one, one)
    assert low < 0 < high
    assert high - low < 0.02


@pytest.mark.parametrize(("p", "agree"), [(0.1, 0.95), (0.4, 0.8), (0.02, 0.99)])
def test_the_range_of_the_same_people_holds_in_95_of_100(p: float, agree: float) -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(1000):
        one = (rng.random(400) < p).astype(float)
        other = np.where(rng.random(400) < agree, one, (rng.random(400) < p).astype(float))
        low, high = of_same_people(one, other)
        held += low <= 0 <= high
    assert held > 935


def test_nobody_tells_nothing() -> None:
    assert wilson(0.0, 0) == (0.0, 1.0)
    assert of_r2(0.5, 3) == (0.0, 1.0)


def test_r2_has_the_range_of_its_correlation() -> None:
    """Fisher's range of r = 0.5 of 103 rows: tanh(0.5493 ± 0.196)."""
    low, high = of_r2(0.25, 103)
    assert (low, high) == pytest.approx(
        (np.tanh(0.549306 - 0.195996) ** 2, np.tanh(0.549306 + 0.195996) ** 2), abs=1e-5
    )
    assert of_r2(1.0, 100) == (1.0, 1.0)
    assert of_r2(0.0, 100)[0] == 0


def test_a_known_figure_adds_nothing_to_a_range() -> None:
    low, high = difference(0.3, wilson(0.3, 100), 0.1, (0.1, 0.1))
    assert (low + 0.1, high + 0.1) == pytest.approx(wilson(0.3, 100))


def test_halves_are_all_people_once() -> None:
    one, other = halves(7)
    assert sorted([*one, *other]) == list(range(7))


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (1, 1), (3, 10), (50, 100), (999, 1000)])
def test_a_share_has_the_range_that_scipy_gives(hits: int, n: int) -> None:
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson(hits / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_independent_shares_square_and_add() -> None:
    (low, high), (other_low, other_high) = wilson(0.7, 60), wilson(0.4, 60)
    down, up = np.hypot(0.7 - low, other_high - 0.4), np.hypot(high - 0.7, 0.4 - other_low)
    assert of_shares(0.7, 0.4, 60) == pytest.approx((0.3 - down, 0.3 + up))


@pytest.mark.parametrize("common", [0.3, 0.4, 0.55])
def test_a_difference_of_the_same_rows_is_covered(common: float) -> None:
    """Of 2,000 tables of 80 rows, 95 % within a few standard errors, whatever both shares have in common."""
    rng = np.random.default_rng(7)
    cells = [common, 0.75 - common, 0.55 - common]
    covered = 0
    for counts in rng.multinomial(80, [*cells, max(1 - sum(cells), 0)], 2000):
        one, other, both = (counts[0] + counts[1]) / 80, (counts[0] + counts[2]) / 80, counts[0] / 80
        lower, upper = of_shares(one, other, 80, both)
        covered += lower <= 0.2 <= upper
    assert 0.93 < covered / 2000 <= 1


def test_what_goes_together_is_told_more_closely() -> None:
    apart, together = of_shares(0.6, 0.5, 100), of_shares(0.6, 0.5, 100, 0.5)
    assert apart[0] < together[0] < 0.1 < together[1] < apart[1]


def test_shares_without_spread_have_no_correlation() -> None:
    assert of_shares(1.0, 0.0, 4, 0.0) == of_shares(1.0, 0.0, 4)
    assert of_shares(0.0, 0.0, 9)[0] == pytest.approx(-of_shares(0.0, 0.0, 9)[1])
