"""95 % ranges of shares and of their differences, from Wilson's score.

Wilson (1927) solves |p - P| = z √(P(1 - P)/n) for P. Newcombe (1998) makes of two such ranges that of the difference
of the shares: p1 - p2 minus √((p1 - l1)² + (u2 - p2)²), and likewise above; where both are of the same people, with
- 2 φ (p1 - l1)(u2 - p2) beneath the root, φ the correlation of the two outcomes. Zou & Donner (2008) show that the same
holds of any two estimates that have ranges, such as two R².
"""

from __future__ import annotations

from math import atanh, sqrt, tanh

import numpy as np
import numpy.typing as npt

from ppduck.values import Array

Z = 1.959963984540054  # of the normal distribution, 2.5 % lie above

Range = tuple[float, float]


def wilson(share: float, n: float) -> Range:
    """The range of a share of ``n``; all from 0 to 1 where there is nobody."""
    if n <= 0:
        return 0.0, 1.0
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def difference(one: float, of_one: Range, other: float, of_other: Range, phi: float = 0.0) -> Range:
    """The range of one - other, each of which has a range, with correlation φ."""
    down, up = one - of_one[0], of_one[1] - one
    other_down, other_up = other - of_other[0], of_other[1] - other
    below = down * down + other_up * other_up - 2 * phi * down * other_up
    above = up * up + other_down * other_down - 2 * phi * up * other_down
    apart = one - other
    return apart - sqrt(max(below, 0.0)), apart + sqrt(max(above, 0.0))


def of_two_groups(one: float, n_one: float, other: float, n_other: float) -> Range:
    """The range of the difference of shares of different people."""
    return difference(one, wilson(one, n_one), other, wilson(other, n_other))


def of_same_people(one: Array, other: Array) -> Range:
    """The range of the difference of means of two outcomes from 0 to 1, each person having both."""
    n = len(one)
    p, q = float(one.mean()), float(other.mean())
    return difference(p, wilson(p, n), q, wilson(q, n), _phi(one, other))


def of_shares(one: float, other: float, n: int, both: float | None = None) -> Range:
    """The same from two shares of n people; ``both`` is the share of those that count in either.

    Without it they are taken for independent, which makes the range wider where they go together.
    """
    spread = one * (1 - one) * other * (1 - other)
    phi = 0.0 if both is None or spread <= 0 else (both - one * other) / sqrt(spread)
    return difference(one, wilson(one, n), other, wilson(other, n), phi)


def _phi(one: Array, other: Array) -> float:
    """φ of the fourfold table, drawn towards 0 by half a person where it is above."""
    n = len(one)
    both, only_one = float(one @ other), float(one @ (1 - other))
    only_other = float((1 - one) @ other)
    neither = n - both - only_one - only_other
    sides = (both + only_one) * (only_other + neither) * (both + only_other) * (only_one + neither)
    if sides <= 0:
        return 0.0
    product = both * neither - only_one * only_other
    return (max(product - n / 2, 0.0) if product > 0 else product) / sqrt(sides)


def of_r2(r2: float, n: float) -> Range:
    """The range of a squared correlation, by Fisher's (1921) atanh of its root."""
    if n <= 3:
        return 0.0, 1.0
    r = sqrt(min(max(r2, 0.0), 1.0))
    if r >= 1:
        return 1.0, 1.0
    middle, half = atanh(r), Z / sqrt(n - 3)
    return tanh(max(middle - half, 0.0)) ** 2, tanh(middle + half) ** 2


def halves(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Every other place, and the rest: what is chosen by one half is judged by the other."""
    places = np.arange(n)
    return places[::2], places[1::2]
