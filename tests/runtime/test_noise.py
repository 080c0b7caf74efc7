"""Words and draws as DuckDB asks for them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ppduck.kernels.noise import WORDS_PER_BLOCK, KeyedNoise
from ppduck.query.normals import MOST_BLOCKS
from ppduck.runtime.noise import DRAWS, WORDS, draws, words

NOISE, OTHER = KeyedNoise(b"one secret of many bytes"), KeyedNoise(b"another secret of bytes")
KEYS = pa.array(np.arange(5, dtype=np.uint64))
TWEAKS = pa.array(np.full(5, 7, dtype=np.uint64))


def test_words_are_a_function_of_secret_key_and_tweak() -> None:
    found = words(NOISE, KEYS, TWEAKS, 2)
    assert found.type == pa.list_(pa.uint64(), 2 * WORDS_PER_BLOCK)
    assert words(NOISE, KEYS, TWEAKS, 2).equals(found)
    assert words(NOISE, KEYS[::-1], TWEAKS, 2)[0] == found[4]  # whatever the order of rows
    assert words(OTHER, KEYS, TWEAKS, 2)[0] != found[0]
    assert len({str(each) for each in found}) == 5


def test_draws_are_too() -> None:
    keys = pa.array(np.arange(5, dtype=np.int64))
    found = draws(NOISE, keys, keys, keys)
    assert found.type == pa.uint64()
    assert draws(NOISE, keys, keys, keys).equals(found)
    assert not draws(OTHER, keys, keys, keys).equals(found)


def test_each_is_there_with_the_owners_secret_and_without() -> None:
    assert {each.noise for each in (*WORDS, *DRAWS)} == {"keyed", "seeded"}
    assert len(WORDS) == 2 * MOST_BLOCKS
    assert len({each.name for each in (*WORDS, *DRAWS)}) == len(WORDS) + len(DRAWS)
