"""Standard normals in SQL from keyed words: Box–Muller, so that the work runs on every core."""

from __future__ import annotations

import math

from sqlglot import exp

from ppduck.kernels.noise import NORMALS_PER_BLOCK, WORDS_PER_BLOCK
from ppduck.plan import sqlbuild as sql

# UDFs are registered for 1 … MOST_BLOCKS blocks a call; more noise takes more calls.
MOST_BLOCKS = 4


def word_calls(count: int, key: sql.Expr, tweak: sql.Expr, *, seeded: bool) -> list[sql.Expr]:
    """Calls of the noise UDF that give words enough for ``count`` normals a row."""
    blocks = -(-count // NORMALS_PER_BLOCK)
    calls = []
    for first in range(0, blocks, MOST_BLOCKS):
        size = min(MOST_BLOCKS, blocks - first)
        # Each call has a key of its own, so that no two ask for the same block.
        own = key.copy() if first == 0 else sql.call("hash", key.copy(), sql.number(first))
        calls.append(sql.call(word_function(size, seeded=seeded), own, tweak.copy()))
    return calls


def word_function(blocks: int, *, seeded: bool) -> str:
    return f"ppduck_{'seeded' if seeded else 'keyed'}_words_{blocks}"


def normals(count: int, words: list[sql.Expr]) -> list[sql.Expr]:
    """``count`` normals from word arrays: two from the 32-bit halves of each word."""
    result: list[sql.Expr] = []
    for position in range(count):
        word, half = divmod(position, 2)
        call, slot = divmod(word, MOST_BLOCKS * WORDS_PER_BLOCK)
        result.append(_normal(_item(words[call], slot + 1), half))
    return result


def _item(words: sql.Expr, position: int) -> sql.Expr:
    return sql.call("array_extract", words.copy(), sql.number(position))


def _normal(word: sql.Expr, half: int) -> sql.Expr:
    """sqrt(-2 ln u1)·cos(2π u2), or its sine, with u1 and u2 inside (0, 1)."""
    high = exp.paren(exp.BitwiseRightShift(this=word.copy(), expression=sql.number(32)))
    low = exp.paren(exp.BitwiseAnd(this=word.copy(), expression=sql.number(0xFFFFFFFF)))
    radius = sql.call("sqrt", _scaled_log(high))
    angle = exp.Mul(this=_inside(low), expression=sql.number(2 * math.pi * 2.0**-32))
    return exp.Mul(this=radius, expression=sql.call("sin" if half else "cos", angle))


def _scaled_log(bits: sql.Expr) -> sql.Expr:
    unit = exp.Mul(this=_inside(bits), expression=sql.number(2.0**-32))
    return exp.Mul(this=sql.number(-2.0), expression=sql.call("ln", unit))


def _inside(bits: sql.Expr) -> sql.Expr:
    return exp.paren(exp.Add(this=sql.double(bits), expression=sql.number(0.5)))
