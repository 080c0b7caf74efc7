"""Microaggregation by MDAV: records in groups of at least k that are near each other.

Of the records that are left, r is the farthest from their mean and s the farthest from r; r and its k - 1 nearest make
a group, then s and its k - 1 nearest, while 3k are left. Of 2k and more one further group is made about the record
farthest from the mean; what is left then is the last group, of k to 2k - 1 records. (Domingo-Ferrer & Mateo-Sanz 2002;
Domingo-Ferrer & Torra 2005.)

Every group depends on those before it, and n/k groups that each look at all records take n²/k: of many records in few
columns only those near by are looked at, with the same result, and of still more each part is grouped by itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.interrupts import check_interrupt
from ppduck.values import Array

Indices = npt.NDArray[np.intp]

# Many records of few columns are kept in leaves, each with the box it fills: a search skips a leaf whose
# box is too far off. With more columns boxes overlap too much, and with fewer records it does not pay.
LEAF, TREE_DIMENSIONS, TREE_FROM = 2_048, 3, 60_000
# Up to so many records MDAV groups all of them together, without leaves and with them; of more, it groups
# parts of BLOCK records, each by itself.
EXACT, EXACT_BY_TREE = 100_000, 1_000_000
BLOCK = 20_000
_FEW = 8  # up to so many, taking the nearest one after the other is faster than partitioning
_ROUNDING = 1e-12  # by which a bound may be wrong, as a share of the largest distance


def standardised(values: Array) -> Array:
    """Columns about their mean in units of their sd; a constant one is 0."""
    centred = values - values.mean(axis=0)
    sd = np.sqrt((centred**2).mean(axis=0))
    constant = (values == values[:1]).all(axis=0)
    return np.asarray(np.where(constant, 0.0, centred) / np.where(constant, 1.0, sd))


def is_exact(n: int, columns: int) -> bool:
    """Whether so many records are grouped as a whole; in parts, groups at the borders are not those of MDAV."""
    return n <= (EXACT_BY_TREE if columns <= TREE_DIMENSIONS else EXACT)


def grouped(points: Array, k: int) -> Indices:
    """The number of each record's group, from 0: by MDAV, of everything or of parts that are near each other."""
    if is_exact(*points.shape):
        return mdav(points, k)
    group, first = np.zeros(len(points), dtype=np.intp), 0
    for part in parts(points, np.arange(len(points)), max(BLOCK, 4 * k)):
        own = mdav(points[part], k)
        group[part] = first + own
        first += int(own.max()) + 1
    return group


def mdav(points: Array, k: int) -> Indices:
    """The number of each record's group, from 0."""
    indexed = len(points) >= TREE_FROM and points.shape[1] <= TREE_DIMENSIONS
    left: _Left | _Boxed = _Boxed(points) if indexed else _Left(points)
    group, number = np.zeros(len(points), dtype=np.intp), 0
    while left.size >= 3 * k:
        check_interrupt()
        first = left.farthest_from_mean()
        second = left.farthest(first)
        for point in (first, second):
            group[left.take_nearest(point, k)] = number
            number += 1
    if left.size >= 2 * k:
        group[left.take_nearest(left.farthest_from_mean(), k)] = number
        number += 1
    group[left.rest()] = number
    return group


def centroids(values: Array, group: Indices) -> Array:
    """Each record's values replaced by the means of its group."""
    size = np.bincount(group)
    centre = values.mean(axis=0)  # sums about it lose fewer digits
    means = np.column_stack([np.bincount(group, column) / size for column in (values - centre).T])
    return np.asarray(means[group] + centre)


def nearest(distance: Array, k: int) -> Indices:
    """Where the k smallest are, or all if there are no more; distances are spoilt by the search."""
    if k >= len(distance):
        return np.arange(len(distance))
    if k > _FEW:
        return np.argpartition(distance, k - 1)[:k]
    found = np.empty(k, dtype=np.intp)
    for i in range(k):
        found[i] = distance.argmin()
        distance[found[i]] = np.inf
    return found


class _Left:
    """Records that are in no group yet, column by column; one that is taken gives its place to the last."""

    def __init__(self, points: Array, rows: Indices | None = None) -> None:
        self.size = len(points)
        self.rows = np.arange(self.size) if rows is None else rows
        self.columns = np.array(points.T, order="C")  # a copy, in which records change places
        self._total = self.columns.sum(axis=1)
        self._room = np.empty_like(self.columns)
        self._distance = np.empty(self.size)
        self._measured_from: Array | None = None

    def farthest_from_mean(self) -> Array:
        return self.farthest(self._total / self.size)

    def farthest(self, point: Array) -> Array:
        return self.columns[:, self.distances(point).argmax()].copy()

    def distances(self, point: Array) -> Array:
        """Squared, from a point to every record; kept for whoever asks next for the same point."""
        if self._measured_from is not point:
            room = np.subtract(
                self.columns[:, : self.size], point[:, None], out=self._room[:, : self.size]
            )
            np.multiply(room, room, out=room)
            np.add.reduce(room, axis=0, out=self._distance[: self.size])
            self._measured_from = point
        return self._distance[: self.size]

    def take_nearest(self, point: Array, k: int) -> Indices:
        return self.take(nearest(self.distances(point), k))

    def take(self, places: Indices) -> Indices:
        """The rows at these places, which are left no longer."""
        taken = self.rows[places]
        self._total -= self.columns[:, places].sum(axis=1)
        gone, size = set(places.tolist()), self.size - len(places)
        holes = [place for place in gone if place < size]
        last = [place for place in range(size, self.size) if place not in gone]
        self.columns[:, holes] = self.columns[:, last]
        self.rows[holes] = self.rows[last]
        self.size, self._measured_from = size, None
        return taken

    def rest(self) -> Indices:
        return np.asarray(self.rows[: self.size])


class _Boxed:
    """The same for many records of few columns: in leaves of near ones, of which only those in question are looked at.

    A leaf is in question while its box, or what is known of its farthest record, allows a better one. What is found
    is what comparing with every record finds.
    """

    def __init__(self, points: Array) -> None:
        self._points = points
        self._build(np.arange(len(points)))

    def _build(self, rows: Indices) -> None:
        self.size = self._built = len(rows)
        self._leaves = [_Left(self._points[part], part) for part in parts(self._points, rows, LEAF)]
        self._total = self._points[rows].sum(axis=0)
        self._low = np.array([leaf.columns.min(axis=1) for leaf in self._leaves])
        self._high = np.array([leaf.columns.max(axis=1) for leaf in self._leaves])
        # How far the farthest record of a leaf was from the mean, when the mean was last compared with it.
        self._reach = np.full(len(self._leaves), np.inf)
        self._mean_then = np.zeros_like(self._low)
        self._slack = _ROUNDING * float(np.abs([self._low.min(), self._high.max()]).max())

    def farthest_from_mean(self) -> Array:
        """A record is farther from the mean than it was by no more than the mean has moved."""
        mean = np.asarray(self._total / self.size)
        moved = np.sqrt(((self._mean_then - mean) ** 2).sum(axis=1))
        bound = self._reach + moved + self._slack
        bound[self._empty()] = -np.inf
        best, found = -1.0, mean
        while bound.max() > best:
            i = int(bound.argmax())
            leaf = self._leaves[i]
            distance = leaf.distances(mean)
            place = int(distance.argmax())
            self._reach[i], self._mean_then[i] = np.sqrt(distance[place]), mean
            bound[i] = -np.inf
            if self._reach[i] > best:
                best, found = float(self._reach[i]), leaf.columns[:, place].copy()
        return found

    def _empty(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isinf(self._low[:, 0]))

    def farthest(self, point: Array) -> Array:
        bound = (np.maximum(np.abs(self._low - point), np.abs(self._high - point)) ** 2).sum(axis=1)
        bound[self._empty()] = -np.inf
        best, found = -1.0, point
        while bound.max() >= best:
            i = int(bound.argmax())
            leaf = self._leaves[i]
            distance = leaf.distances(point)
            place = int(distance.argmax())
            bound[i] = -np.inf
            if distance[place] > best:
                best, found = float(distance[place]), leaf.columns[:, place].copy()
        return found

    def take_nearest(self, point: Array, k: int) -> Indices:
        outside = np.maximum(np.maximum(self._low - point, point - self._high), 0.0)
        bound = (outside**2).sum(axis=1)  # infinite for empty leaves
        distances, places, leaves = (
            np.empty(0),
            np.empty(0, dtype=np.intp),
            np.empty(0, dtype=np.intp),
        )
        worst = np.inf
        while bound[i := int(bound.argmin())] <= worst and bound[i] < np.inf:
            own = self._leaves[i].distances(point).copy()
            near = nearest(own.copy(), k)
            distances, places = (
                np.concatenate([distances, own[near]]),
                np.concatenate([places, near]),
            )
            leaves = np.concatenate([leaves, np.full(len(near), i)])
            bound[i] = np.inf
            if len(distances) > k:
                kept = np.argpartition(distances, k - 1)[:k]
                distances, places, leaves = distances[kept], places[kept], leaves[kept]
            if len(distances) >= k:
                worst = float(distances.max())
        taken = [self._take(int(i), places[leaves == i]) for i in np.unique(leaves)]
        if self.size < self._built // 2:
            self._build(self.rest())
        return np.concatenate(taken)

    def _take(self, i: int, places: Indices) -> Indices:
        leaf = self._leaves[i]
        self._total -= leaf.columns[:, places].sum(axis=1)
        rows = leaf.take(places)
        self.size -= len(rows)
        here = leaf.columns[:, : leaf.size]
        self._low[i], self._high[i] = (
            here.min(axis=1, initial=np.inf),
            here.max(axis=1, initial=-np.inf),
        )
        return rows

    def rest(self) -> Indices:
        return np.concatenate([leaf.rest() for leaf in self._leaves])


def parts(points: Array, rows: Indices, most: int) -> list[Indices]:
    """Rows in parts of at most so many, halved at the median of the column in which they spread widest."""
    if len(rows) <= most:
        return [rows]
    own, half = points[rows], len(rows) // 2
    order = np.argpartition(own[:, np.ptp(own, axis=0).argmax()], half)
    return [*parts(points, rows[order[:half]], most), *parts(points, rows[order[half:]], most)]
