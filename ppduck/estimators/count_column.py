"""A column of counts: how many rows each row of a table stands for, checked before anything is made of it.

Tests and measures take a count for so many independent rows. A sampling weight tells how many people of a population a
row represents, which are not so many rows: with it χ² grows by the mean weight, and everything is significant.

Counts are whole numbers, but for a table that has each combination once: there a fraction is an expected count, such as
those that randomization is said to give on average.
"""

from __future__ import annotations

import json

from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.udf import Udf
from ppduck.designs.conditioning import warn
from ppduck.errors import Faults, quoted
from ppduck.query import aggregates
from ppduck.query import tree as sql

COUNT = Parameter("count", arguments.words, "a column of counts: how many rows each row stands for", "NULL")
CHECK = "ppduck_check_counts"
# Numbers that look like sampling weights: in so many rows or more, so many rows to a combination of the columns, so
# large on average, and at least such a share of them different from each other, or no more than a few in all, one to
# a stratum. Where rows are counted, a combination occurs once, or a few times where only some of the columns are asked
# for; and a hundred counts of such a mean are spread wider, as Poisson's law has it.
_ROWS, _ROWS_EACH, _DIFFERENT, _IN_ALL, _MEAN = 100, 10, 0.5, 10, 10


def as_number(column: str) -> sql.Expr:
    return exp.TryCast(this=sql.column(column), to=exp.DataType.build("DOUBLE"))


def checked(function: str, table: str, column: str, source: str, cells: str) -> str:
    """SELECT of 0 as ``_pp_counted``, or of an error where a column holds no counts of rows.

    ``source`` is the table, ``cells`` the name of a step that has a row for each combination of its columns.
    """
    number, rows = as_number(column), aggregates.rows()
    finite = sql.call("isfinite", number)
    whole = exp.EQ(this=sql.call("trunc", number.copy()), expression=number.copy())
    present, read = sql.call("count", sql.column(column)), sql.call("count_if", finite.copy())
    counts = [
        rows,
        sql.minus(rows.copy(), present),
        sql.minus(present.copy(), read),
        sql.call("count_if", exp.and_(finite.copy(), exp.LT(this=number.copy(), expression=sql.number(0)))),
        sql.call("count_if", exp.and_(finite.copy(), exp.Not(this=exp.paren(whole)))),
        sql.call("count", exp.Distinct(expressions=[number.copy()])),
    ]
    told = [
        sql.text(json.dumps({"function": function, "table": table, "count": column})),
        *(sql.cast(each, "BIGINT") for each in counts),
        sql.call("avg", exp.Case().when(finite.copy(), number.copy())),
        sql.raw(f'(SELECT count(*) FROM "{cells}")'),
    ]
    return sql.select([sql.named(sql.call(CHECK, *told), "_pp_counted")], source)


def check(
    specification: str,
    rows: int,
    missing: int,
    unread: int,
    negative: int,
    fractional: int,
    different: int,
    mean: float | None,
    cells: int,
) -> int:
    """Refuses what is no count of rows, and warns of what looks like a sampling weight; else 0."""
    spec = json.loads(specification)
    faults, name = Faults(spec["function"], spec["table"]), quoted(spec["count"])
    for found, kind in ((missing, "NULL"), (unread, "no finite number"), (negative, "a negative number")):
        if found:
            faults.add(
                f"count names column {name}, which holds {kind} in {found:,} of {rows:,} rows; a count is a whole "
                "number from 0 on: how many rows this one stands for."
            )
    if fractional and rows > cells:
        faults.add(
            f"count names column {name}, which holds a fraction in {fractional:,} of {rows:,} rows, as sampling "
            f"weights do, and these rows have only {cells:,} combinations of the columns; a count is a whole number "
            "from 0 on. Leave weights out. Expected counts may have fractions where each combination has one row: add "
            "them up in tbl: '(SELECT …, sum(n) AS n FROM … GROUP BY ALL)'."
        )
    faults.raise_if_any()
    if looks_like_weights(rows, different, mean or 0.0, cells):
        warn(
            faults,
            f"count {name} looks like a sampling weight and not like a count of rows: {rows:,} rows have only "
            f"{cells:,} combinations of the columns, and {different:,} different numbers. A weight is taken for so "
            "many independent rows, and everything comes out significant: leave count out. If these are "
            "counts, add them up in tbl: '(SELECT …, sum(n) AS n FROM … GROUP BY ALL)'.",
        )
    return 0


def looks_like_weights(rows: int, different: int, mean: float, cells: int) -> bool:
    odd = different >= _DIFFERENT * rows or different <= _IN_ALL
    return rows >= max(_ROWS, _ROWS_EACH * cells) and odd and mean >= _MEAN


UDF = Udf(CHECK, check, ("VARCHAR", *("BIGINT",) * 6, "DOUBLE", "BIGINT"), "BIGINT", by="values")
