"""How well some columns predict others, from moments alone: canonical correlations and shares of variance.

The security conditions that masks are held to (Sarathy & Muralidhar 2002; Al-Ahmadi 2006, 5.1-5.4): the masked Y must
add nothing to what the open columns S tell of the confidential X, and alone must tell no more than S does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ppduck.libraries import linalg, stats
from ppduck.values import Array, Moments

DEPENDENT = 1e-10  # share of a column's variance below which others determine it
ROUNDING = 1e-9  # what sums of products may lack of being exact
CHANCE = 1e-3  # how often a release that keeps the conditions is to fail for chance
TRACY_WIDOM = 3.2724  # what the Tracy-Widom law of order 1 exceeds that often


def canonical_correlation(moments: Moments, of: Sequence[int], by: Sequence[int]) -> float:
    """The largest correlation of a combination of some columns with one of others.

    With Σ = RᵀR on each side, it is the largest singular value of R_of⁻ᵀ Σ_of,by R_by⁻¹. Columns that others of
    their side determine are left out.
    """
    correlation = _correlation(moments)
    a, b = (_whitening(correlation, side) for side in (of, by))
    if not a.size or not b.size:
        return 0.0
    inner = a @ correlation[np.ix_(list(of), list(by))] @ b.T
    return float(np.clip(linalg.svdvals(inner)[0], 0.0, 1.0))


def explained(moments: Moments, of: Sequence[int], by: Sequence[int]) -> Array:
    """R² of the regression of each column ``of`` on the columns ``by``; 0 for a constant."""
    correlation = _correlation(moments)
    white = _whitening(correlation, by)
    if not white.size:
        return np.zeros(len(of))
    parts = white @ correlation[np.ix_(list(by), list(of))]
    return np.asarray(np.clip((parts**2).sum(axis=0), 0.0, 1.0))


def partial_correlation(
    moments: Moments, of: Sequence[int], by: Sequence[int], given: Sequence[int]
) -> float:
    """The largest canonical correlation of what some columns and others have left, once ``given`` ones are known."""
    correlation = _correlation(moments)
    white = _whitening(correlation, given)
    known = white @ correlation[list(given)] if white.size else np.zeros((0, len(correlation)))
    left = correlation - known.T @ known
    nothing = np.diag(left) < DEPENDENT
    left[nothing], left[:, nothing] = 0.0, 0.0
    return canonical_correlation(Moments(moments.n, moments.mean, left), of, by)


def rank(moments: Moments, by: Sequence[int]) -> int:
    """How many of the columns no others determine."""
    return len(_whitening(_correlation(moments), by))


def gain_by_chance(
    n: int, before: float, open_: int, masked: int, conf: int = 1, wider: float = 1.0
) -> float:
    """How far R² may rise above ``before`` when columns that say nothing are added to ``open_`` others.

    R² of a combination rises from r to 1 - (1 - r)(1 - ρ²), ρ a partial canonical correlation of X and Y given S.
    Chance moves ρ² ``wider`` times as far where rows differ in spread.
    """
    return (1 - before) * min(1.0, wider * root_by_chance(n, open_, masked, conf)) + ROUNDING


def root_by_chance(n: int, open_: int, masked: int, conf: int = 1) -> float:
    """The largest ρ² that chance makes where Y adds nothing to S; 1 where there are too few rows to tell.

    Pillai's V = Σρ² is distributed by F = (b/a)·V/(s - V), exactly so for one X; for several the largest root has
    the law of Roy, by the approximation of Johnstone (2008): its log-odds are about μ + σ·W, W of Tracy and Widom.
    Either is a bound, and the lower one counts.
    """
    spare = n - 1 - open_ - masked
    s = min(conf, masked)
    if spare <= conf:
        return 1.0
    a, b = s * max(conf, masked), s * (spare - conf + s)
    ratio = float(stats.f.isf(CHANCE, a, b)) * a
    all_freedom = spare + masked - 1
    low, high = (
        2 * math.asin(math.sqrt((size - 0.5) / all_freedom)) for size in sorted((conf, masked))
    )
    middle = 2 * math.log(math.tan((low + high) / 2))
    spread = (
        16 / all_freedom**2 / (math.sin(low + high) ** 2 * math.sin(low) * math.sin(high))
    ) ** (1 / 3)
    return min(s * ratio / (b + ratio), 1 / (1 + math.exp(-middle - spread * TRACY_WIDOM)))


def canonical_gain_by_chance(
    n: int, before: float, open_: int, masked: int, conf: int, wider: float = 1.0
) -> float:
    """The same for a canonical correlation, of which ``before`` is the value without the added columns."""
    risen = before**2 + gain_by_chance(n, before**2, open_, masked, conf, wider)
    return math.sqrt(min(risen, 1.0)) - before + ROUNDING


def _correlation(moments: Moments) -> Array:
    scale = np.sqrt(np.maximum(np.diag(moments.cross), 0.0))
    # A constant's sum of squares is rounding: it is 0 beside what the column's own size leaves.
    safe = np.where(scale > 0, scale, 1.0)
    return np.asarray(moments.cross / np.outer(safe, safe))


def _whitening(correlation: Array, columns: Sequence[int]) -> Array:
    """W with W Σ Wᵀ = I for the block of these columns, as many rows as the block has rank (pivoted Cholesky)."""
    block = correlation[np.ix_(list(columns), list(columns))]
    if not block.size or not np.diag(block).any():
        return np.empty((0, len(columns)))
    factor, pivots, found, _ = linalg.lapack.dpstrf(block, tol=DEPENDENT, lower=1)
    lower = np.tril(factor[:found, :found])
    result = np.zeros((found, len(columns)))
    result[:, pivots[:found] - 1] = linalg.lapack.dtrtri(lower, lower=1)[0]
    return result
