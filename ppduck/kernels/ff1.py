"""FF1: encryption that keeps the format, of numerals of one radix and length.

As Dworkin (2016), NIST SP 800-38G, states it in algorithms 7 and 8.

A numeral string of length n is cut into A, its first u = ⌊n/2⌋ numerals, and B, the other v = n - u. Ten rounds make
(A, B) into (B, A + y mod radix^m), m being the length of A, with y the first d bytes of the CBC-MAC of
[1, 2, 1, radix (3 bytes), 10, u mod 256, n (4), t (4)] ‖ tweak ‖ zeros ‖ round ‖ B (b bytes), b those that a number of
v numerals has and d = 4⌈b/4⌉ + 4. It permutes all strings of n numerals; there must be a million of them, which the
first revision of the standard asks for, as fewer can be tried out.

Strings are rows of an array. Where a half fits 60 bits, all rows are worked on at once: a round is then one AES block a
row, because all blocks before the last are the same. Longer ones are numbers of Python's, row by row.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.kernels.aes import BLOCK, Aes, Words

Numerals = npt.NDArray[np.uint8]
ROUNDS = 10
LEAST_STRINGS = 1_000_000
MOST_RADIX = 256  # numerals are bytes
_FAST_BITS = 60  # of a half: four more are room for a remainder taken in steps
_NUMBER = 8  # bytes of a word


class Ff1:
    """FF1 under one key and tweak."""

    def __init__(self, aes: Aes, radix: int, tweak: bytes = b"") -> None:
        if not 2 <= radix <= MOST_RADIX:
            raise ValueError(f"radix must be from 2 to {MOST_RADIX}")
        self.aes, self.radix, self.tweak = aes, radix, tweak
        self._lengths: dict[int, _Length] = {}

    def sealed(self, rows: Numerals) -> Numerals:
        """The rows encrypted."""
        return self._applied(rows, back=False)

    def opened(self, rows: Numerals) -> Numerals:
        """The rows decrypted."""
        return self._applied(rows, back=True)

    def halves(self, n: int, a: Words, b: Words, *, back: bool) -> tuple[Words, Words]:
        """The same of strings that are given as the numbers of their halves, of 60 bits each at most."""
        length = self.length(n)
        order = range(ROUNDS - 1, -1, -1) if back else range(ROUNDS)
        for i in order:
            size = length.sizes[i % 2]
            y = length.remainders(i, a if back else b, size)
            if back:
                a, b = (b + (np.uint64(size) - y)) % np.uint64(size), a
            else:
                a, b = b, (a + y) % np.uint64(size)
        return a, b

    def length(self, n: int) -> _Length:
        """What all strings of a length have in common."""
        if n not in self._lengths:
            self._lengths[n] = _Length(self.aes, self.radix, n, self.tweak)
        return self._lengths[n]

    def _applied(self, rows: Numerals, *, back: bool) -> Numerals:
        length = self.length(rows.shape[1])
        if not length.is_fast:
            return self.one_by_one(rows, back=back)
        u = length.u
        a, b = self.halves(
            length.n, length.number(rows[:, :u]), length.number(rows[:, u:]), back=back
        )
        return np.hstack([length.numerals(a, u), length.numerals(b, length.v)])

    def one_by_one(self, rows: Numerals, *, back: bool) -> Numerals:
        """The same in numbers of any size."""
        length = self.length(rows.shape[1])
        found = [self._one(length, row, back=back) for row in rows.tolist()]
        return np.array(found, dtype=np.uint8).reshape(rows.shape)

    def _one(self, length: _Length, row: list[int], *, back: bool) -> list[int]:
        a, b = (_number(part, self.radix) for part in (row[: length.u], row[length.u :]))
        for i in range(ROUNDS - 1, -1, -1) if back else range(ROUNDS):
            size = length.sizes[i % 2]
            y = length.word(i, a if back else b)
            a, b = ((b - y) % size, a) if back else (b, (a + y) % size)
        return _numerals(a, self.radix, length.u) + _numerals(b, self.radix, length.v)


class _Length:
    """What all strings of one length have in common."""

    def __init__(self, aes: Aes, radix: int, n: int, tweak: bytes) -> None:
        if radix**n < LEAST_STRINGS:
            raise ValueError(
                f"FF1 needs {LEAST_STRINGS:,} strings; of {n} numerals there are fewer"
            )
        self.aes, self.radix, self.n, self.tweak = aes, radix, n, tweak
        self.u, self.v = n // 2, n - n // 2
        # how many strings there are of the half that is changed in rounds of even and of odd number
        self.sizes: tuple[int, int] = radix**self.u, radix**self.v
        self.b = ((self.sizes[1] - 1).bit_length() + 7) // 8
        self.d = 4 * -(-self.b // 4) + 4

    @property
    def is_fast(self) -> bool:
        return self.sizes[1] <= 1 << _FAST_BITS

    @cached_property
    def _head(self) -> bytes:
        """What stands before round and half: P, and the tweak with its zeros."""
        t = len(self.tweak)
        told = [
            bytes([1, 2, 1]),
            self.radix.to_bytes(3, "big"),
            bytes([ROUNDS, self.u % 256]),
            self.n.to_bytes(4, "big"),
            t.to_bytes(4, "big"),
        ]
        return b"".join([*told, self.tweak, bytes((-t - self.b - 1) % BLOCK)])

    def word(self, i: int, half: int) -> int:
        """y of round ``i`` as a number of any size."""
        mac = self._chained(self._head + bytes([i]) + half.to_bytes(self.b, "big"))
        parts = [mac]
        for j in range(1, -(-self.d // BLOCK)):
            parts.append(self._chained(j.to_bytes(BLOCK, "big"), mac))
        return int.from_bytes(b"".join(parts)[: self.d], "big")

    def _chained(self, told: bytes, mac: bytes = bytes(BLOCK)) -> bytes:
        """The CBC-MAC of whole blocks."""
        for start in range(0, len(told), BLOCK):
            block = _xor(mac, told[start : start + BLOCK])
            mac = self.aes.sealed(np.frombuffer(block, dtype=np.uint8)).tobytes()
        return mac

    def remainders(self, i: int, halves: Words, size: int) -> Words:
        """y of round ``i`` modulo ``size``, of halves that fit a word."""
        first, second = self._last_blocks[i]
        plain = np.empty((len(halves), 2), dtype=">u8")
        plain[:, 0] = first
        plain[:, 1] = halves ^ np.uint64(second)
        sealed = self.aes.sealed(plain).view(">u8").reshape(-1, 2)
        found: Words = sealed[:, 0].astype(np.uint64) % np.uint64(size)
        left = 8 * (self.d - _NUMBER)  # bits of y beyond its first word
        if left:
            low = sealed[:, 1].astype(np.uint64) >> np.uint64(64 - left)
            step = 64 - size.bit_length()
            while left:
                taken = min(step, left)
                left -= taken
                bits = (low >> np.uint64(left)) & np.uint64((1 << taken) - 1)
                found = ((found << np.uint64(taken)) | bits) % np.uint64(size)
        return found

    @cached_property
    def _last_blocks(self) -> list[tuple[int, int]]:
        """Of each round the last block, chained with those before it, as two words, for the half that is 0."""
        found = []
        for i in range(ROUNDS):
            told = self._head + bytes([i]) + bytes(self.b)
            last = _xor(self._chained(told[:-BLOCK]), told[-BLOCK:])
            found.append((_of_bytes(last[:_NUMBER]), _of_bytes(last[_NUMBER:])))
        return found

    def number(self, rows: Numerals) -> Words:
        """The number that each row of numerals stands for."""
        found = np.zeros(len(rows), dtype=np.uint64)
        for j in range(rows.shape[1]):
            found = found * np.uint64(self.radix) + rows[:, j]
        return found

    def numerals(self, numbers: Words, size: int) -> Numerals:
        """The other way round."""
        found = np.empty((len(numbers), size), dtype=np.uint8)
        for j in range(size - 1, -1, -1):
            numbers, found[:, j] = np.divmod(numbers, np.uint64(self.radix))
        return found


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(one, other, strict=True))


def _of_bytes(word: bytes) -> int:
    return int.from_bytes(word, "big")


def _number(numerals: list[int], radix: int) -> int:
    found = 0
    for numeral in numerals:
        found = found * radix + numeral
    return found


def _numerals(number: int, radix: int, size: int) -> list[int]:
    found: list[Any] = []
    for _ in range(size):
        number, numeral = divmod(number, radix)
        found.append(numeral)
    return found[::-1]
