"""Keyed noise: 64-bit words that are a function of (secret, row key, tweak) and of nothing else."""

from __future__ import annotations

import hashlib

import numpy as np

from ppduck.kernels.aes import Aes, Words
from ppduck.kernels.pseudonyms import Pseudonyms

WORDS_PER_BLOCK = 2
NORMALS_PER_WORD = 2
NORMALS_PER_BLOCK = WORDS_PER_BLOCK * NORMALS_PER_WORD


class KeyedNoise:
    """AES-128 as a pseudo-random function: block b of a row is AES(key, row key ‖ tweak + b).

    The AES keys, one for words and one for draws, are derived from the secret, which is not kept; so are those of
    ``pseudonyms``, which whoever is given noise can make too.
    """

    def __init__(self, secret: bytes) -> None:
        self._words = Aes(hashlib.sha256(b"ppduck noise 1\0" + secret).digest()[:16])
        self._draws = Aes(hashlib.sha256(b"ppduck draws 2\0" + secret).digest()[:16])
        self.pseudonyms = Pseudonyms(secret)

    def words(self, keys: Words, tweaks: Words, blocks: int) -> Words:
        """Two words a block, rows one after the other, ready to be cut into rows of 2·blocks."""
        plain = np.empty((len(keys), blocks, WORDS_PER_BLOCK), dtype="<u8")
        plain[:, :, 0] = keys[:, None]
        plain[:, :, 1] = tweaks[:, None] + np.arange(blocks, dtype=np.uint64)
        return self._words.sealed(plain)

    def draws(self, keys: Words, first: Words, second: Words) -> Words:
        """A word a row: its low 32 bits belong to the first tweak, its high 32 bits to the second."""
        plain = np.empty((len(keys), 2, WORDS_PER_BLOCK), dtype="<u8")
        plain[:, :, 0] = keys[:, None]
        plain[:, 0, 1], plain[:, 1, 1] = first, second
        halves = self._draws.sealed(plain).view("<u4").reshape(len(keys), -1)
        return np.ascontiguousarray(halves[:, :: halves.shape[1] // 2]).view("<u8").reshape(-1)


def tweak_of(context: str, digest: int) -> int:
    """The 64 bits that tie noise to one release: what was asked for, and the data it is asked of.

    Two releases that differ in mask, parameters or data must not share noise: their difference
    would be free of it and show the confidential values. The same release read again must.
    """
    text = f"{context}\0{digest}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")
