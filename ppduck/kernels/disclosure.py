"""Attribute disclosure under linking attacks (Guo 2010, section 5.2).

An intruder knows somebody's quasi-identifiers QI and the matrices. He finds the sensitive value S with probability

    Pr(S | QI) = π_{QI,S}/π_QI · Pr(QI → QI) · Pr(S → S | QI)                                              (5.6)

Pr(QI → QI) = π_α Σ_β P[β, α]²/λ_β, one factor of P = P_1 ⊗ … ⊗ P_m at a time (5.14); Pr(S → S | QI) alike within the
group (5.8). Both fall as every p goes from 1 to 1/d, where they are π_QI and π_{QI,S}/π_QI (Guo 2010, Property 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.kernels.distortion import along_axes, uniform
from ppduck.values import Array

Indices = npt.NDArray[np.int64]


def step_of(size: int) -> Array:
    """dP/dp of the matrix that keeps with p and else draws one of the others."""
    return np.asarray((np.eye(size) * size - 1.0) / (size - 1))


def inverse(values: Array) -> Array:
    """1/λ, and 0 where nothing is published."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


@frozen
class Sensitive:
    """One sensitive attribute: its cells (group, level) that occur, and how many rows each has."""

    size: int
    group: Indices  # place among the groups that occur
    level: Indices
    count: Array


@frozen
class Population:
    """The groups of quasi-identifiers that occur, and what is sensitive in them."""

    shape: tuple[int, ...]  # levels of each quasi-identifier
    groups: Indices  # cells of the table of quasi-identifiers that occur, in C order
    counts: Array  # rows of each
    sensitive: tuple[Sensitive, ...]

    @property
    def n(self) -> float:
        return float(self.counts.sum())

    @cached_property
    def shares(self) -> Array:
        """π_QI as a table."""
        table = np.zeros(int(np.prod(self.shape)))
        table[self.groups] = self.counts / self.n
        return table.reshape(self.shape)

    def reconstruction(self, matrices: Sequence[Array]) -> Array:
        """Pr(QI → QI) of the groups that occur (5.14)."""
        published = along_axes(self.shares, matrices)
        back = along_axes(inverse(published), [(matrix**2).T for matrix in matrices])
        return np.asarray((self.shares * back).ravel()[self.groups])

    def reconstruction_slopes(self, ps: Sequence[float], wanted: Sequence[int]) -> list[Array]:
        """∂ Pr(QI → QI)/∂p for some of the columns, each kept with its p."""
        matrices = [uniform(p, d) for p, d in zip(ps, self.shape, strict=True)]
        squares = [(matrix**2).T for matrix in matrices]
        once = inverse(along_axes(self.shares, matrices))
        found = []
        for k in wanted:
            step = step_of(self.shape[k])
            moved = along_axes(
                self.shares, [step if i == k else matrix for i, matrix in enumerate(matrices)]
            )
            factors = [
                2 * (matrices[k] * step).T if i == k else square for i, square in enumerate(squares)
            ]
            slope = along_axes(once, factors) - along_axes(moved * once**2, squares)
            found.append(np.asarray((self.shares * slope).ravel()[self.groups]))
        return found

    def within(self, which: int, matrix: Array) -> tuple[Array, Array]:
        """π_{QI,S}/π_QI and Pr(S → S | QI) of the cells of one sensitive attribute (5.8)."""
        own = self.sensitive[which]
        table = self._by_group(own)
        back = inverse(table @ matrix.T) @ matrix**2
        return table[own.group, own.level], np.asarray((table * back)[own.group, own.level])

    def within_slope(self, which: int, p: float) -> Array:
        """∂ Pr(S → S | QI)/∂p of the cells of one sensitive attribute."""
        own = self.sensitive[which]
        table, matrix, step = self._by_group(own), uniform(p, own.size), step_of(own.size)
        once = inverse(table @ matrix.T)
        slope = once @ (2 * matrix * step) - ((table @ step.T) * once**2) @ matrix**2
        return np.asarray((table * slope)[own.group, own.level])

    def _by_group(self, own: Sensitive) -> Array:
        table = np.zeros((len(self.groups), own.size))
        table[own.group, own.level] = own.count
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def minimum(self, which: int, *, qi: Sequence[bool], sensitive: bool) -> Array:
        """What risks cannot be brought below by randomizing these columns (Guo 2010, Property 1).

        They are published without regard to their values then: Pr(QI → QI) is π_QI where all are, and that of the
        others where only some are.
        """
        own = self.sensitive[which]
        share = self._by_group(own)[own.group, own.level]
        least = [uniform(1 / d if free else 1.0, d) for free, d in zip(qi, self.shape, strict=True)]
        return np.asarray(
            share * self.reconstruction(least)[own.group] * (share if sensitive else 1.0)
        )


def population_of(
    shape: Sequence[int], sizes: Sequence[int], places: Sequence[Indices], counts: Array
) -> Population:
    """From cells that occur: a place for each quasi-identifier and each sensitive attribute, and a count."""
    known = (
        np.ravel_multi_index(tuple(places[: len(shape)]), tuple(shape))
        if shape
        else np.zeros(len(counts), int)
    )
    groups, group = np.unique(known, return_inverse=True)
    sensitive = []
    for size, level in zip(sizes, places[len(shape) :], strict=True):
        cells, cell = np.unique(group * size + level, return_inverse=True)
        sensitive.append(Sensitive(size, cells // size, cells % size, _summed(cell, counts)))
    return Population(tuple(shape), groups, _summed(group, counts), tuple(sensitive))


def _summed(places: Indices, counts: Array) -> Array:
    return np.asarray(np.bincount(places, counts), dtype=float)
