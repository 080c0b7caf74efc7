"""Loglinear models of a table that was published at random: fitted through the matrices that published it.

The likelihood of published counts n is Σ n ln(P π). It is maximised over the tables π of a model by Fisher's scoring,
π ∝ exp(η + Xδ) with one column of X for each parameter, and by EM, whose step scales π to the margins of the expected
original counts π·Pᵀ(n/Pπ): scoring is fast inside, EM sure at the border, and the better of the two steps is taken.

Models are tested against the best table of all, not against the published one: with few rows or strong randomization
P⁻¹ of the published table has negative cells, of which no model is guilty. Where it has none, χ² and G² are those of
the published table against Pπ̂ and follow the χ² law with the model's degrees of freedom; where it has some, they are
smaller, and the test rejects less often than its level says.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from ppduck.interrupts import check_interrupt
from ppduck.kernels.distortion import along_axes
from ppduck.kernels.loglinear import (
    Fit,
    Generators,
    degrees_of_freedom,
    margins,
    scaled_once,
    statistics,
    terms_of,
)
from ppduck.values import Array

MOST_CELLS = 4_096
_STEPS = 500
# The search ends with a step that raises the log-likelihood of all rows by no more than _GAIN. If the
# steps are used up, and the last still gained more than _SHORT, the fit is said to be unfinished.
_GAIN, _SHORT = 1e-7, 1e-3
_HALVINGS = 12
_TINY = 1e-200
# The search starts from a table of the model that has, after so many rounds of scaling, about the
# margins of the best table of all. The share _INSIDE, added evenly over its cells, keeps every cell of
# the start above 0: one that begins at 0 would stay there.
_ROUNDS, _INSIDE = 30, 1e-3


def design(shape: Sequence[int], generators: Generators) -> Array:
    """One column for each parameter but the mean: products of indicators of all levels but the first."""
    columns = []
    for term in sorted(terms_of(generators), key=lambda term: (len(term), term)):
        factors = [
            np.eye(d)[:, 1:] if axis in term else np.ones((d, 1)) for axis, d in enumerate(shape)
        ]
        columns.append(reduce(lambda one, two: np.asarray(np.kron(one, two)), factors))
    return np.hstack(columns)


class Search:
    """The maximum of the likelihood of published counts over the tables of a model."""

    def __init__(self, counts: Array, matrices: Sequence[Array], generators: Generators) -> None:
        self.counts, self.matrices, self.generators = counts, list(matrices), generators
        self.transposed = [matrix.T for matrix in matrices]
        self.n = float(counts.sum())
        self.seen = counts > 0
        self.x = design(counts.shape, generators)

    def published(self, share: Array) -> Array:
        return along_axes(share, self.matrices)

    def likelihood(self, share: Array) -> float:
        expected = self.published(share)[self.seen]
        return float(self.counts[self.seen] @ np.log(expected)) if expected.min() > 0 else -np.inf

    def back(self, share: Array) -> Array:
        """Pᵀ(n/Pπ)"""
        expected = self.published(share)
        ratio = np.divide(self.counts, expected, out=np.zeros_like(expected), where=self.seen)
        return along_axes(ratio, self.transposed)

    def expected(self, share: Array) -> Array:
        """EM: a round of scaling to the margins of the expected original counts, which cannot lower the likelihood."""
        found, _ = scaled_once(
            share, margins(share * self.back(share), self.generators), self.generators
        )
        return np.asarray(found / found.sum())

    def scored(self, share: Array, reached: float) -> tuple[Array, float]:
        """Fisher's scoring, its step halved until it gains; the share itself where it never does."""
        flat, back = share.ravel(), self.back(share).ravel()
        slope = self.x.T @ (flat * (back - flat @ back))
        moved = (flat[:, None] * (self.x - flat @ self.x)).reshape(*share.shape, -1)
        change = along_axes(moved, self.matrices).reshape(flat.size, -1)
        scaled = change / np.sqrt(np.maximum(self.published(share).ravel(), _TINY))[:, None]
        step = np.linalg.lstsq(self.n * scaled.T @ scaled, slope, rcond=1e-12)[0]
        eta = np.log(np.maximum(flat, _TINY))
        for halved in range(_HALVINGS):
            tried = eta + self.x @ step / 2**halved
            found = np.exp(tried - tried.max())
            found = (found / found.sum()).reshape(share.shape)
            value = self.likelihood(found)
            if value > reached:
                return found, value
        return share, reached

    def from_table(self, start: Array) -> tuple[Array, float]:
        """The table that is reached from a start, and what the last step gained."""
        share: Array = np.full(start.shape, 1 / start.size)
        wanted = margins(np.maximum(start, 0.0) + _INSIDE / start.size, self.generators)
        for _ in range(_ROUNDS):
            share, _ = scaled_once(share, wanted, self.generators)
        share = np.asarray(share / share.sum())
        reached, gain = self.likelihood(share), np.inf
        for _ in range(_STEPS):
            check_interrupt()
            by_em = self.expected(share)
            options = [(by_em, self.likelihood(by_em)), self.scored(share, reached)]
            best, value = max(options, key=lambda option: option[1])
            gain = value - reached
            if gain > 0:
                share, reached = best, value
            if gain <= _GAIN:
                break
        return share, max(gain, 0.0)


def fitted_through(
    counts: Array, matrices: Sequence[Array], generators: Generators, saturated: Array
) -> Fit:
    """The model of the table before randomization that makes the published one most likely.

    ``saturated`` is the most likely table of all, as shares: what the model is compared with, and where it starts.
    """
    search = Search(counts, matrices, generators)
    n = search.n
    if any(len(one) == counts.ndim for one in generators):
        share, gain = saturated, 0.0
    else:
        share, gain = search.from_table(saturated)
    best, fitted = n * search.published(saturated), n * search.published(share)
    chi2, _ = statistics(best, fitted)
    g2 = 2 * (search.likelihood(saturated) - search.likelihood(share))
    df, own = degrees_of_freedom(_room(counts, matrices), generators) or (None, None)
    unfinished = f"its last step gained {gain:.1g} of log-likelihood" if gain > _SHORT else ""
    return Fit(n * share, chi2, max(g2, 0.0), df, own, n, unfinished)


def _room(
    counts: Array, matrices: Sequence[Array]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Cells that may have rows: a combination of columns that are not randomized must occur."""
    randomized = tuple(
        i for i, matrix in enumerate(matrices) if not np.array_equal(matrix, np.eye(len(matrix)))
    )
    occurs = counts.sum(axis=randomized, keepdims=True) > 0
    return np.broadcast_to(occurs, counts.shape).copy()
