"""What a released column tells of a confidential one, read in all ways that are known: see ``decoding``.

Of a sample of rows there are x, which is confidential; what is public anyway, P: open columns, bent by squares and
tenths, and the masked columns; and a released column in some reading d. Judged are

- the gain R²(x | P, d) - R²(x | P), of ranks and of values, by itself and as a share of 1 - R²(x | P);
- how many rows have d = x to six digits, against the same with the rows of d dealt out anew;
- how often rows with the same x have the same d, as any function of x does, hashes too: Cohen's κ of these pairs;
- how often neighbours by x that differ by the same amount have the same difference of d, or the same slope: so it is
  for x + c by groups, a·x mod m, bits that are flipped, digits that are moved on;
- whether d is a sum or a product of x and of what is public, to 1e-3 of its variance;
- the gain of how far x ranks from the middle: rows may lie in the order of that, and half of a pair be left to guess;
- of a masked column, whether the values of x stand in rows near their own.

A gain of 5 % is more than any of the masks gives by chance from a few hundred rows on, and less than any of these
leaks. What chance makes of n rows is added: 25/n, five standard errors. Counts are held to one error in a million.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ppduck.interrupts import check_interrupt
from ppduck.kernels import decoding, neighbours
from ppduck.kernels.copies import SIX_DIGITS
from ppduck.kernels.finding import (
    AS_IT_IS,
    FEWEST,
    MOST_ALIKE,
    MOST_GAIN,
    MOST_KEPT,
    Finding,
    most_gain,
    worst,
)
from ppduck.kernels.looked_rows import Sample, Targets
from ppduck.kernels.moved_rows import moved
from ppduck.kernels.public import Public, bent, centred, from_the_middle, logarithm, ranks, unit
from ppduck.kernels.released_column import Candidate, Role, Type
from ppduck.kernels.told_categories import FEW_LEVELS, ROWS_PER_LEVEL, hashed, told
from ppduck.libraries import stats
from ppduck.values import Array

MOST_OF_THE_REST = 0.5
# Steps up less steps down, as a share of the steps: rows that are sorted five at a time have 0.6.
MOST_LEAN = 0.5
# Mean of what is left of x among rows that share a value, in its standard deviations.
MOST_SHIFT = 0.5
LEAST_SQUARED = 1e-150  # of smaller deviations no square is left
EXACT = 0.999
_BY_CHANCE = 1e-6
_OFTEN = 0.01  # where chance makes more values equal, a share of them is judged, and no count
_DEALS = 8


class Search:
    """All columns of one sample, looked at one by one."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.n = len(sample.open)
        # The same deals for every column: what is compared is the same from call to call.
        rng = np.random.default_rng(0)
        self._deals = [rng.permutation(self.n) for _ in range(_DEALS)]

    @cached_property
    def targets(self) -> list[Targets]:
        sample, found = self.sample, dict[bytes, list[int]]()
        for place, x in enumerate(sample.x.T):
            known = np.isfinite(x)
            if known.sum() >= FEWEST and x[known].min() < x[known].max():
                found.setdefault(known.tobytes(), []).append(place)
        made = []
        for places in found.values():
            rows = np.isfinite(sample.x[:, places[0]])
            x = sample.x[rows][:, places]
            made.append(
                Targets(
                    rows=rows,
                    names=[sample.conf[place] for place in places],
                    x=x,
                    ranks=np.column_stack([ranks(column) for column in x.T]),
                    open=bent(sample.open[rows]),
                    y=sample.y[rows],
                    keys=sample.keys[rows],
                )
            )
        return made

    def found_in(self, candidate: Candidate) -> Finding | None:
        """What stands out most; None where there is nothing to look at."""
        if self.n < FEWEST:
            return None
        found = [*self._of_numbers(candidate), *told(self.sample, candidate)]
        return worst(found)

    def _of_numbers(self, candidate: Candidate) -> Iterator[Finding]:
        for targets in self.targets:
            check_interrupt()
            yield from self._read(candidate, targets)
            for place, name in enumerate(targets.names):
                yield from self._of_number(candidate, targets, place, name)

    def _read(self, candidate: Candidate, targets: Targets) -> Iterator[Finding]:
        """A column in all its readings."""
        own = candidate.values
        readings = list(candidate.readings)
        if own is not None and candidate.role is not Role.MASKED:
            readings.insert(0, (AS_IT_IS, own))
        read = [d[targets.rows] for _, d in readings]
        if candidate.role is Role.KEPT:
            columns = [each for d in read for each in (ranks(d), centred(d))]
            gains = (
                np.square(np.column_stack(columns).T @ targets.ranks)
                if columns
                else np.empty((0, 0))
            )
        else:
            columns = [each for d in read for each in (ranks(d), centred(d))]
            columns.append(centred(candidate.missing[targets.rows]))
            rest = targets.by_release.left_of(np.column_stack(columns))
            lengths = np.maximum(np.sqrt((rest * rest).sum(axis=0)), 1e-300)
            gains = np.square((rest / lengths).T @ targets.left_by_release)
        most = MOST_KEPT if candidate.role is Role.KEPT else most_gain(1, targets.n)
        for i, (how, _) in enumerate(readings):
            for place, name in enumerate(targets.names):
                yield from self._equal(name, how, targets.x[:, place], read[i], candidate.role)
                gain = float(gains[2 * i : 2 * i + 2, place].max())
                yield Finding(gain, most, name, how)
                if candidate.role is not Role.KEPT:
                    yield self._of_what_is_left(gain, targets, place, how)
        if candidate.role is not Role.KEPT and candidate.missing.any():
            for place, name in enumerate(targets.names):
                yield Finding(float(gains[-1, place]), most, name, "by its NULLs")

    def _of_what_is_left(self, gain: float, targets: Targets, place: int, how: str) -> Finding:
        """The gain as a share of what is not public: little of x may be left, and all of that be told."""
        left = float(np.square(targets.left_by_release[:, place]).sum())
        chance = most_gain(1, targets.n) - MOST_GAIN
        share = gain / left if left > 0 else 0.0
        return Finding(share, MOST_OF_THE_REST + chance, targets.names[place], how)

    def _of_number(
        self, candidate: Candidate, targets: Targets, place: int, name: str
    ) -> Iterator[Finding]:
        own, rows, x = candidate.values, targets.rows, targets.x[:, place]
        if candidate.role is Role.KEPT and candidate.missing[rows].any():
            nulls = [centred(candidate.missing[rows])]
            left = targets.by_open.left_of(targets.ranks[:, [place]])[:, 0]
            found = self._gain(name, "by its NULLs", targets.by_open, left, nulls)
            yield Finding(found.value, 2 * found.at_most, name, found.how)
        if candidate.role is Role.ORDER and own is not None:
            yield self._sorted(targets, place, own[rows])
        if candidate.role is not Role.KEPT and own is not None:
            yield self._folded(candidate, targets, place, own[rows])
        if candidate.role not in (Role.MASKED, Role.OTHER):
            return
        yield from self._function(candidate, name, x, rows)
        left = targets.left_by_release[:, place]
        yield from self._levels(candidate, name, targets.by_release, left, rows)
        if candidate.type is Type.TEXT:
            whole = self.sample.x[:, self.sample.conf.index(name)]
            yield hashed(candidate, name, [*map(float, whole)])
        elif own is not None and candidate.role is Role.MASKED:
            yield from self._too_small(targets, place, name, own[rows])
            yield from self._beside_the_key(targets, place, name, own[rows])
            yield from self._moved(name, own)
        elif own is not None:
            yield from self._combined(name, own)

    def _gain(
        self, name: str, how: str, public: Public, left: Array, columns: Sequence[Array]
    ) -> Finding:
        """What some columns together add to R²."""
        rest = public.left_of(np.column_stack(columns))
        basis = Public([unit(column) for column in rest.T], len(left)).basis
        gain = float(np.square(basis.T @ left).sum())
        return Finding(gain, most_gain(basis.shape[1], len(left)), name, how)

    def _equal(self, name: str, how: str, x: Array, d: Array, role: Role) -> Iterator[Finding]:
        """Rows in which a reading is x to six digits, against such rows when it is dealt out anew."""
        both = np.isfinite(x) & np.isfinite(d)
        n = int(both.sum())
        if n == 0:
            return
        x, d = x[both], d[both]
        near = SIX_DIGITS * np.abs(x)
        same = int((np.abs(x - d) <= near).sum())
        if same == 0:
            return
        # A number of many decimals is nobody else's by chance: one is enough.
        with np.errstate(over="ignore"):  # digits of a hash may be read as 12e307
            exact = (x == d) & (np.round(d, 3) != d)
        if role is Role.OTHER and exact.any() and not np.isin(d[exact], x[~exact]).any():
            yield Finding(float(exact.mean()), 0.0, name, f"{how}, to the last digit")
        deals = (deal[deal < n] for deal in self._deals)
        chance = sum(int((np.abs(x - d[deal]) <= near).sum()) for deal in deals) / (_DEALS * n)
        told = f"{how}, to six digits"
        if chance > _OFTEN or role is Role.KEPT:
            yield Finding((same / n - chance) / max(1 - chance, 1e-9), MOST_ALIKE, name, told)
        else:
            # Of so many deals without a hit, there may still be three.
            expected = max(chance * n, 3 / _DEALS if same < FEWEST else 0.0)
            most = float(stats.poisson.isf(_BY_CHANCE, expected))
            yield Finding(same / n, most / n, name, told)

    def _function(
        self, candidate: Candidate, name: str, x: Array, rows: npt.NDArray[np.bool_]
    ) -> Iterator[Finding]:
        """Rows with the same x, and neighbours by x."""
        by_size = np.argsort(x, kind="stable")
        order = np.flatnonzero(rows)[by_size]
        sorted_x, codes = x[by_size], candidate.codes[order]
        tied = np.flatnonzero(sorted_x[1:] == sorted_x[:-1])
        if len(tied) >= FEWEST:
            shares = np.bincount(codes) / len(codes)
            chance = float(shares @ shares)
            alike = float((codes[tied] == codes[tied + 1]).mean())
            if chance < 1:
                spread = 5 * np.sqrt(chance * (1 - chance) / len(tied)) / (1 - chance)
                kappa = (alike - chance) / (1 - chance)
                yield Finding(kappa, MOST_ALIKE + spread, name, "as a function of its values")
        d = candidate.values if candidate.values is not None else decoding.numbers(candidate.texts)
        if np.isfinite(d[order]).all():
            for how, share, most in neighbours.repeated(sorted_x, d[order], self._deals[:2]):
                yield Finding(share, most, name, how)

    def _levels(
        self,
        candidate: Candidate,
        name: str,
        public: Public,
        left: Array,
        rows: npt.NDArray[np.bool_],
    ) -> Iterator[Finding]:
        """Values that many rows have, as a category: 0 and -0, too, are two texts; a rare one may tell much of few."""
        codes = candidate.codes[rows]
        levels, sizes = np.unique(codes, return_counts=True)
        order = np.argsort(-sizes, kind="stable")[:FEW_LEVELS]
        levels, sizes = levels[order], sizes[order]
        often = sizes >= ROWS_PER_LEVEL
        if len(np.unique(codes)) > 1 and often.any() and often.all():
            columns = [centred((codes == level).astype(float)) for level in levels[1:]]
            yield self._gain(
                name, "by its values", public, left, columns or [centred(codes.astype(float))]
            )
        spread = float(np.sqrt(left @ left / len(left)))
        for level, size in zip(levels, sizes, strict=True):
            if size >= FEWEST // 2 and size <= len(codes) / 2 and spread > 0:
                shift = abs(float(left[codes == level].mean())) / spread
                yield Finding(
                    shift, MOST_SHIFT + 5 / float(np.sqrt(size)), name, "by a value that few have"
                )

    def _too_small(self, targets: Targets, place: int, name: str, own: Array) -> Iterator[Finding]:
        """Rules of masked columns square them: to these rules a column is a constant whose squares are 0."""
        known = own[np.isfinite(own)]
        if not len(known) or not 0 < known.max() - known.min() < LEAST_SQUARED:
            return
        left = targets.by_open.left_of(targets.ranks[:, [place]])[:, 0]
        released = [each for y in targets.y.T for each in (centred(y), ranks(y))]
        yield self._gain(name, "as numbers too small to square", targets.by_open, left, released)

    def _beside_the_key(
        self, targets: Targets, place: int, name: str, own: Array
    ) -> Iterator[Finding]:
        """A masked column may be x and something that the key tells: it then tells more once that is taken off."""
        if not targets.keys.size:
            return
        before, after = (
            self._gain(
                name, "", public, public.left_of(targets.ranks[:, [place]])[:, 0], [centred(own)]
            )
            for public in (targets.by_open, targets.by_key)
        )
        yield Finding(after.value - before.value, after.at_most, name, "beside the key")

    def _folded(self, candidate: Candidate, targets: Targets, place: int, own: Array) -> Finding:
        """How far x is from the middle; of a masked column, which is public, as a share of what is left of that."""
        masked = candidate.role is Role.MASKED
        public = targets.by_open if masked else targets.by_folded_release
        left = public.left_of(targets.folded[:, [place]])[:, 0]
        columns = [centred(own), ranks(own), from_the_middle(own)]
        how = "by how far it is from the middle"
        found = self._gain(targets.names[place], how, public, left, columns)
        if not masked:
            return found
        share = found.value / float(left @ left) if left.any() else 0.0
        most = MOST_OF_THE_REST + found.at_most - MOST_GAIN
        return Finding(share, most, found.conf, how)

    def _moved(self, name: str, own: Array) -> Iterator[Finding]:
        """Whether values stand in rows near their own."""
        x = self.sample.x[:, self.sample.conf.index(name)]
        for key in self.sample.keys.T:
            for how, d in moved(own, key):
                yield from self._equal(name, how, x, d, Role.MASKED)

    def _combined(self, name: str, own: Array) -> Iterator[Finding]:
        """Whether a column is a sum, or a product, of x and of what is public, and not of the latter alone."""
        x = self.sample.x[:, [self.sample.conf.index(name)]]
        others = np.column_stack([self.sample.x, self.sample.y, self.sample.open])
        for how, change in (("in a sum", np.asarray), ("in a product", logarithm)):
            d, with_x, table = change(own), change(x), change(others)
            rows = np.isfinite(d) & np.isfinite(with_x).all(axis=1)
            usable = np.isfinite(table[rows]).all(axis=0)
            rows &= np.isfinite(table[:, usable]).all(axis=1)
            if rows.sum() < FEWEST * (usable.sum() + 1):
                continue
            target = centred(d[rows])
            columns = [centred(column[rows]) for column in table.T[usable]]
            mine = centred(with_x[rows, 0])
            without = [column for column in columns if not np.allclose(column, mine)]
            r2_all, r2_without = (
                1 - float(np.square(Public(each, int(rows.sum())).left_of(target[:, None])).sum())
                for each in (columns, without)
            )
            if r2_without < EXACT and r2_all > EXACT:
                yield Finding(r2_all, EXACT, name, how)

    def _sorted(self, targets: Targets, place: int, position: Array) -> Finding:
        """Whether x rises, or falls, from row to row more often than what open columns tell of it does."""
        order = np.argsort(position, kind="stable")
        own = targets.ranks[:, [place]]
        open_part = own - targets.by_open.left_of(own)
        lean, of_open = (abs(neighbours.lean(each[order, 0])) for each in (own, open_part))
        most = MOST_LEAN + 5 * float(np.sqrt(1 / (3 * targets.n)))
        return Finding(max(lean - of_open, 0.0), most, targets.names[place], "sorted in runs")
