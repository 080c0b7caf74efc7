"""People who seek their records among all, a batch of records at a time.

A distance is |a - b|² over numbers in units of their sd, or turned as Mahalanobis' distance wants them, plus 1 for each
category that differs. Columns that the release has kept outweigh all: an intruder is told, or sees, which they are, and
seeks among the records that agree in them. Each seeker has a limit beyond which no record matters; pairs within it are
found by their place along one number or in single precision, with room for rounding, and measured in double precision.
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
KEPT = (
    1e6  # what a column adds that everybody's record has kept: one that differs there is another's
)
TIE = 1e-9  # distances tie within this share, squared and in units of sd
_FAR = 1e6  # sd, at which numbers end
_TILE = 512  # seekers that are compared with a batch at once
_NOTHING = -1e300  # the code of a kept number that is NULL
_PRIME, _FACTOR = 2_147_483_629, 1_000_003
_FEW = 24  # records of a batch near a seeker, up to which each pair is looked at by itself
_SPAN = 8e6  # between people who differ in a category, where all stand in one line

Indices = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
_Codes = npt.NDArray[np.int32]


@frozen
class Space:
    """Which columns count, and how: numbers as (value - centre) / scale, turned; categories by agreement."""

    numbers: Indices
    categories: Indices
    centre: Array
    scale: Array
    weights: Array  # of categories
    turn: Array | None = None

    @classmethod
    def of(cls, rows: Array, is_number: Flags, used: Flags, kept: Flags | None = None) -> Space:
        """Standardised by these rows; only the columns that are used count, those that were kept most of all."""
        # A column that was kept agrees or does not, whatever it is of.
        measured = is_number if kept is None else is_number & ~kept
        numbers, categories = np.flatnonzero(used & measured), np.flatnonzero(used & ~measured)
        centre, scale = np.zeros(len(numbers)), np.ones(len(numbers))
        for place, j in enumerate(numbers):
            column = rows[np.isfinite(rows[:, j]), j]
            if len(column):
                # A value of the column: differences from it are exact where numbers are whole.
                centre[place] = np.partition(column, len(column) // 2)[len(column) // 2]
                spread = float(column.std()) if (column != column[0]).any() else 0.0
                scale[place] = spread if np.isfinite(spread) and spread > 0 else 1.0
        weights = np.ones(len(categories))
        if kept is not None:
            weights[kept[categories]] = KEPT
        return cls(numbers, categories, centre, scale, weights)

    def turned(self, one: Array, other: Array) -> Space:
        """The same by (a - b)ᵀ(Var(A) + Var(B))⁻¹(a - b), of which an intruder knows both (Torra et al. 2006)."""
        variance = np.zeros((len(self.numbers), len(self.numbers)))
        for rows in (one, other):
            side = self.coordinates(rows)[0]
            centred = side - side.mean(axis=0)
            variance += centred.T @ centred / max(len(side), 1)
        values, vectors = np.linalg.eigh(variance)
        if not len(values) or values[-1] <= 0:
            return self
        own = values > NO_VARIANCE * values[-1]
        turn = vectors[:, own] / np.sqrt(values[own])
        return Space(self.numbers, self.categories, self.centre, self.scale, self.weights, turn)

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
        codes = rows[:, self.categories]
        return numbers, np.where(np.isnan(codes), _NOTHING, codes + 0.0)  # -0 and 0 are one

    @property
    def empty(self) -> bool:
        return not len(self.numbers) and not len(self.categories)

    def squared(self, one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
        """Distances of rows that stand at the same place."""
        differences = one[0] - other[0]
        unlike = (one[1] != other[1]) @ self.weights
        return np.asarray(np.einsum("ij,ij->i", differences, differences) + unlike)


class Batch:
    """Records in the coordinates of a space, as they are compared."""

    def __init__(self, space: Space, rows: Array) -> None:
        self.exact = space.coordinates(rows)
        numbers, codes = self.exact
        squares = np.einsum("ij,ij->i", numbers, numbers)
        right = [numbers, squares * (1 - 2 * _error(numbers)), np.ones(len(rows))]
        self.right = np.column_stack(right).astype(np.float32).T.copy()
        self.codes = _folded(codes[:, space.weights < KEPT])
        self.kept, self.every = _mixed(codes[:, space.weights == KEPT]), _mixed(codes)


class Seekers:
    """Some people's points in a space, and how far each looks, squared."""

    def __init__(self, space: Space, rows: Array, limit: Array) -> None:
        self.space = space
        self.exact = space.coordinates(rows)
        numbers, codes = self.exact
        self.codes = _folded(codes[:, space.weights < KEPT])
        self.kept, self.every = _mixed(codes[:, space.weights == KEPT]), _mixed(codes)
        # Of all numbers, the one by which most people can be told apart.
        kinds = [len(np.unique(column)) for column in numbers.T]
        self.along = int(np.argmax(kinds)) if kinds else None
        self.squares = np.einsum("ij,ij->i", numbers, numbers)
        self.look(limit)

    def look(self, limit: Array) -> None:
        """As far as this from now on; nobody looks beyond the records that agree in what was kept."""
        self.limit = limit
        numbers = self.exact[0]
        room = limit * (1 + 2 * TIE) + TIE * TIE
        last = self.squares - room - _error(numbers) * (2 * self.squares + room) - 1e-30
        left = [-2 * numbers, np.ones(len(numbers)), last]
        self.left = np.column_stack(left).astype(np.float32)

    def near(self, batch: Batch) -> tuple[Indices, Indices, Array]:
        """(seeker, record, squared distance) of all pairs within the limits."""
        limit = self.limit
        who_which = self._within_reach(batch, limit)
        who, which = self._compared(batch) if who_which is None else who_which
        d2 = self.space.squared(_rows(self.exact, who), _rows(batch.exact, which))
        kept = d2 <= limit[who] * (1 + TIE) + TIE * TIE
        return who[kept], which[kept], d2[kept]

    def _within_reach(self, batch: Batch, limit: Array) -> tuple[Indices, Indices] | None:
        """Pairs that agree in their categories and are near in one number; None where there are too many to look at.

        What was kept must agree; other categories too, where everybody looks less far than one that differs.
        """
        if not len(limit):
            return (np.empty(0, dtype=np.intp),) * 2
        strict = float(limit.max()) < 1 - TIE
        mine, theirs = (self.every, batch.every) if strict else (self.kept, batch.kept)
        kinds = np.unique(mine)
        place = np.searchsorted(kinds, theirs)
        place = np.where(kinds[np.minimum(place, len(kinds) - 1)] == theirs, place, len(kinds))
        start, end = np.searchsorted(kinds, mine) * _SPAN, place * _SPAN
        reach = np.minimum(np.sqrt(limit), _SPAN / 4) + 1e-4  # of which the span takes digits
        if self.along is not None:
            start = start + self.exact[0][:, self.along]
            end = end + batch.exact[0][:, self.along]
        order = np.argsort(end, kind="stable")
        low = np.searchsorted(end[order], start - reach, side="left")
        size = np.searchsorted(end[order], start + reach, side="right") - low
        if size.sum() > _FEW * len(size):
            return None
        who = np.repeat(np.arange(len(size)), size)
        first = np.repeat(low - np.concatenate([[0], np.cumsum(size)[:-1]]), size)
        return who, order[first + np.arange(len(who))]

    def _compared(self, batch: Batch) -> tuple[Indices, Indices]:
        """Pairs that may be within the limits, of all."""
        found: list[tuple[Indices, Indices]] = [(np.empty(0, dtype=np.intp),) * 2]
        all_agree = not (self.space.weights == KEPT).any()
        for start in range(0, len(self.left), _TILE):
            check_interrupt()
            part = slice(start, start + _TILE)
            with one_thread():
                bound = self.left[part] @ batch.right
            for own, other in zip(self.codes[part].T, batch.codes.T, strict=True):
                bound += own[:, None] != other
            near = bound <= 0
            if not all_agree:
                near &= self.kept[part, None] == batch.kept
            who, which = np.divmod(np.flatnonzero(near), near.shape[1])
            found.append((who + start, which))
        who, which = (np.concatenate(each) for each in zip(*found, strict=True))
        return who, which


def _error(numbers: Array) -> float:
    """By how much a sum of so many terms may be rounded in single precision, as a share."""
    return float((numbers.shape[1] + 8) * 2.0**-23)


def _rows(sides: tuple[Array, Array], of: Indices) -> tuple[Array, Array]:
    return sides[0][of], sides[1][of]


def _folded(codes: Array) -> _Codes:
    """Codes in 32 bits: equal ones stay equal, and few others become so, which the exact distance tells apart."""
    return (np.ascontiguousarray(codes).view(np.int64) % _PRIME).astype(np.int32)


def _mixed(codes: Array) -> npt.NDArray[np.int64]:
    """One code for several, with the same said of it."""
    result = np.zeros(len(codes), dtype=np.int64)
    for column in _folded(codes).T:
        result = (result * _FACTOR + column) % _PRIME
    return result
