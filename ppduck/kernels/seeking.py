"""People who seek their records among all, a batch of records at a time.

A distance is |a - b|² over numbers in units of their sd, or turned as Mahalanobis' distance wants them, plus 1 for each
category that differs. Each seeker has a limit beyond which no record matters; pairs within it are found in single
precision, with room for its rounding, and measured in double precision.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.interrupts import check_interrupt
from ppduck.kernels.linkage import NO_VARIANCE
from ppduck.kernels.threads import one_thread
from ppduck.values import Array

APART = 8.0  # where a number that is NULL stands, in sd: near its like, far from most others
TIE = 1e-9  # distances tie within this share, squared and in units of sd
_FAR = 1e6  # sd, at which numbers end
_TILE = 512  # seekers that are compared with a batch at once
_PRIME = 2_147_483_629

Indices = npt.NDArray[np.intp]
_Codes = npt.NDArray[np.int32]


@frozen
class Space:
    """Which columns count, and how: numbers as (value - centre) / scale, turned; categories by agreement."""

    numbers: Indices
    categories: Indices
    centre: Array
    scale: Array
    turn: Array | None = None

    @classmethod
    def of(cls, rows: Array, is_number: npt.NDArray[np.bool_], used: npt.NDArray[np.bool_]) -> Space:
        """Standardised by these rows; only the columns that are used count."""
        numbers, categories = np.flatnonzero(used & is_number), np.flatnonzero(used & ~is_number)
        centre, scale = np.zeros(len(numbers)), np.ones(len(numbers))
        for place, j in enumerate(numbers):
            column = rows[np.isfinite(rows[:, j]), j]
            if len(column):
                # A value of the column: differences from it are exact where numbers are whole.
                centre[place] = np.partition(column, len(column) // 2)[len(column) // 2]
                spread = float(column.std()) if (column != column[0]).any() else 0.0
                scale[place] = spread if np.isfinite(spread) and spread > 0 else 1.0
        return cls(numbers, categories, centre, scale)

    def turned(self, one: Array, other: Array) -> Space:
        """The same by (a - b)ᵀ(Var(A) + Var(B))⁻¹(a - b), of which an intruder knows both (Torra et al. 2006)."""
        sides = [self.coordinates(rows)[0] for rows in (one, other)]
        variance = np.zeros((len(self.numbers), len(self.numbers)))
        for side in sides:
            centred = side - side.mean(axis=0)
            variance += centred.T @ centred / max(len(side), 1)
        values, vectors = np.linalg.eigh(variance)
        if not len(values) or values[-1] <= 0:
            return self
        kept = values > NO_VARIANCE * values[-1]
        turn = vectors[:, kept] / np.sqrt(values[kept])
        return Space(self.numbers, self.categories, self.centre, self.scale, turn)

    def coordinates(self, rows: Array) -> tuple[Array, Array]:
        """(numbers, codes of categories) of some rows."""
        with np.errstate(invalid="ignore", over="ignore"):
            numbers = (rows[:, self.numbers] - self.centre) / self.scale
        numbers = np.where(np.isfinite(numbers), np.clip(numbers, -_FAR, _FAR), APART)
        if self.turn is not None:
            # Added up in the same order for every row: equal rows stay equal to the last bit.
            turned = np.zeros((len(rows), self.turn.shape[1]))
            for column, coefficients in zip(numbers.T, self.turn, strict=True):
                turned += column[:, None] * coefficients
            numbers = turned
        return numbers, rows[:, self.categories]

    @property
    def empty(self) -> bool:
        return not len(self.numbers) and not len(self.categories)


def squared(one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    """Distances of rows that stand at the same place."""
    differences = one[0] - other[0]
    return np.asarray(
        np.einsum("ij,ij->i", differences, differences) + (one[1] != other[1]).sum(axis=1)
    )


class Batch:
    """Records in the coordinates of a space, as they are compared."""

    def __init__(self, space: Space, rows: Array) -> None:
        self.exact = space.coordinates(rows)
        numbers, codes = self.exact
        squares = np.einsum("ij,ij->i", numbers, numbers)
        error = (numbers.shape[1] + 8) * 2.0**-23
        right = [numbers, squares * (1 - 2 * error), np.ones(len(rows))]
        self.right = np.column_stack(right).astype(np.float32).T.copy()
        self.codes = _folded(codes)


class Seekers:
    """Some people's points in a space, and how far each looks, squared."""

    def __init__(self, space: Space, rows: Array, limit: Array) -> None:
        self.space = space
        self.exact = space.coordinates(rows)
        self.codes = _folded(self.exact[1])
        self.squares = np.einsum("ij,ij->i", *[self.exact[0]] * 2)
        self.look(limit)

    def look(self, limit: Array) -> None:
        """As far as this from now on."""
        self.limit = limit
        numbers = self.exact[0]
        error = (numbers.shape[1] + 8) * 2.0**-23
        room = limit * (1 + 2 * TIE) + TIE * TIE
        last = self.squares - room - error * (2 * self.squares + room) - 1e-30
        left = [-2 * numbers, np.ones(len(numbers)), last]
        self.left = np.column_stack(left).astype(np.float32)

    def near(self, batch: Batch) -> tuple[Indices, Indices, Array]:
        """(seeker, record, squared distance) of all pairs within the limits."""
        found: list[tuple[Indices, Indices]] = []
        for start in range(0, len(self.left), _TILE):
            check_interrupt()
            part = slice(start, start + _TILE)
            with one_thread():
                bound = self.left[part] @ batch.right
            for own, other in zip(self.codes[part].T, batch.codes.T, strict=True):
                bound += own[:, None] != other
            who, which = np.divmod(np.flatnonzero(bound <= 0), bound.shape[1])
            found.append((who + start, which))
        none = [(np.empty(0, dtype=np.intp),) * 2]
        who, which = (np.concatenate(each) for each in zip(*(found or none), strict=True))
        mine, theirs = _rows(self.exact, who), _rows(batch.exact, which)
        d2 = squared(mine, theirs)
        kept = d2 <= self.limit[who] * (1 + TIE) + TIE * TIE
        return who[kept], which[kept], d2[kept]


def _rows(sides: tuple[Array, Array], of: Indices) -> tuple[Array, Array]:
    return sides[0][of], sides[1][of]


def _folded(codes: Array) -> _Codes:
    """Codes in 32 bits: equal ones stay equal, and few others become so, which the exact distance tells apart."""
    return np.mod(codes, _PRIME).astype(np.int32)
