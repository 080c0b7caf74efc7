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
CDF = "ppduck_normal_cdf"


def ranks(source: str, by: Sequence[sql.Expr], value: sql.Expr) -> str:
    """How many values lie below each value that is present, and the share up to it, by row."""
    over = _window(by, [value])
    columns = [
        *by,
        sql.column(ROW),
        sql.named(sql.raw(f"rank() OVER {over} - 1"), "_pp_below"),
        sql.named(sql.raw(f"cume_dist() OVER {over}"), "_pp_upto"),
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


def shuffled(table: str, by: Sequence[str], value: str, along: str, tie: str) -> str:
    """Shuffle A by B: to the row whose B has rank k goes the value of A that has rank k, as (row, value).

    Rows that lack A must lack B too. Equal values of B take their order from ``tie``. (000, Appendix C.)
    """
    taken = ordered(table, by, sql.column(value), (), [sql.named(sql.column(value), OUT)])
    given = ordered(table, by, sql.column(along), [sql.column(tie)], [sql.column(ROW)])
    pairs = [(sql.column(name, "_pp_taken"), sql.column(name, "_pp_given")) for name in by]
    place = exp.EQ(this=sql.column(POSITION, "_pp_taken"), expression=sql.column(POSITION, "_pp_given"))
    on = exp.and_(place, *(exp.NullSafeEQ(this=a, expression=b) for a, b in pairs))
    columns = [sql.column(ROW, "_pp_given"), sql.column(OUT, "_pp_taken")]
    return sql.select(columns, f'({given}) AS "_pp_given" JOIN ({taken}) AS "_pp_taken" ON {sql.render(on)}')


def on_quantiles(table: str, by: Sequence[str], value: str, along: str) -> str:
    """Q(Φ(B)) with Q the empirical quantile function of A, linear between the places (k - ½)/n, as (row, value)."""
    groups: list[sql.Expr] = [sql.column(name) for name in by]
    over = _window(groups, [sql.column(value)])
    following = sql.raw(f"lead({sql.render(sql.column(value))}) OVER {over}")
    size = sql.raw(f"count(*) OVER {_window(groups, [])}")
    places = ordered(
        table,
        by,
        sql.column(value),
        (),
        [sql.named(sql.double(sql.column(value)), OUT), sql.named(sql.double(following), "_pp_next")],
    )
    height = sql.call(CDF, sql.column(along))
    wanted = sql.select(
        [*groups, sql.column(ROW), sql.named(height, "_pp_h"), sql.named(size, "_pp_n")],
        f'"{table}"',
        where=sql.present([sql.column(along)]),
    )
    at = exp.Add(this=exp.Mul(this=sql.column("_pp_h"), expression=sql.column("_pp_n")), expression=sql.number(0.5))
    # Below the first place and above the last there is nothing to interpolate with: the extremes stand there.
    inside = sql.call("greatest", sql.number(1.0), sql.call("least", sql.double(sql.column("_pp_n")), at))
    wanted = sql.select([sql.star("_pp_wanted"), sql.named(inside, "_pp_at")], f'({wanted}) AS "_pp_wanted"')
    pairs = [(sql.column(name, "_pp_places"), sql.column(name, "_pp_wanted")) for name in by]
    floor = sql.cast(sql.call("floor", sql.column("_pp_at")), "BIGINT")
    on = exp.and_(
        exp.EQ(this=sql.column(POSITION, "_pp_places"), expression=floor),
        *(exp.NullSafeEQ(this=a, expression=b) for a, b in pairs),
    )
    part = sql.minus(sql.column("_pp_at"), sql.call("floor", sql.column("_pp_at")))
    low = sql.column(OUT, "_pp_places")
    step = exp.Mul(
        this=part, expression=sql.minus(sql.call("coalesce", sql.column("_pp_next"), low.copy()), low.copy())
    )
    columns = [sql.column(ROW, "_pp_wanted"), sql.named(exp.Add(this=low, expression=step), OUT)]
    return sql.select(columns, f'({wanted}) AS "_pp_wanted" JOIN ({places}) AS "_pp_places" ON {sql.render(on)}')


def _window(by: Sequence[sql.Expr], order: Sequence[sql.Expr]) -> str:
    parts = []
    if by:
        parts.append("PARTITION BY " + ", ".join(sql.render(each.copy()) for each in by))
    if order:
        parts.append("ORDER BY " + ", ".join(sql.render(each.copy()) for each in order))
    return f"({' '.join(parts)})"
