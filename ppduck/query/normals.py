"""Standard normals in SQL from keyed words: Box–Muller, so that the work runs on every core."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from sqlglot import exp

from ppduck.kernels.noise import NORMALS_PER_BLOCK, WORDS_PER_BLOCK
from ppduck.query import tree as sql

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
    high = sql.paren(exp.BitwiseRightShift(this=word.copy(), expression=sql.number(32)))
    low = sql.paren(exp.BitwiseAnd(this=word.copy(), expression=sql.number(0xFFFFFFFF)))
    radius = sql.call("sqrt", _scaled_log(high))
    angle = exp.Mul(this=_inside(low), expression=sql.number(2 * math.pi * 2.0**-32))
    return exp.Mul(this=radius, expression=sql.call("sin" if half else "cos", angle))


def _scaled_log(bits: sql.Expr) -> sql.Expr:
    unit = exp.Mul(this=_inside(bits), expression=sql.number(2.0**-32))
    return exp.Mul(this=sql.number(-2.0), expression=sql.call("ln", unit))


def _inside(bits: sql.Expr) -> sql.Expr:
    return sql.paren(exp.Add(this=sql.double(bits), expression=sql.number(0.5)))


# Wichura's rational approximations (AS 241): near the middle, in the tails, and far out; numerators and denominators
# from the highest power down.
_MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457, 13731.693765509461125,
     1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867, 5394.1960214247511077,
     687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
_TAIL = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)  # fmt: skip
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
)  # fmt: skip


def with_scores(rows: sql.Expr, shares: Mapping[str, str]) -> sql.Expr:
    """The rows of a SELECT with Φ⁻¹ of some of its columns, shares inside (0, 1): {share: name of its score}.

    What the branches have in common is computed before them, since inside a CASE DuckDB would do so
    again for every power.
    """
    parts, scores, helpers = [], [], []
    for i, (share, name) in enumerate(shares.items()):
        p, (q, u, r) = sql.column(share), _helpers(i)
        tail = sql.call("least", p.copy(), exp.Sub(this=sql.number(1), expression=p.copy()))
        far = sql.call("sqrt", exp.Neg(this=sql.call("ln", tail)))
        near = exp.Sub(this=sql.number(0.180625), expression=sql.product(q, q))
        parts += [
            sql.named(exp.Sub(this=p.copy(), expression=sql.number(0.5)), q.name),
            sql.named(near, u.name),
            sql.named(far, r.name),
        ]
        helpers += [q.name, u.name, r.name]
        scores.append(sql.named(sql.raw(_score(i)), name))
    inner = sql.query([exp.Star(), *parts], sql.derived(rows, "_pp_shares"))
    return sql.query([sql.star("_pp_parts", helpers), *scores], sql.derived(inner, "_pp_parts"))


def _helpers(i: int) -> list[sql.Expr]:
    """p - 1/2, what the middle is a function of, and what the tails are, of the i-th share."""
    return [sql.column(f"_pp_{each}{i}") for each in ("off", "near", "log")]


@lru_cache(maxsize=64)
def _score(i: int) -> str:
    """Φ⁻¹ from its helpers. As text, made once: the tree of so many terms would take long in every plan."""
    q, u, r = _helpers(i)
    middle = _ratio(q, _MIDDLE, u)
    sign = sql.call("sign", q.copy())
    ends = [
        _ratio(sign, each, sql.minus(r.copy(), sql.number(less)))
        for each, less in ((_TAIL, 1.6), (_FAR, 5))
    ]
    is_middle = exp.LTE(this=sql.call("abs", q.copy()), expression=sql.number(0.425))
    is_tail = exp.LTE(this=r.copy(), expression=sql.number(5))
    return sql.render(sql.cases((is_middle, middle), (is_tail, ends[0]), otherwise=ends[1]))


def _ratio(
    times: sql.Expr, coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: sql.Expr
) -> sql.Expr:
    """times · numerator(x) / denominator(x)"""
    above, below = (sql.paren(_horner(each, x)) for each in coefficients)
    return exp.Div(this=exp.Mul(this=times.copy(), expression=above), expression=below)


def _horner(coefficients: tuple[float, ...], x: sql.Expr) -> sql.Expr:
    first, *rest = (sql.double(sql.number(each)) for each in coefficients)
    found: sql.Expr = first
    for each in rest:
        found = exp.Add(this=exp.Mul(this=sql.paren(found), expression=x.copy()), expression=each)
    return found
