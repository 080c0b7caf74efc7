"""Readings of a released column: what an intruder tries who suspects that its values hide others.

A number may be read without its sign, as remainder or quotient, by its fraction or by what stands behind its first
decimals, or with its digits backwards; a text as a number, by the numbers in it, as base64 or as hexadecimal digits;
and a text may be a hash of what is sought.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import numpy as np

from ppduck.values import Array

Reading = tuple[
    str, Array
]  # how a column was read, and the number in every row, NaN where there is none

DIVISORS = (
    2.0,
    *(10.0**k for k in range(1, 10)),
    3600.0,
    86400.0,
    *(2.0**k for k in (8, 10, 16, 20, 32)),
)
DECIMALS = range(1, 9)  # behind which other digits may stand
_LAST_BITS = 1e-13  # of the largest value: digits behind that are rounding
# What stands behind a letter or a digit is a hyphen, and no sign.
_NUMBER = re.compile(r"(?:(?<!\w)[-+])?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_HASHES = ("md5", "sha1", "sha256", "sha512")
_HEXADECIMAL = re.compile(r"[0-9a-f]{8,}")  # of fewer digits, two texts share a beginning by chance
_SOME = 0.5  # share of a column's texts that a reading must make numbers of
_NUMBERS_IN_TEXT = 3


def number(text: str | None) -> float:
    """A text as a finite number, else NaN."""
    try:
        found = float(text) if text is not None else math.nan
    except ValueError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def numbers(texts: Iterable[str | None]) -> Array:
    return np.array([number(text) for text in texts], dtype=float)


def first_numbers(texts: Iterable[str | None]) -> Array:
    """The first number in each text."""
    found = (_NUMBER.search(text) if text else None for text in texts)
    return numbers(None if each is None else each[0] for each in found)


def days(texts: Iterable[str | None]) -> Array:
    """Dates and times as days, of which fractions are the time."""
    return np.array([_day(text) for text in texts], dtype=float)


def _day(text: str | None) -> float:
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return math.nan
    if found is None:
        return math.nan
    seconds = found.hour * 3600 + found.minute * 60 + found.second + found.microsecond / 1e6
    return found.toordinal() + seconds / 86400


def readings_of_numbers(values: Array, texts: Sequence[str | None]) -> Iterator[Reading]:
    """A column of numbers, read in all ways but as it is."""
    known = values[np.isfinite(values)]
    if not len(known):
        return
    largest = np.abs(known).max()
    if (known < 0).any() and (known > 0).any():
        yield "without its sign", np.abs(values)
    whole = bool((known == np.floor(known)).all())
    if not whole:
        yield "by its fraction", values - np.floor(values)
        yield from _behind_decimals(values, largest)
    for divisor in DIVISORS:
        if 2 * divisor < largest < 1e15:
            shown = f"{divisor:.0f}"
            yield f"as remainder by {shown}", np.mod(values, divisor)
            yield f"as quotient by {shown}", np.floor(values / divisor)
    if largest < 1e15:
        yield "with its digits backwards", _backwards(texts)


def _behind_decimals(values: Array, largest: float) -> Iterator[Reading]:
    """Digits behind the first, second … decimal, where there are any."""
    for places in DECIMALS:
        size = 10.0**-places
        if size < _LAST_BITS * largest or largest > 1e15:
            return
        # A value that is rounded to so many decimals may lie a little below itself.
        behind = values - np.floor(values / size + 1e-6) * size
        if not (np.abs(behind) > _LAST_BITS * largest).any():
            return
        yield f"by its digits behind decimal {places}", behind


def readings_of_texts(texts: Sequence[str | None]) -> Iterator[Reading]:
    """A column of texts, read in all ways."""
    plain = numbers(texts)
    if _enough(plain, texts):
        yield "as a number", plain
        yield from readings_of_numbers(plain, texts)
    else:
        found = [_NUMBER.findall(text) if text else [] for text in texts]
        for place in range(_NUMBERS_IN_TEXT):
            read = numbers(each[place] if len(each) > place else None for each in found)
            if np.isfinite(read).any():
                yield f"by number {place + 1} in it", read
        last = numbers(each[-1] if len(each) > _NUMBERS_IN_TEXT else None for each in found)
        if np.isfinite(last).any():
            yield "by the last number in it", last
        yield "with its digits backwards", _backwards(texts)
    yield "by its length", numbers(None if text is None else str(len(text)) for text in texts)
    for how, decode in (("as base64", _of_base64), ("as hexadecimal digits", _of_hexadecimal)):
        read = numbers(decode(text) for text in texts)
        if _enough(read, texts):
            yield how, read


def _enough(read: Array, texts: Sequence[str | None]) -> bool:
    there = sum(text is not None for text in texts)
    return bool(there) and float(np.isfinite(read).sum()) >= _SOME * there


def _backwards(texts: Sequence[str | None]) -> Array:
    return numbers(None if text is None else text.strip("-+")[::-1] for text in texts)


def _of_base64(text: str | None) -> str | None:
    try:
        return base64.b64decode(text or "", validate=True).decode("ascii") if text else None
    except (binascii.Error, ValueError):
        return None


def _of_hexadecimal(text: str | None) -> str | None:
    if not text:
        return None
    digits = text.lower().removeprefix("0x")
    try:
        inside = bytes.fromhex(digits).decode("ascii")
        if math.isfinite(number(inside)):
            return inside
    except ValueError:
        pass
    try:
        return str(int(digits, 16))
    except ValueError:
        return None


def spellings(value: float) -> list[str]:
    """The texts that a number may have been before it was hashed."""
    found = [repr(value), f"{value:.2f}", f"{value:.1f}", f"{value:.0f}"]
    return list(dict.fromkeys(found))


def hashes_of(texts: Iterable[str]) -> Iterator[str]:
    """Hexadecimal hashes of a value's spellings."""
    for text in texts:
        for name in _HASHES:
            yield hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()


def may_be_hash(text: str | None) -> bool:
    """Whether there are hexadecimal digits enough in a text."""
    return bool(text and _HEXADECIMAL.search(text.lower().replace("-", "")))


def is_hash_of(text: str | None, spelt: Sequence[str]) -> bool:
    """Whether a text holds a hash of one of some spellings, or the beginning of one."""
    digits = _HEXADECIMAL.findall(text.lower().replace("-", "")) if text else []
    if not digits:
        return False
    hashes = list(hashes_of(spelt))
    return any(found.startswith(own) or found in own for own in digits for found in hashes)
