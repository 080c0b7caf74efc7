"""Rules that are figures of other functions, all over pairs that are matched once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlglot import exp

from ppduck.call.registry import Function, function_named
from ppduck.call.roles import MANY_LEVELS
from ppduck.catalogue.source import Column
from ppduck.gate._parts import Asked, Parts
from ppduck.gate.rules import (
    COPIED,
    COPY,
    LEFT_OUT,
    LEFT_OUT_MEANING,
    RULES,
    Limit,
    Limits,
    Rule,
    arm,
    nobody,
)
from ppduck.pairs.columns import Compared
from ppduck.pairs.measure import Measure
from ppduck.pairs.one_to_one import CHECK
from ppduck.pairs.rows import COUNT, PIECE, PIECES, Pairs
from ppduck.query import aggregates
from ppduck.query import tree as sql

BY_COLUMN = "column_name"
# Of a larger table so many records are sought, each among all: a share of 0.05 is then known to within 0.003.
SOUGHT = 20_000
_PLACES = 100  # of a rule, for its columns


def rows(statement: sql.Statement, parts: Parts, limits: Limits, call: Asked) -> Iterator[sql.Expr]:
    columns, kinds = parts.columns, parts.kinds
    if limits.asks(LEFT_OUT) and kinds["all"]:
        yield _left_out(limits.numbers.get(LEFT_OUT))
    asked = [
        (rule, RULES[rule], limit)
        for rule, limit in limits.measured.items()
        if RULES[rule].of != "all" or columns.numbers or linkable(columns)
    ]
    for copied in COPIED.values():
        if kinds[copied.of]:
            assert copied.default is not None
            asked.append((COPY, copied, copied.default))
    steps = [how.step for _, how, _ in asked]
    for rule, how, limit in asked:
        found = sql.table(how.step)
        if not statement.has(how.step):
            figures = _figures(statement, columns, call, how)
            if steps.count(how.step) > 1:  # two rules may be figures of one function
                statement.step(how.step, figures, materialized=True)
            else:
                found = sql.derived(figures, how.step)
        place = _PLACES * (1 + (list(RULES).index(rule) if rule in RULES else len(RULES)))
        yield _row(place, rule, how, limit, found, kinds[how.of])


def _figures(statement: sql.Statement, columns: Compared, call: Asked, how: Rule) -> sql.Expr:
    """The rows of a function, over the pairs that all of them share; of one that takes no key, by itself."""
    function = function_named(how.function)
    numbers = columns.numbers if how.of != "categories" else []
    categories = columns.categories if how.of != "numbers" else []
    if how.of == "all":
        categories = linkable(columns)
    told: dict[str, Any] = {"original": call.original, "release": call.release, "key": call.key}
    told |= {"sample": SOUGHT, **how.more}
    told["conf"] = [column.name for column in [*numbers, *categories]]
    known = {parameter.name for parameter in function.parameters}
    assert isinstance(function.takes, type)
    asked = function.takes(**{name: value for name, value in told.items() if name in known})
    if not isinstance(function, Measure):
        planned = function.plan(columns.catalog, asked)
        return planned if isinstance(planned, sql.Expr) else planned.query()
    features = columns.features if _uses_nonconf(function) else []
    own = columns.part(function.name, numbers=numbers, categories=categories, features=features)
    return function.answer(Pairs(own, within=statement), asked)


def linkable(columns: Compared) -> list[Column]:
    """Categories of so few values, before and after, that they count by agreement."""
    found = []
    for column in columns.categories:
        seen: set[str] = set()
        for source in (columns.original, columns.masked):
            levels = columns.catalog.levels(source, source.column(column.name), MANY_LEVELS)
            seen |= set(map(str, range(MANY_LEVELS + 1)) if levels is None else levels)
        if len(seen) <= MANY_LEVELS:
            found.append(column)
    return found


def _uses_nonconf(function: Function) -> bool:
    return any(parameter.name == "nonconf" for parameter in function.parameters)


def _row(
    place: int, rule: str, how: Rule, limit: Limit, figures: sql.Rows, columns: Sequence[Column]
) -> sql.Expr:
    """For each column the figure that exceeds its limit most; NULL where one of those it is chosen from has none."""
    value, allowed = how.value, limit.allows(how.chance)

    def farthest(figure: sql.Expr) -> sql.Expr:
        return sql.call("arg_max", figure.copy(), value - allowed)

    every = aggregates.rows().eq(sql.call("count", value.copy()))
    most = sql.call("coalesce", farthest(allowed), sql.call("max", allowed.copy()))
    figure = sql.cases((every, farthest(value)))
    where = None if how.where is None else sql.column(how.where[0]).eq(sql.text(how.where[1]))
    results = {result.name for result in function_named(how.function).results}
    why = sql.text(how.described)
    if BY_COLUMN not in results:
        own = arm(
            sql.number(place), sql.text(rule), column=nobody(), value=figure, at_most=most, why=why
        )
        return sql.query(own, figures, where=where)
    # Beginning from the columns, so that one of which the function says nothing has no figure, and fails.
    names = [column.name for column in columns]
    listed = {
        "_pp_name": sql.call("unnest", sql.texts(names)),
        "_pp_nth": sql.call("unnest", sql.array(map(sql.number, range(len(names))), "BIGINT")),
    }
    kept = sql.derived(
        sql.query([sql.star("_pp_of_function")], _as(figures), where=where), "_pp_kept_figures"
    )
    both = sql.derived(sql.query(sql.columns(listed)), "_pp_names").join(
        kept, sql.equal(sql.column("_pp_name"), sql.column(BY_COLUMN)), outer=True
    )
    nth = sql.call("any_value", sql.column("_pp_nth")) + sql.number(place)
    own = arm(
        nth, sql.text(rule), column=sql.column("_pp_name"), value=figure, at_most=most, why=why
    )
    return sql.query(own, both, group=[sql.column("_pp_name")])


def _as(figures: sql.Rows) -> sql.Rows:
    """Under a name of which all columns can be asked for."""
    return sql.derived(sql.query([exp.Star()], figures), "_pp_of_function")


def _left_out(limit: float | None) -> sql.Expr:
    """The share of pairs that lack a value; said only where there are any, or where it is asked for."""
    pairs, none = sql.call("sum", sql.column(COUNT)), sql.column(PIECE).is_(sql.null())
    lacking = sql.call("coalesce", sql.only(pairs, none), sql.number(0))
    share = sql.query([sql.named(lacking / pairs, "_pp_share")], sql.table(PIECES))
    return sql.query(
        arm(
            sql.number(0),
            sql.text(LEFT_OUT),
            column=nobody(),
            value=sql.column("_pp_share"),
            at_most=sql.number(0.0 if limit is None else limit),
            why=sql.text(LEFT_OUT_MEANING),
        ),
        sql.derived(share, "_pp_left_out").cross(sql.table(CHECK)),
        where=None if limit is not None else sql.column("_pp_share") > sql.number(0),
    )
