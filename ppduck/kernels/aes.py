"""AES of whole arrays of blocks, under one key, for as many threads as ask."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

Words = npt.NDArray[np.uint64]

BLOCK = 16  # bytes


class Aes:
    """One key: of 16 bytes for AES-128, of 24 or 32 for AES-192 and AES-256."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._idle: list[CipherContext] = []

    def sealed(self, plain: npt.NDArray[Any]) -> Words:
        """Every 16 bytes as a block of its own, as two little-endian words; the array must lie in one piece."""
        # update_into wants room for a block more than it writes.
        sealed = np.empty(plain.nbytes + BLOCK - 1, dtype=np.uint8)
        # An encryptor serves one thread at a time; list.pop and append are atomic.
        try:
            encryptor = self._idle.pop()
        except IndexError:
            encryptor = Cipher(algorithms.AES(self._key), modes.ECB()).encryptor()
        encryptor.update_into(plain.reshape(-1).view(np.uint8).data, sealed.data)
        self._idle.append(encryptor)
        return sealed[: plain.nbytes].view("<u8")

    def __getstate__(self) -> bytes:
        """A process of another engine that makes noise gets this key, and never the secret."""
        return self._key

    def __setstate__(self, key: bytes) -> None:
        self._key, self._idle = key, []
