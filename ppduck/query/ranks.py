"""Ranks in SQL: normal scores, "shuffle A by B", and the empirical quantile function.

Every sort is a window over a narrow table, which DuckDB spills to disk where it is larger than memory;
what comes out finds its row again by ``_pp_i``, the row's number.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.query import tree as sql

ROW = "_pp_i"
POSITION = "_pp_k"
OUT = "_pp_o"
BEFORE, NEXT = "_pp_before", "_pp_next"
CDF = "ppduck_normal_cdf"


def ranks(source: str, by: Sequence[sql.Expr], value: sql.Expr, kept: Sequence[sql.Expr] = ()) -> str:
    """How many values lie below each value, the share of rows up to it, and its place, by row; NULL comes last.

    Every row is there, so that joins need not ask which are missing.
    """
    over = _window(by, [value])
    columns = [
        *by,
        sql.column(ROW),
        *kept,
        sql.named(sql.raw(f"rank() OVER {over} - 1"), "_pp_below"),
        sql.named(sql.raw(f"cume_dist() OVER {over}"), "_pp_upto"),
        sql.named(sql.raw(f"row_number() OVER {over}"), POSITION),
    ]
    return sql.select(columns, source)


def share(values: sql.Expr, rows: sql.Expr) -> sql.Expr:
    """(mid-rank - ½)/n from what ``ranks`` gives: ties share the middle of their places; NULL where the value is.

    ``values`` are present, of so many ``rows``.
    """
    below, n = sql.double(sql.column("_pp_below")), values
    upto = exp.Mul(this=sql.column("_pp_upto"), expression=rows)
    middle = exp.Div(
        this=exp.paren(exp.Add(this=below, expression=upto)), expression=exp.paren(sql.product(sql.number(2), n))
    )
    return exp.Case().when(exp.LT(this=sql.column("_pp_below"), expression=n.copy()), middle)


def ordered(table: str, by: Sequence[str], value: sql.Expr, ties: Sequence[sql.Expr], kept: Sequence[sql.Expr]) -> str:
    """Places 1 … n of the rows in the order of a value, NULL last, beside what is kept of them."""
    groups: list[sql.Expr] = [sql.column(name) for name in by]
    place = sql.raw(f"row_number() OVER {_window(groups, [value, *ties])}")
    return sql.select([*groups, *kept, sql.named(place, POSITION)], f'"{table}"')


def shuffled(table: str, by: Sequence[str], value: str, along: str, tie: str, taken: str | None = None) -> str:
    """Shuffle A by B: to the row whose B has rank k goes the value of A that has rank k, as (row, value).

    Rows that lack A must lack B too, and get NULL. Equal values of B take their order from ``tie``. ``taken`` are the
    values of A at their places, where these are known already. (000, Appendix C.)
    """
    if taken is None:
        taken = ordered(table, by, sql.column(value), (), [sql.named(sql.column(value), OUT)])
    given = ordered(table, by, sql.column(along), [sql.column(tie), sql.column(ROW)], [sql.column(ROW)])
    return _at_places([sql.column(OUT, "_pp_taken")], taken, given, by, sql.column(POSITION, "_pp_given"))


def neighbour(function: str, by: Sequence[sql.Expr], value: sql.Expr, ties: Sequence[sql.Expr] = ()) -> sql.Expr:
    """The value at the place before (lag) or at the next (lead); ``ties`` say in which order equal ones stand."""
    return sql.raw(f"{function}({sql.render(value.copy())}) OVER {_window(by, [value, *ties])}")


def on_quantiles(taken: str, table: str, by: Sequence[str], along: str, tie: str, within: str) -> str:
    """The empirical quantile function of A at the places of B, linear between its values, as (row, value).

    ``taken`` are the values of A at their places, each beside the one before and the next; ``within`` says
    where from 0 to 1 inside its place a value falls. At either end there is nothing to interpolate
    with: the extremes stand there.
    """
    ties = [sql.column(tie), sql.column(ROW)]
    given = ordered(table, by, sql.column(along), ties, [sql.column(ROW), sql.column(within)])
    part = sql.minus(sql.column(within), sql.number(0.5))
    low, value, high = (sql.column(name, "_pp_taken") for name in (BEFORE, OUT, NEXT))
    up = sql.product(part, sql.minus(sql.call("coalesce", high, value.copy()), value.copy()))
    down = sql.product(part, sql.minus(value.copy(), sql.call("coalesce", low, value.copy())))
    step = exp.Case().when(exp.GTE(this=part.copy(), expression=sql.number(0)), up).else_(down)
    released = sql.named(exp.Add(this=value.copy(), expression=step), OUT)
    return _at_places([released], taken, given, by, sql.column(POSITION, "_pp_given"))


def _at_places(columns: Sequence[sql.Expr], taken: str, given: str, by: Sequence[str], place: sql.Expr) -> str:
    """Rows of ``given``, each beside what is at its place in its group."""
    pairs = [(sql.column(name, "_pp_taken"), sql.column(name, "_pp_given")) for name in by]
    same = exp.EQ(this=sql.column(POSITION, "_pp_taken"), expression=place)
    on = exp.and_(same, *(exp.NullSafeEQ(this=a, expression=b) for a, b in pairs))
    source = f'({given}) AS "_pp_given" JOIN ({taken}) AS "_pp_taken" ON {sql.render(on)}'
    return sql.select([sql.column(ROW, "_pp_given"), *columns], source)


def _window(by: Sequence[sql.Expr], order: Sequence[sql.Expr]) -> str:
    parts = []
    if by:
        parts.append("PARTITION BY " + ", ".join(sql.render(each.copy()) for each in by))
    if order:
        parts.append("ORDER BY " + ", ".join(f"{sql.render(each.copy())} ASC NULLS LAST" for each in order))
    return f"({' '.join(parts)})"
