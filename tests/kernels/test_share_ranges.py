"""Ranges of shares are those of scipy, and those of differences cover what they should."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ppduck.kernels.share_ranges import difference, wilson

pytestmark = pytest.mark.core


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (1, 1), (3, 10), (50, 100), (999, 1000)])
def test_a_share_has_the_range_that_scipy_gives(hits: int, n: int) -> None:
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson(hits / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_independent_shares_square_and_add() -> None:
    (low, high), (other_low, other_high) = wilson(0.7, 60), wilson(0.4, 60)
    down, up = np.hypot(0.7 - low, other_high - 0.4), np.hypot(high - 0.7, 0.4 - other_low)
    assert difference(0.7, 0.4, 60) == pytest.approx((0.3 - down, 0.3 + up))


@pytest.mark.parametrize("common", [0.3, 0.4, 0.55])
def test_a_difference_of_the_same_rows_is_covered(common: float) -> None:
    """Of 2,000 tables of 80 rows, 95 % within a few standard errors, whatever both shares have in common."""
    rng = np.random.default_rng(7)
    cells = [common, 0.75 - common, 0.55 - common]
    covered = 0
    for counts in rng.multinomial(80, [*cells, max(1 - sum(cells), 0)], 2000):
        one, other, both = (counts[0] + counts[1]) / 80, (counts[0] + counts[2]) / 80, counts[0] / 80
        lower, upper = difference(one, other, 80, both)
        covered += lower <= 0.2 <= upper
    assert 0.93 < covered / 2000 <= 1


def test_what_goes_together_is_told_more_closely() -> None:
    apart, together = difference(0.6, 0.5, 100), difference(0.6, 0.5, 100, 0.5)
    assert apart[0] < together[0] < 0.1 < together[1] < apart[1]


def test_shares_without_spread_have_no_correlation() -> None:
    assert difference(1.0, 0.0, 4, 0.0) == difference(1.0, 0.0, 4)
    assert difference(0.0, 0.0, 9)[0] == pytest.approx(-difference(0.0, 0.0, 9)[1])
