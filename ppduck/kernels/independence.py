"""Tests of independence within strata, what randomization leaves of them, partial correlation, and two classifiers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppduck.frozen import frozen
from ppduck.kernels.loglinear import statistics
from ppduck.libraries import optimize, stats
from ppduck.values import Array


@frozen
class Test:
    """χ² and G² of the first two axes given all others, and their degrees of freedom."""

    chi2: float
    g2: float
    df: int
    least_expected: float  # the χ² law wants it to be 5 or more

    @property
    def p_value(self) -> float:
        return self._tail(self.chi2)

    @property
    def p_value_g2(self) -> float:
        return self._tail(self.g2)

    def _tail(self, statistic: float) -> float:
        return float(stats.chi2.sf(statistic, self.df)) if self.df > 0 else 1.0


def conditional(table: Array) -> Test:
    """Expected n_ik+ n_+jk / n_++k; a stratum has (r - 1)(c - 1) degrees of freedom by the rows and columns it has."""
    strata = table.reshape(*table.shape[:2], -1)
    rows, columns = strata.sum(axis=1, keepdims=True), strata.sum(axis=0, keepdims=True)
    total = strata.sum(axis=(0, 1), keepdims=True)
    fitted = np.divide(rows * columns, total, out=np.zeros_like(strata), where=total > 0)
    filled_rows, filled_columns = (rows > 0).sum(axis=(0, 1)), (columns > 0).sum(axis=(0, 1))
    df = int((np.maximum(filled_rows - 1, 0) * np.maximum(filled_columns - 1, 0)).sum())
    least = float(np.min(fitted, where=fitted > 0, initial=np.inf))
    return Test(*statistics(strata, fitted), df, least)


def kept_association(matrix: Array, share: Array) -> float:
    """φ²(A, Ã)/(d - 1) of a column and its randomized self: the mean squared canonical correlation between them."""
    present = share > 0
    joint = matrix[:, present] * share[present]
    published = joint.sum(axis=1)
    expected = np.outer(published, share[present])
    total = (
        float(np.divide(joint**2, expected, out=np.zeros_like(joint), where=expected > 0).sum()) - 1
    )
    return total / max(int(present.sum()) - 1, 1)


def efficiency(table: Array, matrices: Sequence[Array]) -> float:
    """What is left of χ² for each row, on average over the directions of a dependence, within the strata.

    Randomization multiplies the noncentrality of two columns by the shares of association that each keeps with itself;
    of two levels this is exact, of more it depends on the direction. ``table`` is the original's, its first two axes
    those columns.
    """
    strata = np.moveaxis(table.reshape(*table.shape[:2], -1), 2, 0)
    weights = strata.sum(axis=(1, 2))
    kept = [
        kept_association(matrices[0], one.sum(axis=1) / one.sum())
        * kept_association(matrices[1], one.sum(axis=0) / one.sum())
        for one in strata[weights > 0]
    ]
    return float(np.average(kept, weights=weights[weights > 0]))


def power_left(efficiency: float, df: int, level: float, power: float) -> float:
    """The power of a test at a level against what it would have found with the given power but for randomization."""
    limit = float(stats.chi2.isf(level, df))
    needed = optimize.brentq(
        lambda amount: float(stats.ncx2.sf(limit, df, amount)) - power, 1e-9, 1e4
    )
    return float(stats.ncx2.sf(limit, df, needed * efficiency)) if efficiency > 0 else level


def partial_correlation(table: Array) -> float | None:
    """Of the first two binary columns, with all others as numbers of their levels removed (Guo 2010, 4.5)."""
    axes = table.ndim
    share = table / table.sum()
    positions = np.indices(table.shape).reshape(axes, -1)
    mean = positions @ share.ravel()
    centred = positions - mean[:, None]
    covariance = (centred * share.ravel()) @ centred.T
    own, rest = covariance[:2, :2], covariance[2:, 2:]
    if axes > 2:
        cross = covariance[:2, 2:]
        own = own - cross @ np.linalg.pinv(rest, hermitian=True) @ cross.T
    scale = float(own[0, 0] * own[1, 1])
    return None if scale <= 1e-24 else float(own[0, 1] / np.sqrt(scale))


def gini_split(table: Array) -> float:
    """Σ_a π_a (1 - Σ_c Pr(c | a)²) of a table of attribute by class (Guo 2010, section 4.4)."""
    share = table / table.sum()
    rows = share.sum(axis=1, keepdims=True)
    within = np.divide(share, rows, out=np.zeros_like(share), where=rows > 0)
    return float((rows[:, 0] * (1 - (within**2).sum(axis=1))).sum())


def naive_bayes(tables: Sequence[Array]) -> Array:
    """Pr(class | levels) for every combination of levels, from one table of attribute by class each, class last."""
    share = [table / table.sum() for table in tables]
    classes = share[0].sum(axis=0)
    joint = classes
    for table in share:
        own = np.divide(table, classes, out=np.zeros_like(table), where=classes > 0)
        joint = joint[..., None, :] * own.reshape((1,) * (joint.ndim - 1) + own.shape)
    total = joint.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(joint, total, out=np.full_like(joint, np.nan), where=total > 0))
