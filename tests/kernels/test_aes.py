"""AES of arrays: the blocks of the standard, whoever holds the key."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from ppduck.kernels.aes import BLOCK, Aes

pytestmark = pytest.mark.core
PLAIN = bytes.fromhex("00112233445566778899aabbccddeeff")


@pytest.mark.parametrize(
    ("size", "sealed"),
    [
        (16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
        (24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
        (32, "8ea2b7ca516745bfeafc49904b496089"),
    ],
)
def test_the_blocks_of_the_standard(size: int, sealed: str) -> None:
    """FIPS 197, appendix C; a hundred of them, as many at a time as come."""
    aes = Aes(bytes(range(size)))
    for count in (1, 100):
        found = aes.sealed(np.frombuffer(PLAIN * count, dtype=np.uint8).reshape(count, BLOCK))
        assert found.tobytes() == bytes.fromhex(sealed) * count


def test_no_block_gives_none() -> None:
    assert len(Aes(bytes(16)).sealed(np.empty((0, BLOCK), dtype=np.uint8))) == 0


def test_a_copy_in_another_process_has_the_same_key() -> None:
    plain = np.arange(64, dtype=np.uint8)
    aes = Aes(bytes(range(16)))
    expected = aes.sealed(plain).tobytes()
    assert pickle.loads(pickle.dumps(aes)).sealed(plain).tobytes() == expected
