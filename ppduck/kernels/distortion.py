"""Distortion matrices of randomized response, and tables reconstructed through them.

P[i, j] is the probability that level j is published as level i, so that columns sum to 1 and the
expected published table is λ = (P_1 ⊗ … ⊗ P_k) π. The Kronecker product is never built: a table is
an array with one axis a column, and every factor is applied along its own axis (Guo 2010, Lemma 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Literal

import numpy as np

from ppduck.frozen import frozen
from ppduck.interrupts import check_interrupt
from ppduck.libraries import stats
from ppduck.values import Array

Target = Literal["population", "table"]
Spread = Literal["normal", "chebyshev"]

SINGULAR = 1e10  # a condition number beyond which no digit of an inverse can be trusted
# EM ends when the log-likelihood can rise by no more than this: a row on average, and all rows together.
# An estimate that is one standard error off its maximum has lost 0.5.
_EM_TOLERANCE, _EM_GAIN = 1e-7, 1e-2
# Its steps are limited by the work that each is, to about ten seconds in all.
_EM_WORK, _FEWEST_STEPS, _MOST_STEPS = 600_000_000, 50, 20_000
_AT_BORDER = 1e-6
# EM is sped up by extrapolating from two steps (Varadhan & Roland 2008): as if by at most _LONGEST steps,
# and no cell becomes less than the share _SHRINK of what plain EM gives it.
_LONGEST, _SHRINK = 1e4, 0.01


def uniform(p: float, size: int) -> Array:
    """Keep with probability p, else publish one of the other levels, each with the same probability."""
    if size == 1:
        return np.ones((1, 1))
    other = (1.0 - p) / (size - 1)
    return np.full((size, size), other) + (p - other) * np.eye(size)


def invariant(matrix: Array, proportions: Array) -> Array:
    """A matrix with these proportions as its fixed point: publish by P, then draw back by Bayes' rule.

    R[j, i] = P[i, j] π_j / λ_i is the probability that a published i was a j, and (R P) π = R λ = π
    (Gouweleeuw, Kooiman, Willenborg & de Wolf 1998, two-stage invariant PRAM).
    """
    published = matrix @ proportions
    with np.errstate(invalid="ignore", divide="ignore"):
        back = (matrix * proportions).T / published
    back[:, published == 0] = 0.0
    found = back @ matrix
    # Nothing is drawn back to a level that never occurs; it stands for itself, so that the matrix keeps its inverse.
    absent = proportions == 0
    found[:, absent] = np.eye(len(matrix))[:, absent]
    return np.asarray(found)


def condition(matrix: Array) -> float:
    """The condition number in the 2-norm; infinite for a singular matrix."""
    return float(np.linalg.cond(matrix))


def along_axes(table: Array, factors: Sequence[Array]) -> Array:
    """(F_1 ⊗ … ⊗ F_k) applied to a table with k axes, one axis at a time."""
    for axis, factor in enumerate(factors):
        table = np.moveaxis(np.tensordot(factor, table, axes=(1, axis)), 0, axis)
    return table


@frozen
class Reconstruction:
    """What a table of published counts says about the table before randomization."""

    counts: Array  # published, one axis a column
    matrices: tuple[Array, ...]
    target: Target = "population"

    @property
    def n(self) -> float:
        return float(self.counts.sum())

    @property
    def observed(self) -> Array:
        return self.counts / self.n

    @property
    def inverses(self) -> list[Array]:
        return [np.asarray(np.linalg.inv(matrix), dtype=float) for matrix in self.matrices]

    @property
    def is_certain(self) -> bool:
        """Whether nothing was randomized and nothing is asked beyond these rows."""
        return self.target == "table" and all(
            np.array_equal(m, np.eye(len(m))) for m in self.matrices
        )

    def moment(self) -> Array:
        """π̂ = P⁻¹ λ̂ (2.2): unbiased, and the maximum of the likelihood where no cell is negative."""
        return along_axes(self.observed, self.inverses)

    def estimate(self, method: str) -> tuple[Array, float]:
        """The table by a method, and by how much the log-likelihood of all rows may still be below its maximum."""
        found = self.moment()
        if method == "moment" or found.min() >= 0:
            return found, 0.0
        table, gap = most_likely(self.observed, self.matrices, found, self.n)
        return table, self.n * gap

    def fitted(self, estimate: Array) -> Array:
        """The published table that an estimate stands for: λ̂ itself for the moment estimate."""
        return along_axes(estimate, self.matrices)

    def variance(self, estimate: Array) -> Array:
        """The diagonal of ``covariance``, by the componentwise squares of the inverses."""
        squares = along_axes(self.fitted(estimate), [inverse**2 for inverse in self.inverses])
        if self.target == "table":
            return np.maximum(squares - estimate, 0.0) / self.n
        return np.maximum(squares - estimate**2, 0.0) / max(self.n - 1, 1)

    def variance_of(self, slope: Array, estimate: Array) -> float:
        """slopeᵀ cov(π̂) slope, without the matrix: its size is the square of the number of cells."""
        back = along_axes(slope.reshape(estimate.shape), [inverse.T for inverse in self.inverses])
        squares = float(np.sum(self.fitted(estimate) * back**2))
        if self.target == "table":
            return (squares - float(estimate.ravel() @ slope.ravel() ** 2)) / self.n
        return (squares - float(estimate.ravel() @ slope.ravel()) ** 2) / max(self.n - 1, 1)

    def covariance(self, estimate: Array) -> Array:
        """cov(π̂) = Σ1 + Σ2 over the cells in C order.

        Σ1 + Σ2 = (P⁻¹ λ̂^δ P⁻ᵀ − π̂ π̂ᵀ)/(N − 1): of a sample from a population, and of randomizing it.
        About the randomized table itself only Σ2 = (P⁻¹ λ̂^δ P⁻ᵀ − π̂^δ)/N is uncertain.
        """
        cells, shape = estimate.size, estimate.shape
        half = along_axes(
            np.diag(self.fitted(estimate).ravel()).reshape(*shape, cells), self.inverses
        )
        # P⁻¹ λ^δ is at hand, its columns still the published cells; P⁻¹ on those gives (P⁻¹ λ^δ P⁻ᵀ)ᵀ, symmetric.
        spread = along_axes(
            half.reshape(cells, cells).T.reshape(*shape, cells), self.inverses
        ).reshape(cells, cells)
        flat = estimate.ravel()
        if self.target == "table":
            return np.asarray((spread - np.diag(flat)) / self.n)
        return np.asarray((spread - np.outer(flat, flat)) / max(self.n - 1, 1))


def half_width(level: float, spread: Spread) -> float:
    """How many standard errors a range reaches to either side."""
    return (
        1.0 / sqrt(1.0 - level)
        if spread == "chebyshev"
        else float(stats.norm.ppf((1.0 + level) / 2.0))
    )


def most_likely(
    observed: Array, matrices: Sequence[Array], start: Array, n: float = 1.0
) -> tuple[Array, float]:
    """The maximum of Σ λ̂ ln(P π) over the simplex, by EM with squared extrapolation, and how far it may be off.

    EM: π ← π · Pᵀ(λ̂ / P π). A step is tried along the direction of two EM steps (Varadhan & Roland
    2008) and kept where it gains. Because the likelihood is concave, no table has a mean
    log-likelihood more than max Pᵀ(λ̂/Pπ) − 1 above that of π: it ends where the n rows could gain
    no more than _EM_GAIN together, or after so many steps as the size of the table allows.
    """
    transposed = [matrix.T for matrix in matrices]
    seen = observed > 0

    def slope_and_likelihood(table: Array) -> tuple[Array, float]:
        expected = along_axes(table, matrices)
        ratio = np.divide(observed, expected, out=np.zeros_like(expected), where=seen)
        return along_axes(ratio, transposed), float(observed[seen] @ np.log(expected[seen]))

    enough = min(_EM_TOLERANCE, _EM_GAIN / n)
    table = np.maximum(start, 1e-3 / observed.size)
    table /= table.sum()
    slope, _ = slope_and_likelihood(table)
    work = observed.size * sum(observed.shape)
    for _ in range(min(max(_EM_WORK // work, _FEWEST_STEPS), _MOST_STEPS)):
        check_interrupt()
        if np.max(slope) - 1 <= enough:
            break
        once = table * slope
        twice = once * slope_and_likelihood(once)[0]
        step, bend = once - table, (twice - once) - (once - table)
        size = -min(
            float(np.linalg.norm(step)) / max(float(np.linalg.norm(bend)), 1e-300), _LONGEST
        )
        tried = table - 2 * size * step + size**2 * bend
        tried = np.maximum(tried, _SHRINK * twice)  # never zero: EM could not leave it again
        tried /= tried.sum()
        (slope, reached), (plain_slope, plainly) = (
            slope_and_likelihood(tried),
            slope_and_likelihood(twice),
        )
        table = tried
        if not reached >= plainly:
            table, slope = twice, plain_slope
    gap = float(np.max(slope)) - 1
    # EM only tends to the border: a cell that could not gain is zero at the maximum.
    cut = np.where((slope < 1 - _AT_BORDER) & (table < _AT_BORDER), 0.0, table)
    cut /= cut.sum()
    off = float(np.max(slope_and_likelihood(cut)[0])) - 1
    # Many such cells together may weigh too much to be left out.
    return (cut, off) if off <= max(gap, enough) else (np.asarray(table / table.sum()), gap)
