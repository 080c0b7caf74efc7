"""Levels that few rows have, found and looked up in SQL: which become one, and whether a row's level is one of them.

Levels that are rare are merged, and where all of them together are rare still, so is the next rarest. In the order of
their counts that is every level that is rare itself, or comes after too few rows.

A row finds its level among the merged ones by its hash, in a list of short lists: a join would lose the order of rows.
"""

from __future__ import annotations

from sqlglot import exp

from ppduck.query import tree as sql
from ppduck.stages import aggregates
from ppduck.stages.masking import SOURCE
from ppduck.stages.plan import Groups, Stage, Totals

LEVEL, COUNT, MERGED = "_pp_level", "_pp_count", "_pp_merged"
_BEFORE, _LEAST, _BUCKET, _WITHIN = "_pp_before", "_pp_least", "_pp_bucket", "_pp_within"
BUCKETS = 4096  # so that of many thousand levels a handful is looked through


def table(j: int) -> str:
    """The stage that has the levels of the j-th column."""
    return f"_pp_levels{j}"


def lookup(j: int) -> str:
    """The column that ``buckets`` is to be called by."""
    return f"_pp_rare{j}"


def stages(j: int, value: sql.Expr, rare_below: int) -> list[Stage]:
    """The levels of a value, how many rows have each, and whether it becomes one with others."""
    counted, ranked, rare = f"_pp_counted{j}", f"_pp_ranked{j}", sql.number(rare_below)
    level, count, before, least = map(sql.column, (LEVEL, COUNT, _BEFORE, _LEAST))
    upto = sql.over(sql.call("sum", count), (), [count, level])
    ranks = [
        sql.named(sql.minus(upto, count.copy()), _BEFORE),
        sql.named(sql.over(sql.call("min", count.copy())), _LEAST),
    ]
    own = exp.or_(
        exp.LT(this=count.copy(), expression=rare),
        exp.LT(this=before, expression=rare.copy()),
    )
    some = exp.LT(this=least, expression=rare.copy())
    merged = sql.named(exp.and_(some, exp.paren(own)), MERGED)
    columns = [level.copy(), count.copy(), merged]
    present = sql.present([value])
    return [
        Totals(
            counted, False, [(LEVEL, value)], [aggregates.rows(COUNT)], sql.table(SOURCE), present
        ),
        Groups(ranked, False, sql.query([sql.star(counted), *ranks], sql.table(counted))),
        Groups(table(j), True, sql.query(columns, sql.table(ranked))),
    ]


def values(j: int) -> sql.Expr:
    """How many rows have a level."""
    total = sql.call("coalesce", sql.call("sum", sql.column(COUNT)), sql.number(0))
    return sql.scalar(sql.query([total], sql.table(table(j))))


def is_taken(j: int, called: sql.Expr) -> sql.Expr:
    """Whether levels become one that is a level already."""
    same = sql.call("bool_or", sql.equal(sql.column(LEVEL), called))
    both = exp.and_(same, sql.call("bool_or", sql.column(MERGED)))
    return sql.scalar(sql.query([sql.call("coalesce", both, exp.false())], sql.table(table(j))))


def buckets(j: int) -> sql.Expr:
    """The merged levels, in as many lists as there are buckets; NULL for a list without one."""
    level = sql.column(LEVEL)
    filled = sql.query(
        [sql.named(_bucket(level), _BUCKET), sql.named(sql.call("list", level.copy()), _WITHIN)],
        sql.table(table(j)),
        where=sql.column(MERGED),
        group=[sql.number(1)],
    )
    number = sql.column("range")
    every = sql.rows_of("range", sql.number(BUCKETS))
    rows = every.join(
        sql.derived(filled, "_pp_filled"), sql.equal(sql.column(_BUCKET), number), outer=True
    )
    listed = sql.in_order("list", sql.column(_WITHIN), [number.copy()])
    return sql.scalar(sql.query([listed], rows))


def is_merged(j: int, value: sql.Expr) -> sql.Expr:
    """Whether a value is one of the merged levels; NULL or false where it is not."""
    place = exp.Add(this=_bucket(value), expression=sql.number(1))
    return sql.call("list_contains", sql.item(sql.column(lookup(j)), place), value.copy())


def _bucket(value: sql.Expr) -> sql.Expr:
    digest = sql.call("hash", value.copy())
    return sql.cast(
        sql.paren(exp.BitwiseAnd(this=digest, expression=sql.number(BUCKETS - 1))), "BIGINT"
    )
