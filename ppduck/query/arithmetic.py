"""Products and quotients whose terms stay whole.

The operators of sqlglot's own trees lose parentheses: ``a / b / (c * d)`` is written ``a / b / c * d``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.query import tree as sql


def products(factors: Sequence[sql.Expr]) -> sql.Expr:
    """The product of some factors, whatever they are; 1 where there are none."""
    own = [_whole(factor) for factor in factors] or [sql.number(1)]
    result = own[0]
    for factor in own[1:]:
        result = exp.Mul(this=result, expression=factor)
    return exp.paren(result, copy=False) if len(own) > 1 else result


def quotient(left: sql.Expr, right: sql.Expr) -> sql.Expr:
    """left / right"""
    return _between(exp.Div, left, right)


def whole_quotient(left: sql.Expr, right: sql.Expr) -> sql.Expr:
    """left // right"""
    return _between(exp.IntDiv, left, right)


def remainder(left: sql.Expr, right: sql.Expr) -> sql.Expr:
    """left % right"""
    return _between(exp.Mod, left, right)


def _between(operator: type[exp.Binary], left: sql.Expr, right: sql.Expr) -> sql.Expr:
    return exp.paren(operator(this=_whole(left), expression=_whole(right)), copy=False)


def _whole(value: sql.Expr) -> sql.Expr:
    """A copy that an operator beside it cannot take apart."""
    own = value.copy()
    is_whole = isinstance(own, (exp.Column, exp.Literal, exp.Anonymous, exp.Paren, exp.Cast))
    return own if is_whole else exp.paren(own, copy=False)
