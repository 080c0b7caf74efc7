"""What is public of a release, as columns of unit length: what an intruder knows before a column tells him more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppduck.libraries import stats
from ppduck.values import Array

TENTHS = 10
MOST_BENT = 20  # open columns; of more, each is taken as it is


def ranks(values: Array) -> Array:
    """Mid-ranks about their mean, 0 where there is no value, of unit length; zeros for a constant."""
    known = np.isfinite(values)
    found = np.zeros(len(values))
    if known.any():
        found[known] = stats.rankdata(values[known])
        found[known] -= found[known].mean()
    return unit(found)


def centred(values: Array) -> Array:
    """The same of the values themselves, whatever their size."""
    known = np.isfinite(values)
    found = np.zeros(len(values))
    if known.any():
        own = values[known]
        peak = np.abs(own).max()
        own = own / peak if peak > 0 else own
        found[known] = own - own.mean()
    return unit(found)


def from_the_middle(values: Array) -> Array:
    """How far from the median values rank, about the mean of that."""
    known = np.isfinite(values)
    return centred(np.where(known, np.abs(ranks(values)), np.nan))


def unit(values: Array) -> Array:
    length = float(np.sqrt(values @ values))
    return values / length if length > 1e-12 else np.zeros(len(values))


class Public:
    """An orthonormal basis of what is public: columns of unit length, and a constant."""

    def __init__(self, columns: Sequence[Array], n: int) -> None:
        own = [column for column in columns if column.any()]
        table = np.column_stack([np.full(n, 1 / np.sqrt(n)), *own])
        values, vectors = np.linalg.eigh(table.T @ table)
        kept = values > 1e-10 * values[-1]
        self.basis = table @ (vectors[:, kept] / np.sqrt(values[kept]))

    def left_of(self, values: Array) -> Array:
        """What is not public of some columns of values; zeros where that is nothing but rounding."""
        rest = values - self.basis @ (self.basis.T @ values)
        nothing = (rest * rest).sum(axis=0) < 1e-7 * (values * values).sum(axis=0)
        return np.where(nothing, 0.0, rest)


def bent(open_columns: Array) -> list[Array]:
    """Open columns with their squares, and indicators of tenths, as far as there are rows enough for them."""
    n, p = open_columns.shape
    found: list[Array] = []
    for column in open_columns.T:
        found.append(centred(column))
        if p <= MOST_BENT and p * (TENTHS + 1) * 10 < n and len(np.unique(column)) > 2:
            found.append(centred(found[-1] ** 2))
            tenths = np.floor(stats.rankdata(column) / (n + 1) * TENTHS)
            found += [centred((tenths == tenth).astype(float)) for tenth in range(1, TENTHS)]
    return found


def powers(keys: Array) -> list[Array]:
    """What a formula may make of a key: powers, root and logarithm."""
    found = []
    for key in keys.T:
        least = np.nanmin(key) if np.isfinite(key).any() else 0.0
        above = key - least + 1
        for made in (above, above**2, above**3, np.sqrt(above), np.log(above)):
            found.append(centred(made))
    return found


def logarithm(values: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.where(values > 0, values, np.nan)))
