"""Noise that DuckDB asks for while a statement runs: words for normals, and draws for randomized answers."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from ppduck.call.udf import Noise, Udf
from ppduck.kernels.noise import WORDS_PER_BLOCK, KeyedNoise
from ppduck.query.normals import MOST_BLOCKS, word_function

NOISES: tuple[Noise, ...] = ("keyed", "seeded")


def draw_function(*, seeded: bool) -> str:
    return f"ppduck_{'seeded' if seeded else 'keyed'}_draws"


def words(noise: KeyedNoise, keys: Any, tweaks: Any, blocks: int) -> pa.Array:
    found = noise.words(keys.to_numpy(), tweaks.to_numpy(), blocks)
    flat = pa.Array.from_buffers(pa.uint64(), len(found), [None, pa.py_buffer(found)])
    return pa.FixedSizeListArray.from_arrays(flat, WORDS_PER_BLOCK * blocks)


def draws(noise: KeyedNoise, keys: Any, first: Any, second: Any) -> pa.Array:
    found = noise.draws(*(each.to_numpy().view("<u8") for each in (keys, first, second)))
    return pa.Array.from_buffers(pa.uint64(), len(found), [None, pa.py_buffer(found)])


WORDS = tuple(
    Udf(
        word_function(blocks, seeded=of == "seeded"),
        partial(words, blocks=blocks),
        ("UBIGINT", "UBIGINT"),
        f"UBIGINT[{WORDS_PER_BLOCK * blocks}]",
        noise=of,
    )
    for of in NOISES
    for blocks in range(1, MOST_BLOCKS + 1)
)
DRAWS = tuple(
    Udf(draw_function(seeded=of == "seeded"), draws, ("BIGINT",) * 3, "UBIGINT", noise=of)
    for of in NOISES
)
