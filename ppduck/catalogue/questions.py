"""What planning asks of a table's rows, as SQL: of the whole table, or of its parts, whose answers then merge."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.catalogue.source import Column, Source
from ppduck.query import tree as sql

LEVEL, WHICH = "level", "which"


def distinct(source: Source, name: sql.Expr, at_most: int) -> sql.Expr:
    """A column's values, each once, and one more than there may be."""
    return sql.query(
        [sql.named(name, LEVEL)],
        sql.source(source.sql),
        where=sql.present([name]),
        distinct=True,
        limit=sql.number(at_most + 1),
    )


def distinct_of_each(source: Source, columns: Sequence[Column], at_most: int) -> sql.Expr:
    """The same of several texts at once: of which column, and the value."""
    pairs = [
        sql.struct({WHICH: sql.number(i), LEVEL: sql.column(column.name)})
        for i, column in enumerate(columns)
    ]
    listed = sql.named(sql.call("unnest", sql.call("list_value", *pairs)), "_pp_pair")
    each = sql.derived(sql.query([listed], sql.source(source.sql)), "_pp_pairs")
    parts = [sql.named(sql.part(sql.column("_pp_pair"), name), name) for name in (WHICH, LEVEL)]
    once = sql.derived(sql.query(parts, each, distinct=True), "_pp_once")
    which, level = sql.column(WHICH), sql.column(LEVEL)
    place = sql.named(sql.over(sql.call("row_number"), [which]), "_pp_place")
    numbered = sql.derived(
        sql.query([which, level, place], once, where=sql.present([level])), "_pp_numbered"
    )
    kept = exp.LTE(this=sql.column("_pp_place"), expression=sql.number(at_most + 1))
    return sql.query([which.copy(), level.copy()], numbered, where=kept)


def counts(source: Source, column: Column) -> sql.Expr:
    """The texts of a column's values, and how many rows have each."""
    text = sql.cast(sql.column(column.name), "VARCHAR")
    return sql.query(
        [text, sql.call("count", exp.Star())], sql.source(source.sql), group=[text.copy()]
    )


def holding_null(source: Source, columns: Sequence[Column]) -> sql.Expr:
    """Whether each column holds NULL."""
    held = [sql.call("bool_or", sql.column(column.name).is_(exp.null())) for column in columns]
    return sql.query(held, sql.source(source.sql))


def extremes(source: Source, columns: Sequence[Column]) -> sql.Expr:
    """The least and the greatest value of each column of numbers, as texts; NaN and infinity are none."""
    ends = []
    for column in columns:
        value = sql.column(column.name)
        if column.is_fraction:
            value = sql.cases((sql.call("isfinite", value), value.copy()))
        ends += [sql.cast(sql.call(end, value.copy()), "VARCHAR") for end in ("min", "max")]
    return sql.query(ends, sql.source(source.sql))
