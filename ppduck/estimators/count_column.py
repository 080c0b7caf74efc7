"""A column of counts: how many rows each row of a table stands for, checked before anything is made of it.

Tests and measures take a count for so many independent rows. A sampling weight tells how many people of a population a
row represents, which are not so many rows: with it χ² grows by the mean weight, and everything is significant.

Counts are whole numbers, but for a table that has each combination once: there a fraction is an expected count, such as
those that randomization is said to give on average.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import parameter
from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.designs.conditioning import warn
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.query import aggregates
from ppduck.query import tree as sql

COUNT: Any = parameter(
    arguments.column, "a column of counts: how many rows each row stands for", None
)
COUNTED = "_pp_counts_checked"  # the column of ``check_of``
# Numbers that look like sampling weights: in so many rows or more, so many rows to a combination of the columns, so
# large on average, and at least such a share of them different from each other, or no more than a few in all, one to
# a stratum. Where rows are counted, a combination occurs once, or a few times where only some of the columns are asked
# for; and a hundred counts of such a mean are spread wider, as Poisson's law has it.
_ROWS, _ROWS_EACH, _DIFFERENT, _IN_ALL, _MEAN = 100, 10, 0.5, 10, 10


def as_number(column: str) -> sql.Expr:
    return exp.TryCast(this=sql.column(column), to=exp.DataType.build("DOUBLE"))


@frozen
class CountSpec(Spec):
    """Which column holds the counts."""

    count: str


@frozen
class CountLook:
    """What a look at a column of counts finds."""

    rows: int
    missing: int
    unread: int  # no finite number
    negative: int
    fractional: int
    different: int
    mean: float | None
    cells: int  # combinations of the table's columns


def check_of(spec: CountSpec, source: str, cells: str) -> sql.Expr:
    """SELECT of 0 as ``COUNTED``, or of an error where a column holds no counts of rows.

    ``source`` is the table, ``cells`` the name of a step that has a row for each combination of its columns.
    """
    number, rows = as_number(spec.count), aggregates.rows()
    finite = sql.call("isfinite", number)
    whole = sql.equal(sql.call("trunc", number.copy()), number.copy())
    present, read = sql.call("count", sql.column(spec.count)), sql.call("count_if", finite.copy())
    negative = exp.and_(finite.copy(), exp.LT(this=number.copy(), expression=sql.number(0)))
    look = {
        "rows": rows,
        "missing": sql.minus(rows.copy(), present),
        "unread": sql.minus(present.copy(), read),
        "negative": sql.call("count_if", negative),
        "fractional": sql.call("count_if", exp.and_(finite.copy(), exp.Not(this=exp.paren(whole)))),
        "different": sql.call("count", exp.Distinct(expressions=[number.copy()])),
        "mean": sql.call("avg", sql.cases((finite.copy(), number.copy()))),
        "cells": sql.scalar(sql.query([aggregates.rows()], sql.table(cells))),
    }
    return sql.query([sql.named(UDF.in_sql(spec, look), COUNTED)], sql.source(source))


def check(spec: CountSpec, look: CountLook) -> int:
    """Refuses what is no count of rows, and warns of what looks like a sampling weight; else 0."""
    faults, name = spec.faults(), quoted(spec.count)
    for found, kind in (
        (look.missing, "NULL"),
        (look.unread, "no finite number"),
        (look.negative, "a negative number"),
    ):
        if found:
            faults.add(
                f"count names column {name}, which holds {kind} in {found:,} of {look.rows:,} rows; a count is a whole "
                "number from 0 on: how many rows this one stands for."
            )
    if look.fractional and look.rows > look.cells:
        faults.add(
            f"count names column {name}, which holds a fraction in {look.fractional:,} of {look.rows:,} rows, as "
            f"sampling weights do, and these rows have only {look.cells:,} combinations of the columns; a count is a "
            "whole number from 0 on. Leave weights out. Expected counts may have fractions where each combination has "
            "one row: add them up in tbl: '(SELECT …, sum(n) AS n FROM … GROUP BY ALL)'."
        )
    faults.raise_if_any()
    if looks_like_weights(look):
        warn(
            faults,
            f"count {name} looks like a sampling weight and not like a count of rows: {look.rows:,} rows have only "
            f"{look.cells:,} combinations of the columns, and {look.different:,} different numbers. A weight is taken "
            "for so many independent rows, and everything comes out significant: leave count out. If these are "
            "counts, add them up in tbl: '(SELECT …, sum(n) AS n FROM … GROUP BY ALL)'.",
        )
    return 0


def looks_like_weights(look: CountLook) -> bool:
    odd = look.different >= _DIFFERENT * look.rows or look.different <= _IN_ALL
    return look.rows >= max(_ROWS, _ROWS_EACH * look.cells) and odd and (look.mean or 0.0) >= _MEAN


UDF = told_udf("ppduck_check_counts", check, CountSpec, CountLook, "BIGINT")
