"""Anatomy: groups of rows in which no sensitive value occurs twice, each of at least l rows.

Rows lie in buckets by their sensitive value. While l buckets have rows, a group takes one from each of the l largest; a
row that is left over joins a group that does not have its value. Where no value has more than n/l of the n rows, fewer
than l are left over, all of different values, and each finds a group. (Xiao & Tao 2006, VLDB, algorithm Anatomize.)

Which values make a group depends on the counts of the values alone, so that counts are all that is looked at: rows take
the places of their value by chance, elsewhere. Equal buckets take turns. Groups are dealt many at a time: the buckets
that are larger than the l-th (``heads``) give a row to each, and those as large as the l-th (``queue``, of two sizes
that differ by one, the larger in front) fill what is left in turn, until a head has come down to the queue or the queue
to the next smaller buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np
import numpy.typing as npt

from ppduck.kernels.noise import KeyedNoise
from ppduck.values import Array

Places = npt.NDArray[np.int64]


def largest_l(counts: Places) -> int:
    """The largest l for which there are such groups: no value may have more than n/l rows."""
    return int(counts.sum() // counts.max()) if counts.size and counts.max() > 0 else 0


def anatomized(counts: Places, l: int, noise: KeyedNoise) -> Places:  # noqa: E741 - its name everywhere
    """The numbers 1 … ⌊n/l⌋ of the groups that rows take: those of the first value, then those of the next, …

    Numbers are given to groups by chance. No value may have more than n/l rows.
    """
    chance = _Chance(noise)
    table = _Table(counts, l, chance)
    values, groups = table.deal()
    m = table.dealt
    for value in np.flatnonzero(table.left):
        lacking = np.ones(m, dtype=bool)
        lacking[groups[values == value]] = False
        free = np.flatnonzero(lacking)
        values = np.append(values, value)
        groups = np.append(groups, free[int(chance.uniform(1)[0] * len(free))])
    number = 1 + np.argsort(chance.uniform(m), kind="stable")
    return np.asarray(number[groups[np.argsort(values, kind="stable")]])


class _Chance:
    """Uniform draws that are a function of the noise, and of those drawn before."""

    def __init__(self, noise: KeyedNoise) -> None:
        self._noise, self._turn = noise, 0

    def uniform(self, count: int) -> Array:
        keys = np.arange((count + 1) // 2, dtype=np.uint64)
        words = self._noise.words(keys, np.full(len(keys), self._turn, dtype=np.uint64), 1)[:count]
        self._turn += 1
        return np.asarray((words >> np.uint64(11)) * 2.0**-53)


class _Table:
    """The buckets while groups are dealt from them."""

    def __init__(self, counts: Places, l: int, chance: _Chance) -> None:  # noqa: E741
        self.l, self.chance = l, chance
        self.left = counts.astype(np.int64)
        self.dealt = 0  # groups so far
        order = np.argsort(-self.left, kind="stable")
        at = self.left[order[l - 1]]
        self.heads, self.queue = order[self.left[order] > at], order[self.left[order] == at]
        self.below = order[self.left[order] < at]
        self._values: list[Places] = []
        self._groups: list[Places] = []

    def deal(self) -> tuple[Places, Places]:
        """Value and group of every row that a group takes while l buckets have rows."""
        while True:
            top = self.left[self.queue[0]]
            come_down = self.left[self.heads] <= top
            if come_down.any():
                self.queue = np.concatenate([self.heads[come_down], self.queue])
                self.heads = self.heads[~come_down]
            floor = self.left[self.below[0]] if self.below.size else 0
            groups = int((self.left[self.queue] - floor).sum()) // (self.l - self.heads.size)
            if self.heads.size:
                groups = min(groups, int(self.left[self.heads].min() - top))
            if groups:
                self._deal(groups)
            elif self.below.size:
                reached = self.left[self.below] == floor
                self.queue = np.concatenate([self.queue, self.below[reached]])
                self.below = self.below[~reached]
            else:
                return np.concatenate(self._values), np.concatenate(self._groups)

    def _deal(self, groups: int) -> None:
        """So many groups: one row of each head, the others from the queue in turn."""
        size, wanted = self.queue.size, self.l - self.heads.size
        # After a span of groups every bucket of the queue has given equally many, and its order can be drawn anew.
        span, rounds = size // gcd(size, wanted), wanted // gcd(size, wanted)
        spans, more = divmod(groups, span)
        in_turn = np.tile(self._orders(spans), (1, rounds)).reshape(-1)
        self.queue = self._orders(1)[0]
        in_turn = np.concatenate([in_turn, self.queue[np.arange(more * wanted) % size]])
        self.queue = np.roll(self.queue, -(more * wanted % size))
        numbers = np.arange(self.dealt, self.dealt + groups)
        self._take(
            [np.repeat(self.heads, groups), in_turn],
            [np.tile(numbers, self.heads.size), numbers.repeat(wanted)],
        )
        self.dealt += groups

    def _take(self, values: Sequence[Places], groups: Sequence[Places]) -> None:
        self._values += values
        self._groups += groups
        self.left -= np.bincount(np.concatenate(values), minlength=self.left.size)

    def _orders(self, count: int) -> Places:
        """Orders of the queue, one a row, in which the larger buckets stand before the others."""
        behind = self.left[self.queue] < self.left[self.queue[0]]
        drawn = self.chance.uniform(count * self.queue.size).reshape(count, self.queue.size)
        return np.asarray(self.queue[np.argsort(drawn + behind, axis=1, kind="stable")])
