"""Values solved from differences of exact sums (a tracker: Denning, Denning & Schwartz 1979).

A mask that keeps Σ f·x exactly, for f = 1 and for every open column, publishes it twice: once over the rows of one
release, once over those of another. What cancels leaves one linear equation a sum in the values of the rows that only
one of them has. An unknown is known where the equations' row space holds its axis, though others may stay open.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.interrupts import check_interrupt
from ppduck.values import Array

# Singular values below this share of the largest, and parts of an axis outside the row space below this, are rounding.
ROUNDING = 1e-9
# What exact sums may differ by, in standard deviations of a column.
EXACT = 1e-5
_MOST_TRIED = 2_000  # choices of equations


@frozen
class Solved:
    """The unknowns, of which some are known; equations beyond those needed, and how far they are from agreeing."""

    values: Array
    known: npt.NDArray[np.bool_]
    spare: int
    misfit: float

    @property
    def agrees(self) -> bool:
        """Whether the sums are exact, as far as spare equations can tell."""
        return self.misfit <= EXACT


def solved(weights: Array, totals: Array) -> Solved:
    """The least solution of weights · x = totals; each equation in units of its own column."""
    equations, unknowns = weights.shape
    if not unknowns:
        return Solved(np.zeros(0), np.zeros(0, dtype=bool), equations, _largest(totals))
    left, sizes, right = np.linalg.svd(weights, full_matrices=False)
    rank = int(np.sum(sizes > ROUNDING * max(float(sizes[0]), 1e-300)))
    left, sizes, right = left[:, :rank], sizes[:rank], right[:rank]
    values = right.T @ ((left.T @ totals) / sizes)
    outside = 1.0 - np.sum(right**2, axis=0)
    misfit = _largest(weights @ values - totals) if equations > rank else 0.0
    return Solved(values, outside <= ROUNDING, equations - rank, misfit)


def agreeing(weights: Array, totals: Array) -> npt.NDArray[np.bool_]:
    """Which equations agree: all, or the most that one solution of some of them fits, with at least one to spare.

    A mask keeps the sums of those columns only that it was told of; that others fit by chance, to five digits, is out
    of the question. None are found where none agree, or where there are too many choices to try.
    """
    equations, unknowns = weights.shape
    found = solved(weights, totals)
    if found.agrees:
        return np.ones(equations, dtype=bool)
    best = np.zeros(equations, dtype=bool)
    if comb(equations, unknowns) > _MOST_TRIED:
        return best
    for chosen in combinations(range(equations), unknowns):
        check_interrupt()
        part = solved(weights[list(chosen)], totals[list(chosen)])
        fits = np.abs(weights @ part.values - totals) <= EXACT
        if part.known.all() and fits.sum() > max(unknowns, int(best.sum())):
            best = fits
    return best


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))
