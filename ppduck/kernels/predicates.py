"""Predicates that an intruder makes of released records, and how many people each of them matches.

Cohen & Nissim (2020): who can write a condition that one person of the data meets, and nobody else, has singled that
person out. A predicate here asks for a number within a window about the released one, and for the same category.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.kernels.seeking import Space
from ppduck.libraries import spatial
from ppduck.values import Array

WINDOW = 0.05  # half the width of a window, in sd of the original column
_BORDER = 1 + 1e-9  # of a window, with room for rounding


class Predicates:
    """Boxes in the coordinates of a space: a half width of 1 in each number, nothing beside the same category."""

    def __init__(self, space: Space, records: Array) -> None:
        self._space = space
        self._records = self._scaled(records)
        self._tree = spatial.cKDTree(self._records)
        self.size = len(records)

    def _scaled(self, rows: Array) -> Array:
        numbers, codes = self._space.coordinates(rows)
        # Codes are whole numbers: twice as far, those that differ are outside of any box.
        return np.column_stack([numbers / WINDOW, codes * 2])

    def hold(self, rows: Array) -> npt.NDArray[np.bool_]:
        """Whether each predicate matches the row at its place."""
        apart = np.abs(self._scaled(rows) - self._records)
        return np.asarray((apart <= _BORDER).all(axis=1))

    def matches(self, rows: Array) -> npt.NDArray[np.int64]:
        """How many of these rows meet each predicate."""
        found = self._tree.query_ball_point(self._scaled(rows), _BORDER, p=np.inf)
        every = [np.asarray(each, dtype=np.intp) for each in found if each]
        if not every:
            return np.zeros(self.size, dtype=np.int64)
        return np.bincount(np.concatenate(every), minlength=self.size)


def dealt(space: Space, records: Array, pool: Array, conf: npt.NDArray[np.bool_]) -> Array:
    """Records with the conf columns of the next most alike record of the pool by the other columns.

    What a release tells of anybody who looks like that stays in them; what it tells of the very person does not. The
    records are the first of the pool.
    """
    result = records.copy()
    if space.empty:
        result[:, conf] = np.roll(pool, -1, axis=0)[: len(records)][:, conf]
        return result
    numbers, codes = space.coordinates(pool)
    # A category that differs is farther than any number.
    points = np.column_stack([numbers, codes * 2])
    _, nearest = spatial.cKDTree(points).query(points[: len(records)], k=min(2, len(pool)))
    nearest = nearest.reshape(len(records), -1)
    own = np.arange(len(records))
    other = np.where(nearest[:, 0] == own, nearest[:, -1], nearest[:, 0])
    # Where many are equal, those that stand first would be dealt to all: each takes its successor.
    alike = _successors(points)[: len(records)]
    other = np.where(alike >= 0, alike, other)
    result[:, conf] = pool[other][:, conf]
    return result


def _successors(points: Array) -> npt.NDArray[np.intp]:
    """For each row the next that is equal to it, round and round; -1 where there is none."""
    _, kind, count = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    kind = kind.reshape(-1)
    order = np.argsort(kind, kind="stable")
    starts = np.concatenate([[0], np.cumsum(count)[:-1]])
    following = np.empty(len(points), dtype=np.intp)
    place = np.arange(len(points)) - starts[kind[order]]
    after = starts[kind[order]] + (place + 1) % count[kind[order]]
    following[order] = order[after]
    return np.where(count[kind] > 1, following, -1)
