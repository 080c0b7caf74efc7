"""Rank swapping: each value changes places with another whose rank is near.

From the smallest rank on, one that was not swapped yet draws a partner among those up to w ranks above it that were not
swapped either (Moore 1996). Which ranks are swapped depends on their number, on w and on chance, not on the values.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.kernels.noise import KeyedNoise

Places = npt.NDArray[np.int64]

FEWEST_PLACES = 4
# With a shorter one some places, most often the last, would be left over and keep their value.
SHORTEST_REACH = 4
# The number under which rings draw their noise: rounds of pairing count from 0 and never get there.
_RINGS = 2**63
_ATTEMPTS = 100
# A step between attempts: the fractions of its multiples cover [0, 1) evenly and never repeat, so that
# each attempt picks another pair.
_GOLDEN = (5**0.5 - 1) / 2


def swapped(n: int, reach: int, noise: KeyedNoise) -> Places:
    """Where each of n places takes its value from, at most ``reach`` places away.

    All free places draw at once; of draws that collide those of the lowest place count, and the others are drawn again.
    A place that is left over, with no free one in reach, joins a pair that has both its places in reach: a ring of
    three. Where there is none, it takes a place of its partner, for which the same is then tried. Below SHORTEST_REACH
    that may come to no end, and a place keeps its value.
    """
    source = np.arange(n)
    free, turn = source, 0
    while len(free) > 1:
        # Free places up to reach above each one, by their number among the free.
        last = np.searchsorted(free, free + reach, side="right") - 1
        own = np.arange(len(free))
        asking = own[last > own]
        if not len(asking):
            break
        draw = _uniform(noise, len(asking), turn)
        asked = asking + 1 + np.floor(draw * (last[asking] - asking)).astype(np.int64)
        kept = _without_collisions(asking, asked, len(free))
        a, b = free[asking[kept]], free[asked[kept]]
        source[a], source[b] = b, a
        left = np.ones(len(free), dtype=bool)
        left[asking[kept]], left[asked[kept]] = False, False
        free, turn = free[left], turn + 1
    _join_rings(source, free, reach, noise)
    return source


def _uniform(noise: KeyedNoise, count: int, turn: int) -> npt.NDArray[np.float64]:
    """Of [0, 1), a function of the noise, the place among those that draw, and the turn."""
    keys = np.arange((count + 1) // 2, dtype=np.uint64)
    words = noise.words(keys, np.full(len(keys), turn, dtype=np.uint64), 1)[:count]
    return np.asarray((words >> np.uint64(11)) * 2.0**-53)


def _without_collisions(asking: Places, asked: Places, size: int) -> Places:
    """Which draws count: those of places that none below asks for, for places that none below asks for, too."""
    none = len(asking)
    first = np.full(size, none)
    # Written from the last to the first, so that the lowest place that asks stands at the end.
    first[asked[::-1]] = np.arange(none)[::-1]
    return np.flatnonzero((first[asked] == np.arange(none)) & (first[asking] == none))


def _join_rings(source: Places, alone: Places, reach: int, noise: KeyedNoise) -> None:
    """Each of the places that are left over between the two of a pair near by."""
    draws = _uniform(noise, len(alone), _RINGS)
    for place, draw in zip(alone.tolist(), draws.tolist(), strict=True):
        left_over = place
        for attempt in range(_ATTEMPTS):
            near = np.arange(max(left_over - reach, 0), min(left_over + reach, len(source) - 1) + 1)
            partner = source[near]
            # a place of a ring is not its partner's partner
            paired = (source[partner] == near) & (partner != near)
            fits = near[paired & (np.abs(partner - left_over) <= reach)]
            if len(fits):
                first = int(fits[int(draw * len(fits))])
                second = int(source[first])
                source[left_over], source[first], source[second] = second, left_over, first
                break
            pairs = near[paired]
            if not len(pairs):
                break
            first = int(pairs[int((draw + attempt * _GOLDEN) % 1 * len(pairs))])
            widowed = int(source[first])
            source[left_over], source[first], source[widowed] = first, left_over, widowed
            left_over = widowed
