"""Sums over two releases of numbers: of all rows of each, of those that both have, and the rows that only one has.

All are of deviations from a centre that both releases share, so that what differs does not drown in what does not:
Σ f·(x - c) is as exact as Σ f·x, and Σ f·c is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.call.spec import Spec
from ppduck.frozen import frozen
from ppduck.measures._two_releases import (
    BOTH,
    FIRST,
    JOINED,
    ORIGINAL,
    SECOND,
    TwoReleases,
    at,
    not_null,
)
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

CENTRE, ABOUT, SUMS, MOMENTS, ALONE = (
    "_pp_centre",
    "_pp_about",
    "_pp_sums",
    "_pp_moments",
    "_pp_alone",
)
MOST_ALONE = 10_000  # rows that are solved for, one unknown each
SAME = 1e-9  # values nearer than this, beside their own size, are one value


@frozen
class NumbersSpec(Spec):
    """The names of what is open and of what is confidential."""

    columns: list[str]
    features: list[str]
    has_original: bool


@frozen
class NumbersTold:
    """Sums of each release, rows that only one has, and moments of [S, first, second, original] over common rows."""

    checked: int
    centres: Array  # of S, then of conf
    spreads: Array
    changed: Array  # common rows in which a feature differs, or any in which it is NULL
    first: Array  # Σ f·(y - c), conf by conf: f = 1, then each feature about its centre
    second: Array
    only_first: Array  # rows of each conf that only this release has
    only_second: Array
    same: Array  # common rows of each conf whose values are equal
    common: Array  # how many of these there are
    alone: (
        Array | None
    )  # features and values about their centres, row by row; None where there are too many
    n: int  # common rows without NULL
    sums: Array
    products: Array


def sum_up(tables: TwoReleases, statement: sql.Statement) -> None:
    """Steps over the joined rows: centres, sums, moments and the rows that only one release has."""
    p, q = range(len(tables.features)), range(len(tables.numbers))
    either = {f"_pp_s{i}": _either("s", i) for i in p} | {f"_pp_y{j}": _either("y", j) for j in q}
    centres = {
        f"{name}_c": sql.call("coalesce", sql.call("avg", value), sql.number(0.0))
        for name, value in either.items()
    }
    statement.step(
        CENTRE,
        sql.query(sql.columns(centres) or [sql.number(1)], sql.table(JOINED)),
        materialized=True,
    )
    statement.step(ABOUT, _about(tables), materialized=False)
    statement.step(SUMS, _sums(tables), materialized=True)
    statement.step(MOMENTS, _moments(tables), materialized=True)
    statement.step(ALONE, _alone(tables), materialized=True)


def told() -> dict[str, sql.Expr]:
    """What a UDF is told, of the steps SUMS, MOMENTS and ALONE beside each other."""
    names = [name for name in NumbersTold.__dataclass_fields__ if name != "checked"]
    return {name: sql.column(f"_pp_{name}_told") for name in names}


def _either(kind: str, place: int) -> sql.Expr:
    return sql.call("coalesce", *(sql.column(at(kind, place, side)) for side in (FIRST, SECOND)))


def _sides(tables: TwoReleases) -> list[str]:
    return [FIRST, SECOND, *([ORIGINAL] if tables.has_original else [])]


def _about(tables: TwoReleases) -> sql.Expr:
    """The joined rows with everything about its centre: ``_pp_f0…``, ``_pp_d0_first…``."""
    parts = {
        f"_pp_f{i}": sql.minus(_either("s", i), sql.column(f"_pp_s{i}_c"))
        for i in range(len(tables.features))
    }
    for j in range(len(tables.numbers)):
        for side in _sides(tables):
            parts[at("d", j, side)] = sql.minus(
                sql.column(at("y", j, side)), sql.column(f"_pp_y{j}_c")
            )
    return sql.query([exp.Star(), *sql.columns(parts)], sql.table(JOINED).cross(sql.table(CENTRE)))


def _sums(tables: TwoReleases) -> sql.Expr:
    p, q = range(len(tables.features)), range(len(tables.numbers))
    features = [f"_pp_f{i}" for i in p]
    middles = [sql.column(f"_pp_s{i}_c") for i in p] + [sql.column(f"_pp_y{j}_c") for j in q]
    spreads = [sql.call("stddev_pop", sql.column(name)) for name in features]
    spreads += [sql.call("stddev_pop", sql.call("coalesce", *_pair("d", j))) for j in q]
    # A feature that is NULL somewhere, or not the same in both, is of no use.
    changed = [
        aggregates.count_if(
            (sql.column(BOTH) & _apart(*_pair("s", i))) | sql.column(features[i]).is_(exp.null())
        )
        for i in p
    ]
    parts: dict[str, sql.Expr] = {
        "centres": sql.array((sql.call("any_value", each) for each in middles), "DOUBLE"),
        "spreads": sql.array(spreads, "DOUBLE"),
        "changed": sql.array(changed, "DOUBLE"),
        "same": sql.array((aggregates.count_if(_equal(j)) for j in q), "DOUBLE"),
        "common": sql.array((aggregates.count_if(_in(j, both=True)) for j in q), "DOUBLE"),
    }
    for side, other in ((FIRST, SECOND), (SECOND, FIRST)):
        parts[side] = _weighed_sums(side, features, q)
        parts[f"only_{side}"] = sql.array(
            (aggregates.count_if(_only(j, side, other)) for j in q), "DOUBLE"
        )
    named = {f"_pp_{name}_told": value for name, value in parts.items()}
    return sql.query(sql.columns(named), sql.table(ABOUT))


def _weighed_sums(side: str, features: Sequence[str], conf: range) -> sql.Expr:
    """Σ f·d of one release, conf by conf; NULL, of no rows, is 0."""
    found = []
    for j in conf:
        value = sql.column(at("d", j, side))
        terms = [value, *(sql.product(sql.column(f), value) for f in features)]
        found += [
            sql.call("coalesce", sql.call(aggregates.COMPENSATED, term), sql.number(0.0))
            for term in terms
        ]
    return sql.array(found, "DOUBLE")


def _pair(kind: str, place: int) -> tuple[sql.Expr, sql.Expr]:
    return sql.column(at(kind, place, FIRST)), sql.column(at(kind, place, SECOND))


def _in(place: int, *, both: bool) -> sql.Expr:
    """Whether both releases have a value, or one of them only."""
    first, second = not_null(at("y", place, FIRST), at("y", place, SECOND))
    return (
        sql.paren(first & second)
        if both
        else exp.NEQ(this=sql.paren(first), expression=sql.paren(second))
    )


def _only(place: int, side: str, other: str) -> sql.Expr:
    mine, theirs = not_null(at("y", place, side), at("y", place, other))
    return mine & sql.paren(theirs).not_()


def _equal(place: int) -> sql.Expr:
    return _in(place, both=True) & _apart(*_pair("y", place)).not_()


def _apart(a: sql.Expr, b: sql.Expr) -> sql.Expr:
    """Whether two values differ by more than their last digits, or one is NULL."""
    size = sql.call("greatest", sql.call("abs", a), sql.call("abs", b))
    near = sql.call("abs", sql.minus(a.copy(), b.copy())) <= sql.number(SAME) * size
    return sql.paren(exp.NullSafeNEQ(this=sql.paren(near), expression=exp.true()))


def _moments(tables: TwoReleases) -> sql.Expr:
    """Of rows that both releases have, no value of conf NULL; features as they are about their centres."""
    p, q = range(len(tables.features)), range(len(tables.numbers))
    values = [at("d", j, side) for side in _sides(tables) for j in q]
    features = [sql.call("coalesce", sql.column(f"_pp_f{i}"), sql.number(0.0)) for i in p]
    columns = [*features, *(sql.column(name) for name in values)]
    parts = {
        "n": aggregates.rows(),
        "sums": aggregates.sums(columns),
        "products": aggregates.products(columns),
    }
    named = {f"_pp_{name}_told": value for name, value in parts.items()}
    return sql.query(sql.columns(named), sql.table(ABOUT), where=sql.every(not_null(*values)))


def _alone(tables: TwoReleases) -> sql.Expr:
    """Features and values of the rows that only one release has, one after the other; an order that keys give."""
    p, q = range(len(tables.features)), range(len(tables.numbers))
    original = [sql.column(at("d", j, ORIGINAL)) if tables.has_original else sql.null() for j in q]
    values = [sql.column(f"_pp_f{i}") for i in p]
    for j in q:
        values += [*_pair("d", j), original[j]]
    listed = sql.call(
        "flatten",
        sql.in_order("list", sql.array(values, "DOUBLE"), [sql.column("_pp_hash")]),
    )
    few = sql.scalar(
        sql.query(
            [
                sql.call(
                    "list_max",
                    sql.call(
                        "list_concat",
                        sql.column(f"_pp_only_{FIRST}_told"),
                        sql.column(f"_pp_only_{SECOND}_told"),
                    ),
                )
            ],
            sql.table(SUMS),
        )
    ) <= sql.number(MOST_ALONE)
    where = exp.and_(
        few, sql.paren(exp.or_(*(_in(j, both=False) for j in q), copy=False)), copy=False
    )
    return sql.query([sql.named(listed, "_pp_alone_told")], sql.table(ABOUT), where=where)
