"""Ranks in SQL: normal scores, "shuffle A by B", and the empirical quantile function.

Every sort is a window over a narrow table, which DuckDB spills to disk where it is larger than memory;
what comes out finds its row again by the row's number.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.query import tree as sql

ROW = "_pp_row_number"
PLACE = "_pp_place"  # 1 … n in the order of a value
VALUE = "_pp_value"  # what stands at a place
BEFORE, NEXT = "_pp_before", "_pp_next"
BELOW, UPTO = "_pp_below", "_pp_upto"


def ranks(
    rows: sql.Rows, by: Sequence[sql.Expr], value: sql.Expr, kept: Sequence[sql.Expr] = ()
) -> sql.Expr:
    """How many values lie below each value, the share of rows up to it, and its place, by row; NULL comes last.

    Every row is there, so that joins need not ask which are missing.
    """
    below = exp.Sub(this=sql.over(sql.call("rank"), by, [value]), expression=sql.number(1))
    columns = [
        *by,
        sql.column(ROW),
        *kept,
        sql.named(below, BELOW),
        sql.named(sql.over(sql.call("cume_dist"), by, [value]), UPTO),
        sql.named(sql.over(sql.call("row_number"), by, [value]), PLACE),
    ]
    return sql.query(columns, rows)


def share(values: sql.Expr, rows: sql.Expr) -> sql.Expr:
    """(mid-rank - ½)/n from what ``ranks`` gives: ties share the middle of their places; NULL where the value is.

    ``values`` are present, of so many ``rows``.
    """
    below, n = sql.double(sql.column(BELOW)), values
    upto = exp.Mul(this=sql.column(UPTO), expression=rows)
    both = sql.paren(exp.Add(this=below, expression=upto))
    middle = exp.Div(this=both, expression=sql.paren(sql.product(sql.number(2), n)))
    return sql.cases((exp.LT(this=sql.column(BELOW), expression=n.copy()), middle))


def ordered(
    rows: sql.Rows,
    by: Sequence[str],
    value: sql.Expr,
    ties: Sequence[sql.Expr],
    kept: Sequence[sql.Expr],
) -> sql.Expr:
    """Places 1 … n of the rows in the order of a value, NULL last, beside what is kept of them."""
    groups: list[sql.Expr] = [sql.column(name) for name in by]
    place = sql.over(sql.call("row_number"), groups, [value, *ties])
    return sql.query([*groups, *kept, sql.named(place, PLACE)], rows)


def shuffled(
    table: str, by: Sequence[str], value: str, along: str, tie: str, taken: sql.Expr | None = None
) -> sql.Expr:
    """Shuffle A by B: to the row whose B has rank k goes the value of A that has rank k, as (row, value).

    Rows that lack A must lack B too, and get NULL. Equal values of B take their order from ``tie``. ``taken`` are the
    values of A at their places, where these are known already. (Al-Ahmadi 2006, Appendix C.)
    """
    rows = sql.table(table)
    if taken is None:
        taken = ordered(rows, by, sql.column(value), (), [sql.named(sql.column(value), VALUE)])
    ties = [sql.column(tie), sql.column(ROW)]
    given = ordered(rows, by, sql.column(along), ties, [sql.column(ROW)])
    return _at_places([sql.column(VALUE, "_pp_taken")], taken, given, by)


def neighbour(
    function: str, by: Sequence[sql.Expr], value: sql.Expr, ties: Sequence[sql.Expr] = ()
) -> sql.Expr:
    """The value at the place before (lag) or at the next (lead); ``ties`` say in which order equal ones stand."""
    return sql.over(sql.call(function, value.copy()), by, [value, *ties])


def on_quantiles(
    taken: sql.Expr, table: str, by: Sequence[str], along: str, tie: str, within: str
) -> sql.Expr:
    """The empirical quantile function of A at the places of B, linear between its values, as (row, value).

    ``taken`` are the values of A at their places, each beside the one before and the next; ``within`` says
    where from 0 to 1 inside its place a value falls. At either end there is nothing to interpolate
    with: the extremes stand there.
    """
    ties = [sql.column(tie), sql.column(ROW)]
    kept = [sql.column(ROW), sql.column(within)]
    given = ordered(sql.table(table), by, sql.column(along), ties, kept)
    low, value, high = (sql.column(name, "_pp_taken") for name in (BEFORE, VALUE, NEXT))
    released = sql.named(between(low, value, high, sql.column(within)), VALUE)
    return _at_places([released], taken, given, by)


def between(low: sql.Expr, value: sql.Expr, high: sql.Expr, within: sql.Expr) -> sql.Expr:
    """The value inside the place of ``value``, from the middle towards the one before or the next."""
    part = sql.minus(within, sql.number(0.5))
    up = sql.product(part, sql.minus(sql.call("coalesce", high, value.copy()), value.copy()))
    down = sql.product(part, sql.minus(value.copy(), sql.call("coalesce", low, value.copy())))
    upwards = exp.GTE(this=part.copy(), expression=sql.number(0))
    step = sql.cases((upwards, up), otherwise=down)
    return exp.Add(this=value.copy(), expression=step)


def _at_places(
    columns: Sequence[sql.Expr], taken: sql.Expr, given: sql.Expr, by: Sequence[str]
) -> sql.Expr:
    """Rows of ``given``, each beside what is at its place in its group."""
    same = exp.EQ(this=sql.column(PLACE, "_pp_taken"), expression=sql.column(PLACE, "_pp_given"))
    groups = [
        exp.NullSafeEQ(this=sql.column(name, "_pp_taken"), expression=sql.column(name, "_pp_given"))
        for name in by
    ]
    rows = sql.derived(given, "_pp_given").join(
        sql.derived(taken, "_pp_taken"), exp.and_(same, *groups)
    )
    return sql.query([sql.column(ROW, "_pp_given"), *columns], rows)
