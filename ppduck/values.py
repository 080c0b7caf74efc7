"""Plain values that pass between the layers; they know neither DuckDB nor SQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen

Array = npt.NDArray[np.float64]


def one_below_the_other(values: Array | None, rows: int) -> Array:
    """A list of so many rows as a table; without columns where there are no values."""
    return np.empty((rows, 0)) if values is None or not len(values) else values.reshape(rows, -1)


@lru_cache(maxsize=16)
def _lower_triangle(size: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    return np.tril_indices(size)  # of thousands of groups the same


@frozen
class Moments:
    """Count, mean vector and centred cross-products of some columns: all a linear mask needs.

    ``cross[i, j]`` is the sum over rows of (z_i - mean_i)(z_j - mean_j).
    """

    n: int
    mean: Array
    cross: Array

    @classmethod
    def from_sums(
        cls, n: int, sums: Sequence[float] | Array, products: Sequence[float] | Array
    ) -> Moments:
        """From sums of z and of z_i z_j (lower triangle, row by row), z already near its mean.

        The sums are taken about a provisional centre; subtracting their own product here makes
        it the corrected two-pass algorithm, exact for columns far from zero.
        """
        size = len(sums)
        raw = np.empty((size, size))
        rows, columns = _lower_triangle(size)
        raw[rows, columns] = raw[columns, rows] = products
        total = np.asarray(sums, dtype=float)
        if n == 0:
            return cls(0, np.zeros(size), np.zeros((size, size)))
        # Who reads the moments says what is wrong with infinite ones.
        with np.errstate(invalid="ignore", over="ignore"):
            return cls(n, total / n, raw - np.outer(total, total) / n)

    @classmethod
    def of(cls, rows: Array) -> Moments:
        """Of rows at hand."""
        mean = rows.mean(axis=0)
        return cls(len(rows), mean, (rows - mean).T @ (rows - mean))

    @property
    def covariance(self) -> Array:
        return self.cross / (self.n - 1)

    @property
    def sd(self) -> Array:
        # Rounding can take the variance of equal values below zero.
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def folded(name: str) -> str:
    """A name as DuckDB compares it: the case of A to Z does not matter, that of other letters does."""
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
