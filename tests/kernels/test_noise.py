"""Keyed words: AES-128 of key and tweak, and of nothing else."""

from __future__ import annotations

import hashlib
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ppduck.kernels.noise import KeyedNoise, tweak_of

pytestmark = pytest.mark.core


def test_words_are_aes_of_key_and_tweak() -> None:
    """Recomputed block by block with the cipher itself."""
    keys, tweaks = np.array([7, 2**64 - 1], dtype=np.uint64), np.array([1, 2**64 - 1], dtype=np.uint64)
    words = KeyedNoise(b"a secret of some length").words(keys, tweaks, 2).reshape(2, 4)
    key = hashlib.sha256(b"ppduck noise 1\0" + b"a secret of some length").digest()[:16]
    for row in range(2):
        for block in range(2):
            tweak = (int(tweaks[row]) + block) % 2**64
            plain = int(keys[row]).to_bytes(8, "little") + tweak.to_bytes(8, "little")
            sealed = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(plain)
            assert words[row, 2 * block : 2 * block + 2].tobytes() == sealed


def test_draws_are_halves_of_aes_under_a_key_of_their_own() -> None:
    keys, first, second = (np.array(each, dtype=np.uint64) for each in ([7, 2**64 - 1], [1, 5], [2**62, 6]))
    words = KeyedNoise(b"a secret of some length").draws(keys, first, second)
    key = hashlib.sha256(b"ppduck draws 2\0" + b"a secret of some length").digest()[:16]
    for row in range(2):
        halves = b""
        for tweak in (first[row], second[row]):
            plain = int(keys[row]).to_bytes(8, "little") + int(tweak).to_bytes(8, "little")
            halves += Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(plain)[:4]
        assert int(words[row]).to_bytes(8, "little") == halves


def test_words_do_not_depend_on_company_or_order() -> None:
    noise = KeyedNoise(b"a secret of some length")
    keys = np.arange(5000, dtype=np.uint64)
    tweaks = np.full(5000, 9, dtype=np.uint64)
    together = noise.words(keys, tweaks, 1).reshape(-1, 2)
    order = np.random.default_rng(0).permutation(5000)
    apart = np.concatenate([noise.words(keys[part], tweaks[part], 1).reshape(-1, 2) for part in np.split(order, 10)])
    assert (together[order] == apart).all()


def test_other_secret_key_or_tweak_gives_unrelated_words() -> None:
    keys, tweaks = np.arange(20_000, dtype=np.uint64), np.full(20_000, 3, dtype=np.uint64)
    base = KeyedNoise(b"one secret of some length").words(keys, tweaks, 1)
    others = [
        KeyedNoise(b"two secret of some length").words(keys, tweaks, 1),
        KeyedNoise(b"one secret of some length").words(keys + np.uint64(20_000), tweaks, 1),
        KeyedNoise(b"one secret of some length").words(keys, tweaks + np.uint64(1), 1),
    ]
    for other in others:
        flipped = np.unpackbits((base ^ other).view(np.uint8)).mean()
        assert flipped == pytest.approx(0.5, abs=0.002)
        assert np.corrcoef(base.astype(float), other.astype(float))[0, 1] == pytest.approx(0, abs=0.03)


def test_threads_do_not_disturb_each_other() -> None:
    noise = KeyedNoise(b"a secret of some length")
    keys, tweaks = np.arange(4096, dtype=np.uint64), np.zeros(4096, dtype=np.uint64)
    expected = noise.words(keys, tweaks, 2).tobytes()
    results: list[bool] = []

    def work() -> None:
        results.extend(noise.words(keys, tweaks, 2).tobytes() == expected for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 200
    assert all(results)


def test_tweak_depends_on_request_and_data() -> None:
    tweaks = {tweak_of("egadp", 1), tweak_of("egadp", 2), tweak_of("ipso", 1), tweak_of("egadp1", 0)}
    assert len(tweaks) == 4
    assert all(0 <= tweak < 2**64 for tweak in tweaks)
