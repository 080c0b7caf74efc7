"""Ranks in SQL: normal scores, "shuffle A by B", and the empirical quantile function.

Every sort is a window over a narrow table, which DuckDB spills to disk where it is larger than memory;
what comes out finds its row again by ``_pp_i``, the row's number.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.plan import sqlbuild as sql

ROW = "_pp_i"
POSITION = "_pp_k"
OUT = "_pp_o"
NEXT = "_pp_next"
CDF = "ppduck_normal_cdf"


def ranks(source: str, by: Sequence[sql.Expr], value: sql.Expr, kept: Sequence[sql.Expr] = ()) -> str:
    """How many values lie below each value that is present, the share up to it, and its place, by row."""
    over = _window(by, [value])
    columns = [
        *by,
        sql.column(ROW),
        *kept,
        sql.named(sql.raw(f"rank() OVER {over} - 1"), "_pp_below"),
        sql.named(sql.raw(f"cume_dist() OVER {over}"), "_pp_upto"),
        sql.named(sql.raw(f"row_number() OVER {over}"), POSITION),
    ]
    return sql.select(columns, source, where=sql.present([value]))


def share(count: sql.Expr) -> sql.Expr:
    """(mid-rank - ½)/n from what ``ranks`` gives: ties share the middle of their places."""
    below = exp.Div(this=sql.double(sql.column("_pp_below")), expression=count)
    return exp.Div(this=exp.paren(exp.Add(this=below, expression=sql.column("_pp_upto"))), expression=sql.number(2))


def ordered(table: str, by: Sequence[str], value: sql.Expr, ties: Sequence[sql.Expr], kept: Sequence[sql.Expr]) -> str:
    """Places 1 … n of the values that are present, beside what is kept of their rows."""
    groups: list[sql.Expr] = [sql.column(name) for name in by]
    place = sql.raw(f"row_number() OVER {_window(groups, [value, *ties])}")
    return sql.select([*groups, *kept, sql.named(place, POSITION)], f'"{table}"', where=sql.present([value]))


def shuffled(table: str, by: Sequence[str], value: str, along: str, tie: str, taken: str | None = None) -> str:
    """Shuffle A by B: to the row whose B has rank k goes the value of A that has rank k, as (row, value).

    Rows that lack A must lack B too. Equal values of B take their order from ``tie``. ``taken`` are the
    values of A at their places, where these are known already. (000, Appendix C.)
    """
    if taken is None:
        taken = ordered(table, by, sql.column(value), (), [sql.named(sql.column(value), OUT)])
    given = ordered(table, by, sql.column(along), [sql.column(tie)], [sql.column(ROW)])
    return _at_places([sql.column(OUT, "_pp_taken")], taken, given, by, sql.column(POSITION, "_pp_given"))


def following(by: Sequence[sql.Expr], value: sql.Expr) -> sql.Expr:
    """The value at the next place."""
    return sql.raw(f"lead({sql.render(value.copy())}) OVER {_window(by, [value])}")


def on_quantiles(taken: str, source: str, by: Sequence[str], along: str, count: sql.Expr) -> str:
    """Q(Φ(B)) with Q the empirical quantile function of A, linear between the places (k - ½)/n, as (row, value).

    ``taken`` are the values of A at their places, each beside the next; ``count`` says how many there are.
    """
    groups: list[sql.Expr] = [sql.column(name) for name in by]
    height = exp.Mul(this=sql.call(CDF, sql.column(along)), expression=count.copy())
    at = exp.Add(this=height, expression=sql.number(0.5))
    # Below the first place and above the last there is nothing to interpolate with: the extremes stand there.
    inside = sql.call("greatest", sql.number(1.0), sql.call("least", sql.double(count.copy()), at))
    given = sql.select(
        [*groups, sql.column(ROW), sql.named(inside, "_pp_at")], source, where=sql.present([sql.column(along)])
    )
    floor = sql.call("floor", sql.column("_pp_at"))
    part = sql.minus(sql.column("_pp_at"), floor)
    low = sql.column(OUT, "_pp_taken")
    step = sql.minus(sql.call("coalesce", sql.column(NEXT), low.copy()), low.copy())
    value = exp.Add(this=low, expression=exp.Mul(this=part, expression=step))
    return _at_places([sql.named(value, OUT)], taken, given, by, sql.cast(floor.copy(), "BIGINT"))


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
        parts.append("ORDER BY " + ", ".join(sql.render(each.copy()) for each in order))
    return f"({' '.join(parts)})"
