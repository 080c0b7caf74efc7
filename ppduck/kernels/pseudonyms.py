"""Pseudonyms: values replaced by what only a secret can tell of them, the same in every table.

A *context* is a text that says form and domain. Its 32 bytes of key are SHA-256(r ‖ SHA-256(context)) with
r = SHA-256("ppduck pseudonyms 1\\0" ‖ secret): two keys of AES-128, k₁ and k₂.

* **Blocks** of 128 bits are AES(k₁, first 16 bytes of the SHA-256 of a value's text); long ones are followed by the
  same under k₂. Different digests have different blocks: two of n values share one with a probability of n²/2¹²⁹.
* **Numbers** from 0 to 2⁶³ - 1 are permuted by FF1 of their 63 binary digits, and a number x below 0 is ~P(~x), with
  P another such permutation: the sign stays, and so the result is never negative for a number that is not.
* **Digits** are permuted by FF1 of radix 10, so that the first one is 0 where it was 0, and there only: a number and
  its text, which has no leading zero, have the same pseudonym. FF1 is repeated until it comes to such a string (cycle
  walking); where the first digit is 0 and six or more follow, it stays and FF1 permutes these.

FF1 is that of NIST SP 800-38G under k₁; its tweak is the first six bytes of SHA-256(context) and one that tells these
permutations apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.kernels.aes import Aes
from ppduck.kernels.ff1 import Ff1, Numerals

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

DIGEST = 16  # bytes of a value's digest that count
FEWEST_DIGITS = 6  # a million strings, which FF1 asks for
MOST_DIGITS = 128  # beyond 36 each takes a fraction of a millisecond
_LOW_BITS = 32  # the second half of 63
_ZERO = ord("0")
_MOST_KEPT = 64  # contexts of which the keys are kept
_KEY = 16
_TWEAK = 6
_PLAIN, _OTHER = b"\0", b"\1"
TOKEN = 26  # letters and digits of five bits
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", dtype=np.uint8)  # RFC 4648
_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_OF_HEX = np.zeros(256, dtype=np.uint8)
_OF_HEX[_HEX] = np.arange(16)
_UUID_GROUPS = (8, 4, 4, 4, 12)


class Pseudonyms:
    """What is derived of a secret, which is not kept."""

    def __init__(self, secret: bytes) -> None:
        self.__setstate__(hashlib.sha256(b"ppduck pseudonyms 1\0" + secret).digest())

    def of(self, context: str) -> Domain:
        """What makes the pseudonyms of a context."""
        kept = self._kept.get(context)
        if kept is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            kept = self._kept[context] = Domain(self._root, context)
        return kept

    def __getstate__(self) -> bytes:
        """A process of another engine gets what is derived, and never the secret."""
        return self._root

    def __setstate__(self, root: bytes) -> None:
        self._root = root
        self._kept: dict[str, Domain] = {}


class Domain:
    """The pseudonyms of one context."""

    def __init__(self, root: bytes, context: str) -> None:
        named = hashlib.sha256(context.encode()).digest()
        keys = hashlib.sha256(root + named).digest()
        self._first, self._second = Aes(keys[:_KEY]), Aes(keys[_KEY:])
        tweaks = [named[:_TWEAK] + end for end in (_PLAIN, _OTHER)]
        self._bits, self._bits_below_0 = (Ff1(self._first, 2, tweak) for tweak in tweaks)
        self._digits, self._digits_after_0 = (Ff1(self._first, 10, tweak) for tweak in tweaks)

    def blocks(self, digests: Bytes) -> Bytes:
        """A row of 16 bytes for each digest of 16."""
        return self._first.sealed(digests).view(np.uint8).reshape(-1, DIGEST)

    def long_blocks(self, digests: Bytes) -> Bytes:
        """A row of 32 bytes for each digest of 16."""
        second = self._second.sealed(digests).view(np.uint8).reshape(-1, DIGEST)
        return np.hstack([self.blocks(digests), second])

    def numbers(self, numbers: Integers, *, back: bool = False) -> Integers:
        """Whole numbers of 64 bits permuted, or permuted back."""
        below = numbers < 0
        found = np.empty_like(numbers)
        for which, permuted in ((~below, self._bits), (below, self._bits_below_0)):
            bits = np.where(below, ~numbers, numbers)[which].view(np.uint64)
            low = bits & np.uint64((1 << _LOW_BITS) - 1)
            a, b = permuted.halves(63, bits >> np.uint64(_LOW_BITS), low, back=back)
            found[which] = (a << np.uint64(_LOW_BITS) | b).view(np.int64)
        return np.where(below, ~found, found)

    def digits(self, rows: Numerals, *, back: bool = False) -> Numerals:
        """Rows of so many digits permuted, or permuted back."""
        length = rows.shape[1]
        if not FEWEST_DIGITS <= length <= MOST_DIGITS:
            raise ValueError(f"{length} digits are not from {FEWEST_DIGITS} to {MOST_DIGITS}")
        led_by_0 = rows[:, 0] == 0
        kept = led_by_0 if length > FEWEST_DIGITS else np.zeros_like(led_by_0)
        found = rows.copy()
        if kept.any():
            found[kept, 1:] = _permuted(self._digits_after_0, rows[kept, 1:], back)
        left = np.flatnonzero(~kept)
        while len(left):
            found[left] = _permuted(self._digits, found[left], back)
            left = left[(found[left, 0] == 0) != led_by_0[left]]
        return found


def _permuted(of: Ff1, rows: Numerals, back: bool) -> Numerals:
    return of.opened(rows) if back else of.sealed(rows)


def with_digits(text: Bytes, ends: Integers, permuted: Callable[[Numerals], Numerals]) -> Bytes:
    """Texts that lie one behind the other, with the digits of each permuted and all else in its place.

    Parameters
    ----------
    text:
        The texts in UTF-8, in which the bytes of 0 to 9 stand for nothing else.
    ends:
        Where each begins, and where the last one ends.
    """
    found = text.copy()
    places = np.flatnonzero(text - np.uint8(_ZERO) < 10)
    firsts = np.searchsorted(places, ends)
    counts = np.diff(firsts)
    for count in np.unique(counts).tolist():
        own = places[firsts[:-1][counts == count, None] + np.arange(count)]
        found[own] = permuted(text[own] - np.uint8(_ZERO)) + np.uint8(_ZERO)
    return found


def base32(blocks: Bytes) -> Bytes:
    """Blocks of 128 bits as 26 letters and digits each (RFC 4648, in lower case and without padding)."""
    # 130 bits of which two are 0; five bytes give eight letters
    padded = np.zeros((len(blocks), 4, 5), dtype=np.uint8)
    padded.reshape(len(blocks), -1)[:, :DIGEST] = blocks
    b = np.ascontiguousarray(padded.transpose(2, 0, 1))
    fives = [
        b[0] >> 3,
        b[0] << 2 | b[1] >> 6,
        b[1] >> 1,
        b[1] << 4 | b[2] >> 4,
        b[2] << 1 | b[3] >> 7,
        b[3] >> 2,
        b[3] << 3 | b[4] >> 5,
        b[4],
    ]
    letters = np.stack(fives, axis=-1).reshape(len(blocks), -1)[:, :TOKEN]
    found: Bytes = _LETTERS[letters & 31]
    return found


def hexadecimal(blocks: Bytes) -> Bytes:
    """Bytes as two digits each."""
    halves = np.stack([blocks >> np.uint8(4), blocks & np.uint8(15)], axis=-1)
    found: Bytes = _HEX[halves.reshape(len(blocks), -1)]
    return found


def digests_of(texts: Bytes) -> Bytes:
    """The other way round, of the digits that count of each digest."""
    values = _OF_HEX[texts[:, : 2 * DIGEST]]
    return np.ascontiguousarray(values[:, ::2] << np.uint8(4) | values[:, 1::2])


def uuids(blocks: Bytes) -> Bytes:
    """Blocks of 128 bits as UUIDs of version 8, whose bits are free but for six (RFC 9562, section 5.8)."""
    own = blocks.copy()
    own[:, 6] = own[:, 6] & 0x0F | 0x80
    own[:, 8] = own[:, 8] & 0x3F | 0x80
    digits = hexadecimal(own)
    dash = np.full((len(own), 1), ord("-"), dtype=np.uint8)
    parts: list[Any] = []
    for group in np.split(digits, np.cumsum(_UUID_GROUPS)[:-1], axis=1):
        parts += [dash, group]
    return np.hstack(parts[1:])
