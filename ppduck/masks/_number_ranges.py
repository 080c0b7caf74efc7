"""Ranges of numbers: where each begins and ends, what it is called, and what a column's type can hold of it.

Numbers are fractions, so that a range of width 0.1 begins where its label says; a type's own nearest number takes the
place of an edge only where values are compared with it.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np

from ppduck.frozen import frozen

MOST_RANGES = 1_000
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_LARGEST = {"FLOAT": float(np.finfo(np.float32).max), "DOUBLE": sys.float_info.max}
_EXACT = Context(prec=1_200)  # digits enough for any fraction of a DOUBLE
_LONG = 45  # characters; a DECIMAL or HUGEINT has fewer


class RangesError(Exception):
    """Ranges that cannot be made; the text says why."""


@frozen
class Numbers:
    """The numbers that a type holds."""

    type: str
    low: Fraction
    high: Fraction
    decimals: int | None  # behind the point; None for floating point

    @property
    def is_whole(self) -> bool:
        return self.decimals == 0

    def holds(self, value: Fraction) -> bool:
        """Whether a number is one of them; of floating point, whether it is among their range."""
        if not self.low <= value <= self.high:
            return False
        return self.decimals is None or (value * 10**self.decimals).denominator == 1

    def nearest(self, value: Fraction) -> Fraction:
        """What the type makes of a number in its range."""
        if self.decimals is not None:
            return value
        near = float(value)
        return number(repr(near) if self.type == "DOUBLE" else str(np.float32(near)))


def numbers_of(type_: str) -> Numbers | None:
    """The numbers of a column's type; None where it holds no numbers."""
    unsigned = type_.startswith("U")
    bits = _BITS.get(type_[unsigned:])
    if bits is not None:
        low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return Numbers(type_, Fraction(low), Fraction(high), 0)
    if type_ in _LARGEST:
        largest = Fraction(_LARGEST[type_])
        return Numbers(type_, -largest, largest, None)
    decimal = _DECIMAL.fullmatch(type_)
    if decimal is None:
        return None
    digits, decimals = map(int, decimal.groups())
    largest = Fraction(10**digits - 1, 10**decimals)
    return Numbers(type_, -largest, largest, decimals)


def number(written: str | int | float | Decimal) -> Fraction:
    """A number as it is written: 0.1 is a tenth."""
    return Fraction(Decimal(repr(written) if isinstance(written, float) else written))


def text(value: Fraction) -> str:
    """A number without zeros that say nothing; a very long one with an exponent."""
    exact = _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(_EXACT)
    plain = f"{exact:f}"
    return plain if len(plain) <= _LONG else str(exact)


@frozen
class Ranges:
    """Ranges that follow each other. Each begins at an edge, which belongs to it, and ends before the next edge."""

    edges: tuple[Fraction, ...]
    below: bool  # whether what lies below the first edge is a range too
    above: bool  # whether one begins at the last edge and has no end
    whole: bool = False  # of whole numbers, so that a label names the last number of its range

    @property
    def spans(self) -> list[tuple[Fraction | None, Fraction | None]]:
        """From where to before where; None where a range is open."""
        inner = pairwise(self.edges)
        first = [(None, self.edges[0])] if self.below else []
        last = [(self.edges[-1], None)] if self.above else []
        return [*first, *inner, *last]

    @property
    def labels(self) -> list[str]:
        """A name for each range, which says where it begins and ends, and hangs on no other range."""
        return [_label(low, high, self.whole) for low, high in self.spans]


def _label(low: Fraction | None, high: Fraction | None, whole: bool) -> str:
    if low is None:
        return f"<{text(high or Fraction(0))}"
    if high is None:
        return f"{text(low)}+"
    if not whole:
        return f"[{text(low)}, {text(high)})"
    last = high - 1
    if last == low:
        return text(low)
    return f"{text(low)}{'-' if low >= 0 else ' to '}{text(last)}"


def by_breaks(numbers: Numbers, breaks: Sequence[Fraction]) -> Ranges:
    """Ranges between some numbers, and those below and above all of them."""
    return _distinct(numbers, Ranges(tuple(breaks), True, True, numbers.is_whole))


def by_width(
    numbers: Numbers,
    width: Fraction,
    origin: Fraction,
    bottom: Fraction | None,
    top: Fraction | None,
    least: Fraction,
    greatest: Fraction,
) -> Ranges:
    """Ranges of one width, of which one begins at the origin.

    What lies below bottom is one range, and what is top or more another. Without them, ranges go from that of the least
    value to that of the greatest; the ranges at bottom and top are cut off there.
    """
    first, last = _cell(least, width, origin), _cell(greatest, width, origin) + 1
    if bottom is not None:
        first = _cell(bottom, width, origin)
        last = max(last, first + 1)
    if top is not None:
        last = -_cell(-top, width, -origin)
        first = min(first, last)
    if last - first > MOST_RANGES:
        raise RangesError(f"makes more than {MOST_RANGES:,} ranges")
    # Of floating point, an edge above the greatest value may be that value, as the type has it.
    if top is None and _ends_before(numbers, origin + last * width, greatest):
        last += 1
    grid = [origin + i * width for i in range(first, last + 1)]
    ends = [end for end in (bottom, top) if end is not None]
    inner = [
        edge
        for edge in grid
        if (bottom is None or edge > bottom) and (top is None or edge < top) and edge not in ends
    ]
    edges = tuple(sorted([*ends, *inner]))
    return _distinct(numbers, Ranges(edges, bottom is not None, top is not None, numbers.is_whole))


def _cell(value: Fraction, width: Fraction, origin: Fraction) -> int:
    return math.floor((value - origin) / width)


def _ends_before(numbers: Numbers, edge: Fraction, greatest: Fraction) -> bool:
    return edge <= numbers.high and numbers.nearest(edge) <= greatest


def _distinct(numbers: Numbers, ranges: Ranges) -> Ranges:
    held = [numbers.nearest(e) for e in ranges.edges if numbers.low <= e <= numbers.high]
    if any(b <= a for a, b in pairwise(held)):
        raise RangesError(f"makes ranges finer than {numbers.type} can tell apart")
    return ranges
