"""What a released column tells of a confidential one, read in all ways that are known: see ``decoding``.

Of a sample of rows there are x, which is confidential; what is public anyway, P: open columns, bent by squares and
tenths, and the masked columns; and a released column in some reading d. Judged are

- the gain R²(x | P, d) - R²(x | P), of ranks and of values: r²(x - E(x|P), d - E(d|P)) of what P leaves of x;
- how many rows have d = x to six digits, against the same with the rows of d dealt out anew;
- how often rows with the same x have the same d, as any function of x does, hashes too: Cohen's κ of these pairs;
- how often neighbours by x that differ by the same amount have the same difference of d, or the same slope: so it is
  for x + c by groups, a·x mod m, bits that are flipped, digits that are moved on;
- whether d is a sum or a product of x and of what is public, to 1e-3 of its variance.

A gain of 5 % is more than any of the masks gives by chance from a few hundred rows on, and less than any of these
leaks. What chance makes of n rows is added: 25/n, five standard errors. Counts are held to one error in a million.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.interrupts import check_interrupt
from ppduck.kernels import decoding
from ppduck.libraries import stats
from ppduck.values import Array

MOST_GAIN = 0.05
# of a column that is kept as it was: only one that is all but x itself is held against it
MOST_KEPT = 0.99
MOST_ALIKE = 0.5  # Cohen's κ of pairs
EXACT = 0.999
SIX_DIGITS = 5e-7
FEWEST = 20  # rows or pairs: of fewer nothing is said
_BY_CHANCE = 1e-6
_OFTEN = 0.01  # where chance makes more values equal, a share of them is judged, and no count
_DEALS = 8
_TENTHS = 10
_FEW_LEVELS = 100
_ROWS_PER_LEVEL = 3


class Role(Enum):
    """What a released column is to the original."""

    MASKED = "masked"
    KEPT = "kept"
    OTHER = "new or changed"
    KEY = "key"
    ORDER = "order of the rows"


class Type(Enum):
    """How the values of a column are to be read from their texts."""

    NUMBER = "number"
    TEXT = "text"
    DATE = "date"


@frozen
class Candidate:
    """A released column, its values as texts."""

    name: str
    role: Role
    type: Type
    texts: Sequence[str | None]

    @cached_property
    def values(self) -> Array | None:
        """As numbers; None of a text."""
        if self.type is Type.TEXT:
            return None
        return (decoding.days if self.type is Type.DATE else decoding.numbers)(self.texts)

    @cached_property
    def missing(self) -> Array:
        return np.array([text is None for text in self.texts], dtype=float)

    @cached_property
    def codes(self) -> npt.NDArray[np.intp]:
        """A number for each value; NULL is one of them."""
        texts = np.array(["\0" if text is None else text for text in self.texts])
        return np.asarray(np.unique(texts, return_inverse=True)[1].reshape(-1))

    @cached_property
    def readings(self) -> list[decoding.Reading]:
        if self.values is None:
            return list(decoding.readings_of_texts(self.texts))
        return list(decoding.readings_of_numbers(self.values, self.texts))


@frozen
class Finding:
    """A figure, what it may be at most, of which confidential column it is, and how that was read."""

    value: float
    at_most: float
    conf: str
    how: str

    @property
    def passed(self) -> bool:
        return self.value <= self.at_most

    @property
    def excess(self) -> float:
        return self.value / self.at_most if self.at_most > 0 else float(self.value > 0) * np.inf


@frozen
class Sample:
    """Rows of both tables: open columns, numbers of conf before and after, categories of conf before, keys."""

    open: Array
    conf: Sequence[str]
    x: Array
    y: Array
    categories: Sequence[str]
    levels: Sequence[Sequence[str | None]]
    keys: Array  # those columns of the key that are numbers


def ranks(values: Array) -> Array:
    """Mid-ranks about their mean, 0 where there is no value, of unit length; zeros for a constant."""
    known = np.isfinite(values)
    found = np.zeros(len(values))
    if known.any():
        found[known] = stats.rankdata(values[known])
        found[known] -= found[known].mean()
    return _unit(found)


def _centred(values: Array) -> Array:
    """The same of the values themselves, whatever their size."""
    known = np.isfinite(values)
    found = np.zeros(len(values))
    if known.any():
        own = values[known]
        peak = np.abs(own).max()
        own = own / peak if peak > 0 else own
        found[known] = own - own.mean()
    return _unit(found)


def _unit(values: Array) -> Array:
    length = float(np.sqrt(values @ values))
    return values / length if length > 1e-12 else np.zeros(len(values))


class Public:
    """An orthonormal basis of what is public."""

    def __init__(self, columns: Sequence[Array], n: int) -> None:
        own = [column for column in columns if column.any()]
        table = np.column_stack([np.full(n, 1 / np.sqrt(n)), *own])
        left, values, _ = np.linalg.svd(table, full_matrices=False)
        self.basis = left[:, values > 1e-9 * values[0]]

    def left_of(self, values: Array) -> Array:
        """What is not public of some values; zeros where that is nothing but rounding."""
        rest = values - self.basis @ (self.basis.T @ values)
        nothing = (rest * rest).sum(axis=0) < 1e-9 * (values * values).sum(axis=0)
        return np.where(nothing, 0.0, rest)


def bent(open_columns: Array) -> list[Array]:
    """Open columns with their squares, and indicators of tenths, as far as there are rows enough for them."""
    n, p = open_columns.shape
    found: list[Array] = []
    for column in open_columns.T:
        found.append(_centred(column))
        if p * (_TENTHS + 1) * 10 < n and len(np.unique(column)) > 2:
            found.append(_centred(found[-1] ** 2))
            tenths = np.floor(stats.rankdata(column) / (n + 1) * _TENTHS)
            found += [_centred((tenths == tenth).astype(float)) for tenth in range(1, _TENTHS)]
    return found


class Search:
    """All columns of one sample, looked at one by one."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.n = len(sample.open)
        self._open = bent(sample.open) if self.n else []
        # The same deals for every column: what is compared is the same from call to call.
        rng = np.random.default_rng(0)
        self._deals = [rng.permutation(self.n) for _ in range(_DEALS)]

    def found_in(self, candidate: Candidate) -> Finding | None:
        """What stands out most; None where there is nothing to look at."""
        if self.n < FEWEST:
            return None
        found = [*self._of_numbers(candidate), *self._of_categories(candidate)]
        # The plainest of the readings that tell; where none does, the one that comes nearest to it.
        telling = (each for each in found if not each.passed)
        return next(telling, max(found, key=lambda each: each.excess, default=None))

    def _public(self, rows: npt.NDArray[np.bool_], candidate: Candidate, *, keys: bool) -> Public:
        """Of a masked column its own values are public: what else it may tell is sought."""
        columns = [_centred(column[rows]) for column in self._open]
        if candidate.role is not Role.KEPT:
            for y in self.sample.y.T:
                columns += [_centred(y[rows]), ranks(y[rows])]
        if keys:
            columns += _powers(self.sample.keys[rows])
        return Public(columns, int(rows.sum()))

    def _of_numbers(self, candidate: Candidate) -> Iterator[Finding]:
        for name, x in zip(self.sample.conf, self.sample.x.T, strict=True):
            rows = np.isfinite(x)
            if rows.sum() < FEWEST or x[rows].min() == x[rows].max():
                continue
            check_interrupt()
            yield from self._of_number(candidate, name, x, rows)

    def _of_number(
        self, candidate: Candidate, name: str, x: Array, rows: npt.NDArray[np.bool_]
    ) -> Iterator[Finding]:
        own = candidate.values
        readings = list(candidate.readings)
        if own is not None and candidate.role is not Role.MASKED:
            readings.insert(0, ("as it is", own))
        public = self._public(rows, candidate, keys=False)
        target = ranks(x[rows])
        left = public.left_of(target)
        for how, d in readings:
            yield from self._equal(name, how, x, d, candidate.role)
            if candidate.role is Role.KEPT:
                r2 = max(float(each @ target) ** 2 for each in (ranks(d[rows]), _centred(d[rows])))
                yield Finding(r2, MOST_KEPT, name, how)
            else:
                yield self._gain(name, how, public, left, [ranks(d[rows])])
                yield self._gain(name, how, public, left, [_centred(d[rows])])
        if candidate.missing[rows].any() and candidate.role is not Role.KEY:
            found = self._gain(name, "by its NULLs", public, left, [_centred(candidate.missing[rows])])
            kept = candidate.role is Role.KEPT
            yield Finding(found.value, found.at_most * (2 if kept else 1), name, found.how)
        if candidate.role is Role.ORDER and own is not None:
            yield self._sorted(name, x[rows], own[rows])
        if candidate.role not in (Role.MASKED, Role.OTHER):
            return
        yield from self._function(candidate, name, x, rows)
        if candidate.type is Type.TEXT and candidate.role is Role.OTHER:
            yield from self._levels(candidate, name, public, left, rows)
        if candidate.type is Type.TEXT:
            yield from self._hashed(candidate, name, [*map(float, x)])
        if own is not None and candidate.role is Role.MASKED:
            yield from self._beside_the_key(candidate, name, own, target, rows)
        if own is not None and candidate.role is Role.OTHER:
            yield from self._combined(name, own)

    def _gain(
        self, name: str, how: str, public: Public, left: Array, columns: Sequence[Array]
    ) -> Finding:
        """What some columns add to R²."""
        rest = public.left_of(np.column_stack(columns))
        basis = Public([*rest.T], len(left)).basis[:, 1:] if rest.any() else rest[:, :0]
        terms = basis.shape[1]
        gain = float(((basis.T @ left) ** 2).sum()) if terms else 0.0
        chance = (max(terms, 1) + 5 * np.sqrt(2 * max(terms, 1)) + 17) / len(left)
        return Finding(gain, MOST_GAIN + chance, name, how)

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
        order = np.flatnonzero(rows)[np.argsort(x[rows], kind="stable")]
        sorted_x, codes = x[order], candidate.codes[order]
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
            yield from self._differences(name, sorted_x, d[order])

    def _differences(self, name: str, x: Array, d: Array) -> Iterator[Finding]:
        step, change = np.diff(x), np.diff(d)
        some = step > 0
        if some.sum() < FEWEST:
            return
        step, change = step[some], change[some]
        n = len(step)
        one = np.zeros(n)
        ways = {
            "by the slope between neighbours": lambda changes: _repeated(one, changes / step),
            "by the difference of neighbours": lambda changes: _repeated(step, changes),
        }
        for how, count in ways.items():
            pairs, same = count(change)
            if pairs >= FEWEST:
                dealt = max(count(change[deal[deal < n]])[1] for deal in self._deals[:2])
                most = max(3.0 * dealt, float(stats.poisson.isf(_BY_CHANCE, dealt + 3)))
                yield Finding(same / pairs, max(most / pairs, 0.02), name, how)

    def _levels(
        self,
        candidate: Candidate,
        name: str,
        public: Public,
        left: Array,
        rows: npt.NDArray[np.bool_],
    ) -> Iterator[Finding]:
        """A text of few values as a category."""
        codes = candidate.codes[rows]
        levels, sizes = np.unique(codes, return_counts=True)
        if 1 < len(levels) <= min(_FEW_LEVELS, len(codes) / _ROWS_PER_LEVEL):
            large = levels[np.argsort(-sizes)][1:]
            columns = [_centred((codes == level).astype(float)) for level in large]
            yield self._gain(name, "by its values", public, left, columns)

    def _hashed(
        self, candidate: Candidate, name: str, values: Sequence[float | str | None]
    ) -> Iterator[Finding]:
        """Whether texts are hashes of the values beside them; one in a hundred rows is looked at first."""
        looked = range(0, self.n, max(1, self.n // 500))
        found = 0
        for i in looked:
            value = values[i]
            if value is None or value != value:
                continue
            spelt = [value] if isinstance(value, str) else decoding.spellings(value)
            found += decoding.is_hash_of(candidate.texts[i], spelt)
        yield Finding(found / len(looked), 0.0, name, "as its hash")

    def _beside_the_key(
        self,
        candidate: Candidate,
        name: str,
        own: Array,
        target: Array,
        rows: npt.NDArray[np.bool_],
    ) -> Iterator[Finding]:
        """A masked column may be x and something that the key tells: it then tells more once that is taken off."""
        if not self.sample.keys.size:
            return
        bare = Public([_centred(column[rows]) for column in self._open], int(rows.sum()))
        with_key = Public([*bare.basis.T, *_powers(self.sample.keys[rows])], int(rows.sum()))
        gains = []
        for public in (bare, with_key):
            left = public.left_of(target)
            gains.append(self._gain(name, "beside the key", public, left, [_centred(own[rows])]))
        before, after = gains
        yield Finding(after.value - before.value, after.at_most, name, "beside the key")

    def _combined(self, name: str, own: Array) -> Iterator[Finding]:
        """Whether a column is a sum, or a product, of x and of what is public, and not of the latter alone."""
        x = self.sample.x[:, [self.sample.conf.index(name)]]
        others = np.column_stack([self.sample.x, self.sample.y, self.sample.open])
        for how, change in (("in a sum", lambda v: v), ("in a product", _logarithm)):
            d, with_x, table = change(own), change(x), change(others)
            rows = np.isfinite(d) & np.isfinite(with_x).all(axis=1)
            usable = np.isfinite(table[rows]).all(axis=0)
            rows &= np.isfinite(table[:, usable]).all(axis=1)
            if rows.sum() < FEWEST * (usable.sum() + 1):
                continue
            target = _centred(d[rows])
            columns = [_centred(column[rows]) for column in table.T[usable]]
            mine = _centred(with_x[rows, 0])
            without = [column for column in columns if not np.allclose(column, mine)]
            r2_all, r2_without = (
                float(target @ target - (rest := Public(each, int(rows.sum())).left_of(target)) @ rest)
                for each in (columns, without)
            )
            if r2_without < EXACT and r2_all > EXACT:
                yield Finding(r2_all, EXACT, name, how)

    def _sorted(self, name: str, x: Array, position: Array) -> Finding:
        """Steps up against steps down, from row to row: as many in any order that does not heed x, and Var = 1/3n."""
        steps = np.sign(np.diff(x[np.argsort(position, kind="stable")]))
        moved = int((steps != 0).sum())
        lean = abs(float(steps.sum())) / moved if moved else 0.0
        return Finding(lean, 0.1 + 5 * np.sqrt(1 / (3 * max(moved, 1))), name, "sorted in runs")

    def _of_categories(self, candidate: Candidate) -> Iterator[Finding]:
        """How often a category is guessed right from the values of a column, beyond its most frequent level."""
        codes = candidate.codes
        few = len(np.unique(codes)) <= min(_FEW_LEVELS, self.n / _ROWS_PER_LEVEL)
        for name, levels in zip(self.sample.categories, self.sample.levels, strict=True):
            texts = np.array(["\0" if level is None else level for level in levels])
            own = np.unique(texts, return_inverse=True)[1].reshape(-1)
            if own.max(initial=0) == 0:
                continue
            if candidate.role is Role.OTHER and candidate.type is Type.TEXT:
                yield from self._hashed(candidate, name, levels)
            if not few or candidate.role in (Role.MASKED, Role.ORDER):
                continue
            right = guessed(codes, own)
            chance = float(np.bincount(own).max()) / self.n
            limit = 0.9 if candidate.role is Role.KEPT else 0.1
            spread = 5 * np.sqrt(chance * (1 - chance) / self.n)
            gain = (right - chance) / max(1 - chance, 1e-9)
            yield Finding(gain, limit + spread / max(1 - chance, 1e-9), name, "by its values")


def guessed(codes: npt.NDArray[np.intp], of: npt.NDArray[np.intp]) -> float:
    """The share that is right when each half is guessed by what the other half has most often for a code."""
    cells = np.column_stack([np.arange(len(codes)) % 2, codes, of])
    kinds, counts = np.unique(cells, axis=0, return_counts=True)
    return guessed_from(*kinds.T, counts)


def guessed_from(
    half: npt.NDArray[np.intp],
    seen: npt.NDArray[np.intp],
    of: npt.NDArray[np.intp],
    counts: npt.NDArray[Any],
) -> float:
    """The same from counts of each half, of what is seen, and of what is guessed."""
    right = 0.0
    for own in (0, 1):
        learnt = half == own
        if not learnt.any():
            continue
        overall = int(np.bincount(of[learnt], counts[learnt]).argmax())
        best = np.full(seen.max() + 1, overall)
        # Of each code the largest count comes last, and stays.
        order = np.lexsort((counts[learnt], seen[learnt]))
        best[seen[learnt][order]] = of[learnt][order]
        right += float(counts[~learnt][best[seen[~learnt]] == of[~learnt]].sum())
    return right / float(counts.sum())


def _repeated(groups: Array, values: Array) -> tuple[int, int]:
    """Of neighbours within groups, in the order of their values: how many there are, and how many are equal."""
    size = 10.0 ** np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
    six_digits = np.round(values / size, 5) * size
    order = np.lexsort((six_digits, groups))
    inside = groups[order][1:] == groups[order][:-1]
    same = inside & np.isclose(six_digits[order][1:], six_digits[order][:-1], rtol=1e-7, atol=0.0)
    return int(inside.sum()), int(same.sum())


def _powers(keys: Array) -> list[Array]:
    """What a formula may make of a key: powers, root and logarithm."""
    found = []
    for key in keys.T:
        least = np.nanmin(key) if np.isfinite(key).any() else 0.0
        above = key - least + 1
        for made in (above, above**2, above**3, np.sqrt(above), np.log(above)):
            found.append(_centred(made))
    return found


def _logarithm(values: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.where(values > 0, values, np.nan)))
