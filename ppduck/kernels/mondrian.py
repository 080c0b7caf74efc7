"""Strict multidimensional generalisation: rows in groups whose boxes do not overlap, each of at least k rows.

All rows are one group at first. A group is cut in two at the median of a column, the one with the widest range in it,
as a share of its range over all rows; of the two cuts beside the median, values up to it | values above it and values
below it | values from it on, the more even one comes first. A cut is allowed where both halves have at least k rows and
are l-diverse. Where neither is, the column with the next widest range is asked, and where none can be cut the group is
done. (LeFevre, DeWitt & Ramakrishnan 2006, ICDE, section 4.1.)

A group of n rows, of which c_s have the sensitive value s, is l-diverse (Machanavajjhala et al. 2007)

- by frequency where max c_s ≤ n/l: nobody's value is guessed with more than 1/l,
- by distinct values where l of the c_s are above 0,
- by entropy where -Σ (c_s/n) ln(c_s/n) ≥ ln l.

Rows come as cells, distinct combinations of values with their counts; values as codes, in the order of the column. All
groups of one depth are cut at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.values import Array

Codes = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

FREQUENCY, DISTINCT, ENTROPY = "frequency", "distinct", "entropy"
# Entropies this near are equal: that of l equally frequent values is ln l but for the last digits.
_ROUNDING = 1e-9
# Values are counted in a table of groups by values while it has at most so many places for each cell
# that is counted; a sparser one would cost more than sorting the cells.
_ROOM = 8


@frozen
class Cells:
    """Distinct combinations of quasi-identifiers, with a sensitive value where there is one, and how often they are."""

    codes: Codes  # a row for each cell: of every column the code of its value, 0 … levels - 1
    places: Array  # the same as numbers whose differences are distances
    counts: Codes
    sensitive: Codes | None = None  # codes, too


@frozen
class Rule:
    """What every group owes: at least k rows, and with l diversity of one kind."""

    k: int
    l: int | None = None  # noqa: E741 - its name everywhere
    diversity: str = FREQUENCY

    def largest_l(self, counts: Codes) -> int:
        """The largest l that a group with so many rows of each sensitive value has."""
        present = counts[counts > 0]
        if not present.size:
            return 0
        if self.diversity == DISTINCT:
            return len(present)
        if self.diversity == FREQUENCY:
            return int(present.sum() // present.max())
        return int(
            np.exp(_entropy(present, np.zeros(len(present), dtype=np.int64), 1)[0]) + _ROUNDING
        )

    def holds(self, cells: Cells, of: Codes, groups: int) -> Marks:
        """Whether groups 0 … groups - 1 are large and diverse enough; cells belong to the groups ``of``."""
        size = np.bincount(of, cells.counts, groups)
        large = size >= self.k
        if self.l is None or cells.sensitive is None or not large.any():
            return np.asarray(large)
        counts, owner = _by_value(cells, of, groups)
        if self.diversity == DISTINCT:
            return np.asarray(large & (np.bincount(owner, minlength=groups) >= self.l))
        if self.diversity == ENTROPY:
            return np.asarray(
                large & (_entropy(counts, owner, groups) >= np.log(self.l) - _ROUNDING)
            )
        most = np.zeros(groups, dtype=np.int64)
        np.maximum.at(most, owner, counts)
        return np.asarray(large & (most * self.l <= size))


@frozen
class Groups:
    """The group of every cell, and of every group the least and the largest code in each column: its box."""

    of: Codes
    low: Codes
    high: Codes


def generalized(cells: Cells, rule: Rule) -> Groups:
    """Groups 0, 1, … in the order of the lower corners of their boxes. All cells together must keep the rule."""
    span = np.ptp(cells.places, axis=0)
    of = np.zeros(len(cells.counts), dtype=np.int64)  # final groups, under numbers of no meaning
    active, node, done = np.arange(len(of)), np.zeros(len(of), dtype=np.int64), 0
    while len(active):
        part = _taken(cells, active)
        cut = _Cutting(part, node, span, rule).cut()
        # Halves of one that was cut take two numbers; one that was not is done.
        is_cut = cut >= 0
        left_over = ~is_cut[node]
        final = np.cumsum(~is_cut) - 1
        of[active[left_over]] = done + final[node[left_over]]
        done += int((~is_cut).sum())
        half = _halves(part, node, cut)
        following = 2 * (np.cumsum(is_cut) - 1)[node] + half
        active, node = active[~left_over], following[~left_over]
    return _numbered(cells, of)


class _Cutting:
    """One cut of each of some groups: ``node`` says which group a cell is in."""

    def __init__(self, cells: Cells, node: Codes, span: Array, rule: Rule) -> None:
        self.cells, self.node, self.rule = cells, node, rule
        self.groups = int(node.max()) + 1
        order = np.argsort(node, kind="stable")
        starts = np.searchsorted(node[order], np.arange(self.groups))
        codes, places = cells.codes[order], cells.places[order]
        self.varies = np.maximum.reduceat(codes, starts) > np.minimum.reduceat(codes, starts)
        width = np.maximum.reduceat(places, starts) - np.minimum.reduceat(places, starts)
        width = width / np.where(span > 0, span, 1.0)
        self.by_width = np.argsort(-width, axis=1, kind="stable")
        self.size = np.bincount(node, cells.counts, self.groups)

    def cut(self) -> Codes:
        """For each group column · 2³² + the largest code of its lower half; -1 where it cannot be cut."""
        found = np.full(self.groups, -1, dtype=np.int64)
        for column in self.by_width.T:
            open_ = (found < 0) & (self.size >= 2 * self.rule.k)
            open_ &= np.take_along_axis(self.varies, column[:, None], axis=1)[:, 0]
            if open_.any():
                self._try(np.flatnonzero(open_), column, found)
        return found

    def _try(self, groups: Codes, column: Codes, found: Codes) -> None:
        """Cuts each of these groups in its column, if that is allowed."""
        number = np.full(self.groups, -1, dtype=np.int64)
        number[groups] = np.arange(len(groups))
        mine = np.flatnonzero(number[self.node] >= 0)
        own = number[self.node[mine]]
        cells = _taken(self.cells, mine)
        code = cells.codes[np.arange(len(mine)), column[groups][own]]
        median = _medians(own, code, cells.counts, len(groups))
        upto, below = (
            np.bincount(own, cells.counts * half, len(groups))
            for half in (code <= median[own], code < median[own])
        )
        size = self.size[groups]
        evenly = np.abs(2 * upto - size) <= np.abs(2 * below - size)
        for cut in (np.where(evenly, median, median - 1), np.where(evenly, median - 1, median)):
            unfound = found[groups] < 0
            lower = np.where(cut == median, upto, below)
            asked = unfound & (np.minimum(lower, size - lower) >= self.rule.k)
            if asked.any():
                kept = asked[own]
                renumbered = np.cumsum(asked) - 1
                half = 2 * renumbered[own[kept]] + (code[kept] > cut[own[kept]])
                holds = self.rule.holds(
                    _taken(cells, np.flatnonzero(kept)), half, 2 * int(asked.sum())
                )
                allowed = np.flatnonzero(asked)[holds.reshape(-1, 2).all(axis=1)]
                found[groups[allowed]] = (column[groups[allowed]] << 32) + cut[allowed]


def _medians(group: Codes, code: Codes, counts: Codes, groups: int) -> Codes:
    """The least code up to which at least half of a group's rows lie."""
    order = np.argsort(group * (int(code.max()) + 1) + code)
    total = np.cumsum(counts[order])
    ends = np.searchsorted(group[order], np.arange(groups), side="right") - 1
    upto = total[ends]
    before = np.concatenate([[0], upto[:-1]])
    # 2·(total - before) ≥ n of the group first where total ≥ before + ⌈n/2⌉.
    at = np.searchsorted(total, before + (upto - before + 1) // 2)
    return np.asarray(code[order[at]])


def _halves(cells: Cells, node: Codes, cut: Codes) -> Codes:
    """1 for cells in the upper half of their group, else 0."""
    mine = cut[node]
    column, last = np.maximum(mine, 0) >> 32, mine & 0xFFFFFFFF
    return np.asarray(cells.codes[np.arange(len(node)), column] > last, dtype=np.int64)


def _by_value(cells: Cells, of: Codes, groups: int) -> tuple[Codes, Codes]:
    """How often each sensitive value is in each group, where it is, and in which group that was."""
    assert cells.sensitive is not None
    values = int(cells.sensitive.max()) + 1
    combination = of * values + cells.sensitive
    if groups * values <= _ROOM * len(of):
        table = np.bincount(combination, cells.counts, groups * values).astype(np.int64)
        there = np.flatnonzero(table)
        return table[there], there // values
    order = np.argsort(combination)
    combination = combination[order]
    first = np.flatnonzero(np.concatenate([[True], combination[1:] != combination[:-1]]))
    return np.add.reduceat(cells.counts[order], first), combination[first] // values


def _entropy(counts: Codes, of: Codes, groups: int) -> Array:
    """-Σ p ln p = ln n - (Σ c ln c)/n of the counts of each group."""
    n = np.maximum(np.bincount(of, counts, groups), 1)
    return np.asarray(np.log(n) - np.bincount(of, counts * np.log(counts), groups) / n)


def _taken(cells: Cells, which: Codes) -> Cells:
    sensitive = None if cells.sensitive is None else cells.sensitive[which]
    return Cells(cells.codes[which], cells.places[which], cells.counts[which], sensitive)


def _numbered(cells: Cells, of: Codes) -> Groups:
    """Groups in the order of their boxes: in which order cells came must not show. No two boxes share a corner."""
    order = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[order], np.arange(int(of.max()) + 1))
    low, high = (
        extreme.reduceat(cells.codes[order], starts) for extreme in (np.minimum, np.maximum)
    )
    by_corner = np.lexsort(low.T[::-1])
    number = np.empty(len(starts), dtype=np.int64)
    number[by_corner] = np.arange(len(starts))
    return Groups(number[of], low[by_corner], high[by_corner])
