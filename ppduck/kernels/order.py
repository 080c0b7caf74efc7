"""Whether places in a table tell ranks of values: a table that was sorted before it was masked still is.

Of people drawn at random, place and rank are shares of those drawn, which miss those of all rows by about
1/(2√n): 0.004 for 20,000 people.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.values import Array

NEAR = 0.05  # of the ranks
_FEW = 40  # people, below which a group has too few ranks to be near one
RISING, FALLING = WAYS = ("rising", "falling")


def ranks(values: Array, groups: Array | None = None) -> Array:
    """Mid-ranks from 0 to 1, in each group by itself."""
    result = np.empty(len(values))
    for mine in _parts(len(values), groups):
        own = values[mine]
        ordered = np.sort(own)
        below = np.searchsorted(ordered, own, side="left")
        upto = np.searchsorted(ordered, own, side="right")
        result[mine] = (below + upto) / (2 * len(own))
    return result


def rank_guesses(position: Array, groups: Array | None, way: str) -> Array:
    """The rank that a place says where values rise, or fall, from the first row to the last."""
    found = ranks(position, groups)
    return found if way == RISING else 1 - found


def chance(truth: Array, guess: Array) -> float:
    """The share that would be near if guesses were dealt to other people, over all ways to deal them."""
    ordered = np.sort(guess)
    near = np.searchsorted(ordered, truth + NEAR, side="right")
    near -= np.searchsorted(ordered, truth - NEAR, side="left")
    return float(near.mean() / max(len(guess), 1))


def _parts(n: int, groups: Array | None) -> list[npt.NDArray[np.intp]]:
    if groups is None:
        return [np.arange(n)]
    _, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    # In groups of a few, any place is near any rank: they are one group.
    codes = np.where(counts[codes.reshape(-1)] < _FEW, -1, codes.reshape(-1))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order])) + 1
    return np.split(order, starts)
