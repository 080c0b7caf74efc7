"""How far chance moves correlations of what is left of X and Y where rows differ in spread, as skewed columns do.

ρ² of two columns that have nothing to do with each other is about χ²/n if every row has the same spread. Where S tells
the spread of both, few rows decide: E(x²y²) is κ E(x²) E(y²), and ρ² is κ times as far from 0 (White 1980).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ppduck.kernels.prediction import canonical_correlation, root_by_chance
from ppduck.values import Array, Moments

# A stratum has at least 25 rows, and at least 5 for each term of the line that is fitted in it.
FEWEST_IN_STRATUM, ROWS_PER_TERM = 25, 5
STEPS = 30  # of the power method; the largest eigenvalue is needed to a few per cent


def wider_by_chance(rows: Array, p: int, q: int, of: Sequence[int]) -> float:
    """κ, at least 1, for the columns ``of`` of X and all of Y given S; rows are [S, X, Y], p and q columns wide.

    κ is large too where a release copies few large values and much else. So all rows are put on one footing first:
    in strata of E(X|S) what a line leaves is divided by its spread. If X and Y agree there beyond chance, the release
    tells of X, no large value excuses it, and κ is 1.
    """
    n = len(rows)
    left, told = _left(rows[:, p:], rows[:, :p])
    size = max(FEWEST_IN_STRATUM, math.isqrt(n), ROWS_PER_TERM * (p + 1))
    strata = max(1, n // size)
    even = np.empty_like(left)
    for j in range(q):
        for stratum in np.array_split(np.argsort(told[:, j], kind="stable"), strata):
            own = np.ix_(stratum, np.array([j, q + j]))
            rest, _ = _left(left[own], rows[stratum, :p])
            spread = np.sqrt((rest**2).mean(axis=0))
            even[own] = rest / np.where(spread > 0, spread, 1.0)
    x, y = list(of), list(range(q, 2 * q))
    shown = canonical_correlation(Moments.of(even), x, y) ** 2
    free = n - strata * (p + 1) + 1
    if shown > root_by_chance(free, 0, q, len(x)) * _inflation(even[:, x], even[:, y]):
        return 1.0
    return _inflation(left[:, x], left[:, y])


def _left(values: Array, by: Array) -> tuple[Array, Array]:
    """What a line of some columns leaves of others, and what it tells."""
    centred = by - by.mean(axis=0)
    scale = np.abs(centred).max(axis=0, initial=0.0)
    terms = np.column_stack([np.ones(len(by)), centred[:, scale > 0] / scale[scale > 0]])
    basis, sizes, _ = np.linalg.svd(terms, full_matrices=False)
    basis = basis[:, sizes > 1e-10 * sizes[0]]
    told = basis @ (basis.T @ values)
    return values - told, told


def _inflation(x: Array, y: Array) -> float:
    """max E((a·x)² (b·y)²) over combinations of variance 1, bounded by the largest eigenvalue of E((x⊗y)(x⊗y)ᵀ)."""
    x, y = _white(x), _white(y)
    if not x.size or not y.size:
        return 1.0
    found, vector = 1.0, np.ones((x.shape[1], y.shape[1]))
    for _ in range(STEPS):
        vector = vector / np.linalg.norm(vector)
        vector = x.T @ (((x @ vector) * y).sum(axis=1)[:, None] * y) / len(x)
        found = float(np.linalg.norm(vector))
        if found == 0:
            break
    return max(1.0, found)


def _white(values: Array) -> Array:
    basis, sizes, _ = np.linalg.svd(
        values / np.maximum(np.abs(values).max(axis=0), 1e-300), full_matrices=False
    )
    return np.asarray(basis[:, sizes > 1e-5 * max(sizes[0], 1e-300)] * math.sqrt(len(values)))
