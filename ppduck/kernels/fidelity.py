"""How near an estimated table is to the true one (Guo 2010, section 5.3): distances, queries, correlation."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ppduck.kernels import association
from ppduck.values import Array

LEAST = 0.1  # of a row, that a cell is taken to have where a logarithm must not be infinite


def distances(true: Array, found: Array, n: float) -> dict[str, float]:
    """Variational, L2, Kullback-Leibler and χ² distance of an estimate from shares that are true.

    An estimate may have empty or negative cells; Kullback-Leibler takes them for a tenth of a row, and the whole scaled
    back to 1.
    """
    p, q = true.ravel(), found.ravel()
    floored = np.maximum(q, LEAST / n)
    floored = floored / floored.sum()
    seen = p > 0
    return {
        "variational": float(np.abs(p - q).sum() / 2),
        "l2": float(np.sqrt(((p - q) ** 2).sum())),
        "kl": float((p[seen] * np.log(p[seen] / floored[seen])).sum()),
        "chi2": float(((p - q)[seen] ** 2 / p[seen]).sum()),
    }


def base_error(true: Array, found: Array) -> float:
    """The mean of |actual - estimated|/actual over the cells that have rows."""
    seen = true > 0
    return float((np.abs(true - found)[seen] / true[seen]).mean())


def cube_error(true: Array, found: Array) -> float:
    """The same over every cell of every margin, as GROUP BY CUBE has them."""
    errors = []
    for size in range(true.ndim + 1):
        for left_out in combinations(range(true.ndim), size):
            p, q = (np.atleast_1d(table.sum(axis=left_out)) for table in (true, found))
            seen = p > 0
            errors.append(np.abs(p - q)[seen] / p[seen])
    return float(np.concatenate(errors).mean())


def uncertainties(table: Array) -> dict[tuple[int, int], float]:
    """U (5.19) of every pair of columns; what a sum over an estimate makes negative is taken for 0."""
    found = {}
    for one, two in combinations(range(table.ndim), 2):
        others = tuple(axis for axis in range(table.ndim) if axis not in (one, two))
        pair = np.maximum(table.sum(axis=others), 0.0)
        found[one, two] = max(
            association.value(association.uncertainty, np.asarray(pair / pair.sum()), 1.0), 0.0
        )
    return found
