"""Tests of independence within strata, what randomization leaves of their power, and partial correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2 as chi2_law
from scipy.stats import ncx2

from ppduck.kernels.loglinear import statistics
from ppduck.values import Array


@dataclass(frozen=True)
class Test:
    """χ² and G² of the first two axes given all others, and their degrees of freedom."""

    chi2: float
    g2: float
    df: int

    @property
    def p_value(self) -> float:
        return self._tail(self.chi2)

    @property
    def p_value_g2(self) -> float:
        return self._tail(self.g2)

    def _tail(self, statistic: float) -> float:
        return float(chi2_law.sf(statistic, self.df)) if self.df > 0 else 1.0


def conditional(table: Array) -> Test:
    """Expected n_ik+ n_+jk / n_++k; a stratum has (r - 1)(c - 1) degrees of freedom by the rows and columns it has."""
    strata = table.reshape(*table.shape[:2], -1)
    rows, columns = strata.sum(axis=1, keepdims=True), strata.sum(axis=0, keepdims=True)
    total = strata.sum(axis=(0, 1), keepdims=True)
    fitted = np.divide(rows * columns, total, out=np.zeros_like(strata), where=total > 0)
    filled_rows, filled_columns = (rows > 0).sum(axis=(0, 1)), (columns > 0).sum(axis=(0, 1))
    df = int((np.maximum(filled_rows - 1, 0) * np.maximum(filled_columns - 1, 0)).sum())
    return Test(*statistics(strata, fitted), df)


@dataclass(frozen=True)
class Power:
    """The chance to reject independence at a level: on the table as published, and as it was before."""

    published: float
    original: float
    efficiency: float  # rows of the original that would tell as much as one published row

    @property
    def lost(self) -> float:
        return max(self.original - self.published, 0.0)


def power(published: Array, original: Array, level: float) -> Power | None:
    """By the noncentral χ² law; None where the original seems independent, so that there is nothing to find.

    χ² of the published table less its degrees of freedom is unbiased for its noncentrality. That of the original is
    larger by the ratio of what the two expected tables say: an estimate of the original alone would be too high.
    """
    test = conditional(published)
    n = float(published.sum())
    before = conditional(original * n / original.sum()).chi2
    if test.df == 0 or before <= 1e-9 * n:
        return None
    efficiency = min(test.chi2 / before, 1.0)
    noncentrality = max(test.chi2 - test.df, 0.0)
    limit = chi2_law.isf(level, test.df)
    if noncentrality == 0 or efficiency == 0:
        return Power(level, level, efficiency)
    now, then = (float(ncx2.sf(limit, test.df, amount)) for amount in (noncentrality, noncentrality / efficiency))
    return Power(now, then, efficiency)


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
