"""Masked numbers in the type of their column, where the user asks for it."""

from __future__ import annotations

import re

from ppduck.catalogue.source import Column
from ppduck.query import tree as sql

# Masked values can be negative, so an unsigned column comes back in the next signed type.
_SIGNED = {
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INTEGER",
    "UINTEGER": "BIGINT",
    "UBIGINT": "HUGEINT",
    "UHUGEINT": "HUGEINT",
}
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 127}


def step(column: Column) -> float:
    """How far apart the values of a column's type are: 1 for integers, 10^-scale for decimals, 0 for others."""
    if column.is_integer:
        return 1.0
    return 10.0 ** -_digits(column)[1] if column.is_decimal else 0.0


def rounded(value: sql.Expr, column: Column) -> sql.Expr:
    """Whole numbers for an integer column, the column's scale for a decimal; held inside the type."""
    if column.is_integer:
        type_ = _SIGNED.get(column.type, column.type)
        # The largest double below the limit, because 2^63 - 1 as a double is 2^63.
        limit = 2.0 ** (_BITS[type_] - 1)
        limit -= max(1.0, limit * 2.0**-52)
        return sql.cast(_held(sql.call("round", value), limit), type_)
    if column.is_decimal:
        precision, scale = _digits(column)
        limit = 10.0 ** (precision - scale) * (1 - 2.0**-50) - 10.0**-scale
        return sql.cast(_held(sql.call("round", value, sql.number(scale)), limit), column.type)
    return value


def _digits(column: Column) -> tuple[int, int]:
    """Precision and scale of a decimal."""
    precision, scale = map(int, re.findall(r"\d+", column.type))
    return precision, scale


def _held(value: sql.Expr, limit: float) -> sql.Expr:
    return sql.call("greatest", sql.number(-limit), sql.call("least", sql.number(limit), value))
