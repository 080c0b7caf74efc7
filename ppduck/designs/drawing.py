"""Where a value stands among its levels, and which level a draw publishes for it, as SQL writes them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from sqlglot import exp

from ppduck.designs.design import Attribute
from ppduck.query import tree as sql

_DRAWS = 2**32


def place(attribute: Attribute, *, null_is_level: bool) -> sql.Expr:
    """The position of a value among the levels; NULL for a value that is none of them."""
    value = sql.column(attribute.name)
    levels = [level for level in attribute.levels or () if level is not None]
    kind = "ENUM(" + ", ".join(sql.render(sql.text(level)) for level in levels) + ")"
    if attribute.enum is not None:
        code = _ranked(attribute, sql.call("enum_code", value.copy()))
    else:
        code = sql.call(
            "enum_code", sql.cast_as(sql.cast(value.copy(), "VARCHAR"), kind, try_=True)
        )
    code = sql.cast(code, "INTEGER")
    if not null_is_level:
        return code
    return sql.cases((value.is_(exp.null()), sql.number(len(levels))), otherwise=code)


def _ranked(attribute: Attribute, code: sql.Expr) -> sql.Expr:
    """The place among the levels of what an enum has at some place of its own order."""
    places = {level: i for i, level in enumerate(attribute.levels or ())}
    ranks = [places[label] for label in attribute.enum or ()]
    if ranks == sorted(ranks):
        return code
    return _at(map(sql.number, ranks), sql.cast(code, "BIGINT"))


def _at(values: Iterable[sql.Expr], place: sql.Expr) -> sql.Expr:
    """One of some values, the first at place 0."""
    return sql.item(sql.call("list_value", *values), sql.total([place, sql.number(1)]))


def published(
    attribute: Attribute, code: sql.Expr, draw: sql.Expr, stranger: sql.Expr, *, null_is_level: bool
) -> sql.Expr:
    """What is published of a value at place ``code``; ``stranger`` is what to say of one that has none."""
    value = sql.column(attribute.name)
    result = exp.Case()
    if not null_is_level:
        result = result.when(value.is_(exp.null()), exp.null())
    result = result.when(code.is_(exp.null()), sql.call("error", stranger))
    result = result.when(
        exp.LT(this=draw.copy(), expression=_kept_below(attribute, code)), value.copy()
    )
    there = (
        _another(attribute, code, draw)
        if attribute.p is not None
        else _by_matrix(attribute, code, draw)
    )
    levels = [_literal(level) for level in attribute.levels or ()]
    if attribute.type:
        return result.else_(
            _typed(attribute, sql.call("list_extract", sql.call("list_value", *levels), there))
        )
    # Of a column whose type is not known, literals take the type only where they stand beside it.
    for i, level in enumerate(levels, start=1):
        result = result.when(exp.EQ(this=there.copy(), expression=sql.number(i)), level)
    return result


def _kept_below(attribute: Attribute, code: sql.Expr) -> sql.Expr:
    """The draw below which a value is kept: the same for all levels, or each level's own."""
    if attribute.p is not None:
        return sql.number(_threshold(attribute.p))
    kept = [
        _threshold(float(share)) for share in np.diag(attribute.matrix(len(attribute.levels or ())))
    ]
    return _at(map(sql.number, kept), code.copy())


def _another(attribute: Attribute, code: sql.Expr, draw: sql.Expr) -> sql.Expr:
    """The place of one of the other levels, each with the same probability: the draw's low digits say which."""
    size = len(attribute.levels or ())
    step = sql.cast(
        exp.Mod(this=exp.paren(draw.copy()), expression=sql.number(size - 1)), "INTEGER"
    )
    there = exp.Mod(
        this=exp.paren(sql.total([code.copy(), sql.number(1), step])), expression=sql.number(size)
    )
    return sql.cast(exp.Add(this=sql.number(1), expression=exp.paren(there)), "BIGINT")


def _by_matrix(attribute: Attribute, code: sql.Expr, draw: sql.Expr) -> sql.Expr:
    """The place of level i with probability matrix[i][j], for a draw that is not below matrix[j][j].

    Every level j has a list of thresholds, its own share first and then the others in order; its own
    place in the list adds nothing, so that it is never the first to lie above the draw.
    """
    matrix = attribute.matrix(len(attribute.levels or ()))
    lists = []
    for j, column in enumerate(matrix.T):
        others = np.where(np.arange(len(column)) == j, 0.0, column)
        reached = [_threshold(share) for share in (column[j] + np.cumsum(others)).tolist()]
        last = int(np.flatnonzero(others)[-1]) if others.any() else len(column) - 1
        lists.append(reached[:last] + [_DRAWS] * (len(column) - last))
    # Written out: a tree of up to 40,000 thresholds would take longer to plan than the statement to run.
    own = f"list_extract({lists}, {sql.render(code.copy())} + 1)"
    return sql.raw(
        f"list_position(list_transform({own}, lambda t: {sql.render(draw.copy())} < t), true)"
    )


def half(word: sql.Expr, which: int) -> sql.Expr:
    """The first or the second of the two draws in a word."""
    if which == 0:
        return exp.paren(exp.BitwiseAnd(this=word, expression=sql.number(_DRAWS - 1)))
    return exp.paren(exp.BitwiseRightShift(this=word, expression=sql.number(32)))


def _threshold(share: float) -> int:
    return round(min(share, 1.0) * _DRAWS)


def _literal(level: str | None) -> sql.Expr:
    return exp.null() if level is None else sql.text(level)


def _typed(attribute: Attribute, value: sql.Expr) -> sql.Expr:
    """A level back in the type of its column."""
    if attribute.type == "VARCHAR":
        return value
    return sql.cast_as(value, attribute.type)
