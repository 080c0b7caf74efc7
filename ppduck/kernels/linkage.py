"""Record linkage by distance: how many masked records are nearest to the very record they come from.

An intruder who holds original values looks up every masked record's nearest original one (Domingo-Ferrer & Torra
2001), by standardised Euclidean distance or by Mahalanobis distance (Torra, Abowd & Domingo-Ferrer 2006). Row i of
both sides is the same person; the record is linked when its partner is nearest, and counts 1/t when t originals are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import log2

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.interrupts import check_interrupt
from ppduck.kernels.threads import one_thread
from ppduck.libraries import spatial
from ppduck.values import Array

# With more columns a k-d tree visits so many points that comparing with all of them is faster.
TREE_DIMENSIONS = 8
NO_VARIANCE = 1e-12  # share of the largest eigenvalue below which a direction has no variance
# Distances tie when they differ by less than this share of the partner's, or by rounding of the coordinates.
TIE, ROUNDING = 1e-9, 1e-14
_FAR = 1e50  # where standardised values end, so that squares do not overflow
# Records are compared with a block of originals at a time, and those that have met one nearer than
# their partner are done. The first block has 64 originals; sizes double up to the last.
_FIRST_BLOCK, _LAST_BLOCK = 64, 1 << 15
# Where a k-d tree searches, records are compared with so many originals before: most meet a nearer one
# there, and the tree need not look for them.
_SIFTED = 1_024
# A thread compares so many records with so many originals at once: their distances stay in its cache.
_TILE = 1_024
_CELLS = 1 << 20  # pairs whose distances are taken in double precision at once
# What else comparing a pair costs beside one multiplication a column, in such multiplications.
_PASSES = 30

_Indices = npt.NDArray[np.intp]


def standardised(original: Array, masked: Array) -> tuple[Array, Array]:
    """Both sides in units of the original's sd, or the masked side's where the original column is constant.

    The origin is a value of the column and not its mean: such differences are exact for integers, so ties stay ties.
    """
    if original.size == 0:
        return original.astype(float), masked.astype(float)
    middle = len(original) // 2
    centre = np.array([np.partition(column, middle)[middle] for column in original.T])
    scale = _sd(original)
    scale = np.where(scale > 0, scale, _sd(masked))
    scale = np.where(scale > 0, scale, 1.0)
    with np.errstate(over="ignore"):
        one, other = ((side - centre) / scale for side in (original, masked))
    return np.clip(one, -_FAR, _FAR), np.clip(other, -_FAR, _FAR)


def standardised_apart(original: Array, masked: Array) -> tuple[Array, Array]:
    """Each side about its own mean in units of its own sd: an intruder who sees that values were moved as a whole."""
    found = []
    for side in (original, masked):
        scale = _sd(side) if side.size else np.ones(side.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            moved = (
                (side - side.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
                if len(side)
                else side.astype(float)
            )
        found.append(np.clip(moved, -_FAR, _FAR))
    return found[0], found[1]


def _sd(columns: Array) -> Array:
    """The sd of each column, exactly 0 for a constant one."""
    # In units of the largest entry, so that squares neither overflow nor vanish.
    peak = np.abs(columns).max(axis=0)
    sd = (columns / np.where(peak > 0, peak, 1.0)).std(axis=0) * peak
    return np.where((columns == columns[0]).all(axis=0), 0.0, sd)


def whitened(original: Array, masked: Array) -> tuple[Array, Array]:
    """Coordinates in which the Euclidean distance is (o - m)ᵀ(Var(O) + Var(M))⁻¹(o - m), squared.

    Var(O - M) = Var(O) + Var(M) - 2 Cov(O, M), of which the intruder does not know the last (COV0 of Torra, Abowd &
    Domingo-Ferrer 2006). Directions in which neither side varies are left out.
    """
    one, other = standardised(original, masked)
    if one.size == 0:
        return one, other
    centred = [side - side.mean(axis=0) for side in (one, other)]
    variance = sum(
        (side.T @ side / len(side) for side in centred), np.zeros((one.shape[1], one.shape[1]))
    )
    scale = np.sqrt(np.diag(variance))
    varies = (scale > 0) & ((one != one[0]).any(axis=0) | (other != other[0]).any(axis=0))
    scale = np.where(varies, scale, np.inf)
    values, vectors = np.linalg.eigh(variance / np.outer(scale, scale))
    kept = values > NO_VARIANCE * max(values[-1], NO_VARIANCE)
    turn = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
    return _turned(one, turn), _turned(other, turn)


def _turned(rows: Array, turn: Array) -> Array:
    """rows @ turn, added up in the same order for every row: rows that are equal stay equal to the last bit."""
    result = np.zeros((len(rows), turn.shape[1]), order="F")
    for into, coefficients in zip(result.T, turn.T, strict=True):
        for column, coefficient in zip(rows.T, coefficients, strict=True):
            into += column * coefficient
    return result


def agreement(original: npt.ArrayLike, masked: npt.ArrayLike) -> tuple[Array, Array]:
    """Indicators of codes (n, c) that both sides share, by 1/√2: a disagreement adds 1 to the squared distance."""
    one, other = np.asarray(original), np.asarray(masked)
    parts: list[tuple[Array, Array]] = []
    for a, b in zip(one.T, other.T, strict=True):
        levels = np.union1d(a, b)
        parts.append(((a[:, None] == levels) / np.sqrt(2), (b[:, None] == levels) / np.sqrt(2)))
    none = np.zeros((len(one), 0))
    return np.hstack([none, *(a for a, _ in parts)]), np.hstack([none, *(b for _, b in parts)])


def work(n_original: int, n_rows: int, dimensions: int) -> float:
    """Operations that comparing every pair takes at most; next to none by comparison where a tree does the search."""
    if dimensions <= TREE_DIMENSIONS:
        return (n_rows + n_original) * log2(max(n_original, 2))
    return float(n_original) * n_rows * (dimensions + _PASSES)


def linked(
    original: Array, masked: Array, *, rows: _Indices | None = None, workers: int = -1
) -> Array:
    """Each masked record's credit, of ``rows`` or all: 1/t if its partner is one of t nearest originals, else 0."""
    n, dimensions = original.shape
    rows = np.arange(n) if rows is None else rows
    if dimensions == 0 or n == 0:  # everything is as near as anything
        return np.full(len(rows), 1 / max(n, 1))
    first, member = _distinct(original)
    points = np.asarray(original[first], dtype=float)
    weights = np.bincount(member).astype(float)
    # Records that are equal and come from equal ones fare alike.
    partner, sought = member[rows], masked[rows]
    asked, same = _distinct(np.column_stack([sought, partner]))
    search = _Search.of(points, weights, np.asarray(sought[asked], dtype=float), partner[asked])
    threads = workers if workers > 0 else os.cpu_count() or 1
    # The products are too small to share out among BLAS threads: whole tiles are.
    with one_thread(), ThreadPoolExecutor(threads) as pool:
        tied = (
            _by_tree(search, pool, threads)
            if dimensions <= TREE_DIMENSIONS
            else _by_block(search, pool)
        )
    credits = np.divide(1.0, tied, out=np.zeros(len(asked)), where=tied > 0)
    return np.asarray(credits[same])


def _distinct(rows: Array) -> tuple[_Indices, _Indices]:
    """A row of each distinct kind, in no order that matters, and which kind every row is."""
    bits = np.ascontiguousarray(rows.T + 0.0, dtype=float).view(np.uint64)  # -0 and 0 are one
    # To sort one hash is much faster than to sort rows.
    _, first, member = np.unique(_hashed(bits), return_index=True, return_inverse=True)
    if len(first) < len(rows) and any((column != column[first][member]).any() for column in bits):
        _, first, member = np.unique(bits.T, axis=0, return_index=True, return_inverse=True)
    return first, member.reshape(-1)


def _hashed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A hash of each column, mixed as in SplitMix64 (Steele, Lea & Flood 2014): its order is as good as random."""
    key = np.zeros(bits.shape[1], dtype=np.uint64)
    for part in bits:
        key = (key ^ part) * np.uint64(0x9E3779B97F4A7C15)
        key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        key ^= key >> np.uint64(31)
    return key


@frozen
class _Search:
    """Records that look for the nearest of distinct points, in random order, each a partner's among them."""

    points: Array
    weights: Array  # originals at each point
    records: Array
    partner: _Indices
    distance: Array  # to the partner
    slack: Array  # by which a distance may miss it and still tie
    left: npt.NDArray[np.float32]  # left @ right ≤ 0 wherever a point may be as near as the partner
    right: npt.NDArray[np.float32]

    @classmethod
    def of(cls, points: Array, weights: Array, records: Array, partner: _Indices) -> _Search:
        """With |m - o|² ≤ d² as |o|² - 2mo - (d² - |m|²) ≤ 0, of which rounding is taken off.

        In single precision a sum of k terms misses by at most γ Σ|terms|, γ ≈ k 2⁻²⁴, and Σ|terms| here by no more
        than 2|o|² + 2|m|² + d². One part is taken off in each point's column and the other in each record's.
        """
        distance = np.sqrt(_squares(records, points[partner]))
        centre = points.mean(axis=0)
        o, m = points - centre, records - centre
        unit = max(np.abs(o).max(), np.abs(m).max(initial=0.0) * 1e-30) or 1.0
        o, m = o / unit, m / unit
        o2, m2 = _squares(o), _squares(m)
        slack = TIE * distance + ROUNDING * unit * np.sqrt(np.maximum(m2, o2[partner]))
        far = ((distance + slack) / unit) ** 2
        error = (o.shape[1] + 8) * 2.0**-23
        right = np.column_stack([o, o2 * (1 - 2 * error), np.ones(len(o))]).astype(np.float32)
        left = np.column_stack([-2 * m, np.ones(len(m)), m2 - far - error * (2 * m2 + far) - 1e-30])
        # Records far from all points are brought into the range of single precision.
        left /= np.maximum(1.0, m2 + far)[:, None]
        return cls(
            points,
            weights,
            records,
            partner,
            distance,
            slack,
            left.astype(np.float32),
            right.T.copy(),
        )

    def compared(
        self, rows: _Indices, points: _Indices
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """For pairs of records and points: which points are nearer than the partner, and which are as near."""
        nearer, near = np.empty(len(rows), dtype=bool), np.empty(len(rows), dtype=bool)
        for start in range(0, len(rows), _CELLS):
            part = slice(start, start + _CELLS)
            row = rows[part]
            beyond = (
                np.sqrt(_squares(self.records[row], self.points[points[part]])) - self.distance[row]
            )
            nearer[part], near[part] = beyond < -self.slack[row], np.abs(beyond) <= self.slack[row]
        return nearer, near


def _squares(rows: Array, others: Array | None = None) -> Array:
    differences = rows if others is None else rows - others
    return np.asarray(np.einsum("ij,ij->i", differences, differences))


def _by_block(search: _Search, pool: ThreadPoolExecutor, limit: int | None = None) -> Array:
    """How many originals are as near as the partner, 0 where one of them is nearer, by comparing with every point.

    A record is done with once a nearer point is found. Blocks of points double, as a partner that is no nearer
    than others survives n points with probability 1/(n + 1): all that takes n log n comparisons. With a ``limit``
    to the points, NaN says that none of these is nearer.
    """
    tied = np.zeros(len(search.records))
    alive = np.arange(len(search.records))
    end = min(limit or len(search.points), len(search.points))
    start, size = 0, _FIRST_BLOCK
    while start < end and len(alive):
        check_interrupt()
        stop = min(start + size, end)
        chunks = [alive[i : i + _TILE] for i in range(0, len(alive), _TILE)]
        found = np.concatenate(
            list(pool.map(lambda rows, a=start, b=stop: _tile(search, rows, a, b), chunks))
        )
        tied[alive] = np.where(found < 0, 0.0, tied[alive] + found)
        alive = alive[found >= 0]
        start, size = stop, min(size * 2, _LAST_BLOCK)
    if limit is not None:
        tied[alive] = np.nan  # still to be decided
    return tied


def _tile(search: _Search, rows: _Indices, start: int, stop: int) -> Array:
    """Originals among points from start to stop that are as near as each row's partner, -1 where one is nearer."""
    found = np.zeros(len(rows))
    alive = np.arange(len(rows))
    left = search.left[rows]
    room = np.empty(len(rows) * _TILE, dtype=np.float32)
    for begin in range(start, stop, _TILE):
        right = search.right[:, begin : min(begin + _TILE, stop)]
        bound = room[: len(left) * right.shape[1]].reshape(len(left), -1)
        np.matmul(left, right, out=bound)
        likely = bound.argmin(axis=1)
        doubt = np.flatnonzero(bound[np.arange(len(alive)), likely] <= 0)
        if not len(doubt):
            continue
        nearer, _ = search.compared(rows[alive[doubt]], begin + likely[doubt])
        found[alive[doubt[nearer]]] = -1
        # Only where the likeliest is no nearer do the others need a look.
        doubt = doubt[~nearer]
        which, points = np.nonzero(bound[doubt] <= 0)
        which = alive[doubt[which]]
        nearer, near = search.compared(rows[which], begin + points)
        found += np.bincount(which[near], search.weights[begin + points[near]], minlength=len(rows))
        found[which[nearer]] = -1
        kept = found[alive] >= 0
        if not kept.all():
            alive, left = alive[kept], left[kept]
            if not len(alive):
                break
    return found


def _by_tree(search: _Search, pool: ThreadPoolExecutor, workers: int) -> Array:
    """The same by a k-d tree, for the records that some points at random leave in question."""
    tied = _by_block(search, pool, _SIFTED)
    alive = np.flatnonzero(np.isnan(tied))
    if not len(alive):
        return tied
    tree = spatial.cKDTree(search.points)
    # Records that are near each other follow each other: the nodes they visit are in the cache.
    place = np.empty(len(search.points), dtype=np.intp)
    place[tree.indices] = np.arange(len(place))
    for rows in _by_distance(alive, search.distance, place[search.partner]):
        d, slack = search.distance[rows], search.slack[rows]
        bound = float((d + slack).max()) * (1 + TIE) + 1e-300
        nearest, second = tree.query(
            search.records[rows], 2, distance_upper_bound=bound, workers=workers
        )[0].T
        tied[rows] = np.where(nearest < d - slack, 0.0, search.weights[search.partner[rows]])
        shared = rows[(nearest >= d - slack) & (second <= d + slack)]
        for i in range(0, len(shared), _TILE):
            check_interrupt()
            few = shared[i : i + _TILE]
            radius = (search.distance[few] + search.slack[few]) * (1 + 1e-15)
            balls = tree.query_ball_point(search.records[few], radius, workers=workers)
            tied[few] = [search.weights[ball].sum() for ball in balls]
    return tied


def _by_distance(
    alive: _Indices, distance: Array, place: _Indices, parts: int = 8
) -> Iterator[_Indices]:
    """Records whose partners are about as far, as a query has one bound for all; in each part by place."""
    for part in np.array_split(alive[np.argsort(distance[alive])], parts):
        if len(part):
            yield part[np.argsort(place[part])]
