"""What kind of relation x has to S: none, linear, monotonic or non-monotonic.

Al-Ahmadi (2006), Appendix A, matches a masking method to the relationships in the data, and judges
those by scatter plots. Here the judges are R² of the least-squares line, Spearman's correlation and
the left-out R² of a kernel fit, on the values and on their normal scores, which straighten what is
monotonic. The limits are simulated (n = 30 … 5,000, light and heavy tails, one column and several):
independent columns pass for related in about one case of a hundred.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.kernels import relation
from ppduck.libraries import special, stats
from ppduck.values import Array

Kind = Literal["none", "linear", "monotonic", "non-monotonic"]

# Rows for the kernel fit: enough to see a curve of 2 % of the variance. Rows come in random order.
ROWS = 1_000
FEWEST = 10
# p-values of the F test below which x is related to S: by the line through the values, and by the one
# through the ranks. The first is stricter, as one row that is an outlier in S and in x alike can make a
# line out of nothing; among ranks it cannot.
LINE_LEVEL, RANK_LEVEL = 0.001, 0.004
# With many rows everything is significant: a share of the variance below this is none.
TRIFLE = 0.001
# The left-out R² that a kernel reaches on noise, times the rows: above it in some 0.3 % of cases.
KERNEL_NOISE = 10.0
# Shares of the variance up to which a relation is still linear: what a curve may explain more than the
# line, and what normal scores may explain more than values (much, as outliers alone cost the line R²).
CURVE, SCORES = 0.02, 0.15
# The share of the variance up to which a curve that turns back still counts as monotonic. A fitted
# curve wavers by chance, the more the fewer its rows: REVERSAL_NOISE / rows is allowed where that is more.
REVERSAL, REVERSAL_NOISE = 0.02, 3.0
# Rounds of backfitting of one monotonic function a column.
ROUNDS = 5


@frozen
class Evidence:
    """What speaks for the kind of relation; all R² are shares of the variance of x or of its normal scores."""

    kind: Kind
    n: int
    linear_r2: float
    spearman: float | None  # None where S has several columns or is a category
    kernel_r2: float  # the line, and what a kernel predicts of its residuals, left out one by one
    rank_linear_r2: float
    rank_kernel_r2: float  # the same two on normal scores
    reversal: float  # share that the fitted curve of scores has beyond the nearest monotonic one


def normal_scores(x: Array) -> Array:
    """Φ⁻¹((rank - 0.5) / n), where ties share the middle of their ranks (places of Hazen 1914)."""
    return np.asarray(special.ndtri((stats.rankdata(x) - 0.5) / max(len(x), 1)))


def evidence(s: Array, x: Array, indicators: npt.NDArray[np.bool_] | None = None) -> Evidence:
    """The kind of relation of x (n,) to the columns of S (n, d) jointly, and why.

    none: the line, ranks and kernel all stay within noise. linear: a curve explains at most ``CURVE``
    more than the line, and normal scores at most ``SCORES`` more. monotonic: the curve of normal scores
    is a sum of increasing and decreasing functions of the columns but for ``REVERSAL``. Else
    non-monotonic, as are interactions that no monotonic scale of x makes additive.
    A category alone is none or linear, since any dependence on levels is linear in their indicators.
    """
    n, d = s.shape
    flags = np.zeros(d, dtype=bool) if indicators is None else indicators
    category = bool(flags.all()) and int((s != 0).sum(axis=1).max(initial=0)) <= 1
    single = d == 1 and not category
    if n < FEWEST or not _varies(x) or orthonormal(s).shape[1] == 0:
        return Evidence("none", n, 0.0, 0.0 if single else None, 0.0, 0.0, 0.0, 0.0)
    x_scores, s_scores = normal_scores(x), _by_column(s, flags)
    linear_r2, residual, rank = line(s, x)
    scores_r2, scores_residual, _ = line(s_scores, x_scores)
    spearman = (
        float(np.corrcoef(stats.rankdata(s[:, 0]), stats.rankdata(x))[0, 1]) if single else None
    )
    by_rank = scores_r2 if spearman is None else spearman**2
    related = _significant(linear_r2, n, rank, LINE_LEVEL) or _significant(
        by_rank, n, rank, RANK_LEVEL
    )
    if category:
        kind: Kind = "linear" if related else "none"
        return Evidence(kind, n, linear_r2, None, linear_r2, scores_r2, scores_r2, 0.0)

    # Ranks as the kernel's input: no row stands alone at an end, where left-out residuals run wild.
    rows = min(n, ROWS)
    places = np.where(flags, s, stats.rankdata(s, axis=0) / n)[:rows]
    fit = relation.fit(
        places,
        np.column_stack([residual, scores_residual])[:rows],
        indicators=flags,
        discreet=False,
    )
    curve, scores_curve = (float(r2) if r2 > KERNEL_NOISE / rows else 0.0 for r2 in fit.r2_left_out)
    reversal = 0.0
    if scores_curve > 0:
        fitted = (x_scores - scores_residual)[:rows] + fit.predict(places)[:, 1]
        left = fitted - fitted.mean() - monotonic_part(s_scores[:rows], fitted)
        reversal = float(np.mean(left**2) / np.var(x_scores))
    kernel_r2 = min(linear_r2 + (1 - linear_r2) * curve, _most_explained(s, x))
    rank_kernel_r2 = scores_r2 + (1 - scores_r2) * scores_curve
    if not related and curve == 0 and scores_curve == 0:
        kind = "none"
    elif kernel_r2 - linear_r2 <= CURVE and rank_kernel_r2 - linear_r2 <= SCORES:
        kind = "linear"
    else:
        kind = "monotonic" if reversal <= max(REVERSAL, REVERSAL_NOISE / rows) else "non-monotonic"
    return Evidence(kind, n, linear_r2, spearman, kernel_r2, scores_r2, rank_kernel_r2, reversal)


def _most_explained(s: Array, x: Array) -> float:
    """The share of variance between the rows that agree in S, which no curve can exceed; 1 where few rows agree."""
    points, member = np.unique(s, axis=0, return_inverse=True)
    if len(points) > np.sqrt(len(x)):
        return 1.0
    place = member.reshape(-1)
    means = np.bincount(place, x) / np.bincount(place)
    return float(np.var(means[place]) / np.var(x))


def line(s: Array, x: Array) -> tuple[float, Array, int]:
    """Least squares of x on [1, S]: R², residuals (exactly 0 where only rounding is left) and the rank of S."""
    basis = orthonormal(s)
    centred = x - x.mean()
    residual = centred - basis @ (basis.T @ centred)
    left = float(residual @ residual / (centred @ centred))
    if left < 1e-20:
        return 1.0, np.zeros_like(residual), basis.shape[1]
    return 1 - left, residual, basis.shape[1]


def orthonormal(columns: Array) -> Array:
    """An orthonormal basis of the columns less their means; columns that add nothing are left out."""
    varying = columns[:, [_varies(column) for column in columns.T]]
    centred = varying - varying.mean(axis=0)
    vectors, values, _ = np.linalg.svd(
        centred / np.linalg.norm(centred, axis=0), full_matrices=False
    )
    return np.asarray(vectors[:, values > 1e-7])


def monotonic_part(s: Array, u: Array) -> Array:
    """The sum of increasing or decreasing functions of the columns of S that is nearest to u - ū.

    One isotonic regression a column, fitted in turn to what the others leave (Bacchetti 1989).
    """
    rest = u - u.mean()
    parts = np.zeros_like(s)
    levels = [np.unique(column, return_inverse=True, return_counts=True)[1:] for column in s.T]
    for _ in range(ROUNDS if s.shape[1] > 1 else 1):
        for j, (place, counts) in enumerate(levels):
            rest = rest + parts[:, j]
            means = np.bincount(place, rest) / counts
            up, down = increasing(means, counts), -increasing(-means, counts)
            up_is_nearer = counts @ (up - means) ** 2 <= counts @ (down - means) ** 2
            parts[:, j] = (up if up_is_nearer else down)[place]
            rest = rest - parts[:, j]
    return np.asarray(parts.sum(axis=1))


def increasing(values: Array, weights: Array | npt.NDArray[np.intp]) -> Array:
    """Isotonic regression: at i the max over j ≤ i of the min over k ≥ i of the mean of values j … k."""
    sums, totals = (
        np.concatenate([[0.0], np.cumsum(part)]) for part in (values * weights, weights)
    )
    weight = totals[None, 1:] - totals[:-1, None]
    means = np.where(weight > 0, sums[None, 1:] - sums[:-1, None], np.inf) / np.where(
        weight > 0, weight, 1.0
    )
    least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    return np.diagonal(np.maximum.accumulate(least, axis=0)).copy()


def _significant(r2: float, n: int, rank: int, level: float) -> bool:
    """Whether the F test refuses that R² of so many columns is 0, and R² is no trifle."""
    spare = n - rank - 1
    if spare < 1 or r2 < TRIFLE:
        return False
    return r2 >= 1 or float(stats.f.sf(r2 / rank * spare / (1 - r2), rank, spare)) < level


def _by_column(s: Array, indicators: npt.NDArray[np.bool_]) -> Array:
    """Normal scores of the numeric columns; indicators stay as they are."""
    return np.column_stack(
        [
            column if flag else normal_scores(column)
            for column, flag in zip(s.T, indicators, strict=True)
        ]
    )


def _varies(x: Array) -> bool:
    return len(x) > 1 and float(np.ptp(x)) > 1e-12 * float(np.max(np.abs(x)))
