"""What two masked values of the same number tell together.

With independent noise the best line through both has R² = V/(V + v/2) where one has V/(V + v), V the variance that
open columns leave and v that of the noise. Without the original, the correlation of both given the open columns is
V/(V + v) itself, and 2ρ/(1 + ρ) that of their mean (Spearman 1910; Brown 1910).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, sqrt, tanh

import numpy as np

from ppduck.kernels.prediction import DEPENDENT
from ppduck.libraries import special
from ppduck.values import Array, Moments

LEVEL = 0.95
CHANCE = 1e-3  # how often a correlation of nothing is to be taken for one


def gain_range(both: float, one: float, n: int, level: float = LEVEL) -> tuple[float, float]:
    """The range of R² by both less R² by one of them, by the delta method (Olkin & Finn 1995).

    The predictions have correlation √(one/both), as one is nested in the other. Near a gain of nothing that variance
    vanishes, and what chance alone makes of another column, (1 - R²)·χ²₁/n, is left.
    """
    a, b = sqrt(both), sqrt(one)
    between = b / a if a > 0 else 1.0
    common = 0.5 * (2 * between - a * b) * (1 - both - one - between**2) + between**3
    variance = 4 * both * (1 - both) ** 2 + 4 * one * (1 - one) ** 2 - 8 * a * b * common
    chance = 2 * ((1 - one) / n) ** 2
    reach = float(special.ndtri((1 + level) / 2)) * sqrt(max(variance, 0.0) / n + chance)
    return both - one - reach, both - one + reach


def of_mean(reliability: float) -> float:
    """R² of a value by the mean of two, from that by one of them."""
    return 2 * reliability / (1 + reliability)


def mean_gain_range(reliability: float, n: int, level: float = LEVEL) -> tuple[float, float]:
    """The range of what the mean gains, from that of the correlation by Fisher's z."""
    reach = float(special.ndtri((1 + level) / 2)) / sqrt(max(n - 3, 1))
    low, high = (
        min(max(tanh(atanh(min(reliability, 1 - 1e-15)) + way), 0.0), 1.0)
        for way in (-reach, reach)
    )
    # The gain rises up to ρ = √2 - 1, and falls from there on.
    peak = sqrt(2) - 1
    ends = [of_mean(end) - end for end in (low, high)]
    return min(ends), max([*ends, *([of_mean(peak) - peak] if low < peak < high else [])])


def by_chance(n: int, given: int) -> float:
    """The correlation that nothing has in one of a thousand tables, once so many columns are known."""
    return tanh(float(special.ndtri(1 - CHANCE)) / sqrt(max(n - given - 3, 1)))


def residual_correlation(moments: Moments, one: int, other: int, given: Sequence[int]) -> float:
    """The correlation of what two columns have left once others are known; 0 where one has nothing left."""
    pair, known = [one, other], list(given)
    scale = np.sqrt(np.maximum(np.diag(moments.cross), 0.0))
    cross = moments.cross / np.outer(*(np.where(scale > 0, scale, 1.0),) * 2)
    left: Array = cross[np.ix_(pair, pair)]
    if known:
        across = cross[np.ix_(known, pair)]
        slopes = np.linalg.lstsq(cross[np.ix_(known, known)], across, rcond=DEPENDENT)[0]
        left = left - across.T @ slopes
    if min(left[0, 0], left[1, 1]) <= DEPENDENT:
        return 0.0
    return float(np.clip(left[0, 1] / sqrt(left[0, 0] * left[1, 1]), -1.0, 1.0))
