"""One-to-one linkage: people and records are matched so that the sum of all squared distances is least.

Who knows that each masked record is a different person's can do better than to take each one's nearest. People are
matched to the records that agree with them in what the release has kept, each such group by itself.
"""

from __future__ import annotations

import numpy as np

from ppduck.interrupts import check_interrupt
from ppduck.kernels.matching import Indices, Sides, matched
from ppduck.kernels.seeking import KEPT, Space
from ppduck.values import Array


def assigned(space: Space, original: Array, masked: Array) -> Array:
    """Credit of each person, 1/t where one of the t records like its own is given, else 0.

    Row i of both sides is the same person.
    """
    one, other = space.coordinates(original), space.coordinates(masked)
    given = np.empty(len(original), dtype=np.intp)
    free = space.weights < KEPT
    rng = np.random.default_rng(0)
    for rows in _groups(one[1][:, ~free]):
        check_interrupt()
        # Of people who are alike, none may get his own record for standing in its row.
        dealt = rng.permutation(rows)
        mine, theirs = (
            (side[0][which], side[1][which][:, free])
            for side, which in ((one, rows), (other, dealt))
        )
        given[rows] = dealt[matched(mine, theirs, space.weights[free])]
    return _credit(other, given)


def _groups(kept: Array) -> list[Indices]:
    """Rows that agree in what was kept, which is the same on both sides."""
    if not kept.shape[1]:
        return [np.arange(len(kept))]
    _, kind = np.unique(kept, axis=0, return_inverse=True)
    order = np.argsort(kind.reshape(-1), kind="stable")
    return np.split(order, np.cumsum(np.bincount(kind.reshape(-1)))[:-1])


def _credit(records: Sides, given: Indices) -> Array:
    _, kind, count = np.unique(
        np.column_stack(records), axis=0, return_inverse=True, return_counts=True
    )
    kind = kind.reshape(-1)
    return np.where(kind == kind[given], 1 / count[kind], 0.0)
