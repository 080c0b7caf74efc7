"""release_check(): one verdict on a release, rule by rule: what is measured, its limit, and whether it is kept.

Each rule is a figure of another function, asked over conf; all of them stand in one statement and see the same data. A
rule is passed where its value is at most its limit, but for rounding (1e-9); a value that is NULL or NaN is not.

Without ``limits`` a release is held to what its owner would regret first: at most 5 % of the records linked by
distance, no canonical correlation added beyond chance, at most 1 % more of a column predicted and 1 % of its values
left as they are beyond what chance explains, at most half of them within the rank windows around their masked ones;
and, where the release is a view or a SELECT and not a table, nothing gained by reading it often. Categories in conf
are linked by; the other rules are of numbers. NULL in a category of nonconf is a level of it, which an intruder sees.
Rows that lack another value are seen by no rule but unchanged: where there are any, left_out says how many, and fails
unless a limit allows them. Columns of conf that the release hides in groups, as generalize_mask and anatomy_mask do,
have rules of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import MisreadError, parameter, parameters
from ppduck.call.registry import Function, Kind, Result, function_named, register
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.gate import _groups
from ppduck.gate.rules import (
    DEFAULTS,
    IF_READ_AGAIN,
    LEFT_OUT,
    LEFT_OUT_MEANING,
    OF_ANY,
    OF_SHARES,
    RULES,
    Limit,
    Rule,
)
from ppduck.kernels.prediction import ROUNDING
from ppduck.pairs.columns import KEY, NONCONF, Compared, ReleaseCall
from ppduck.pairs.measure import Measure
from ppduck.pairs.one_to_one import CHECK, MATCH
from ppduck.pairs.rows import COUNT, PIECE, PIECES, Pairs
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import folded

NAME = "release_check"
RESULTS = (
    Result("rule", "VARCHAR", "the rule"),
    Result(
        "passed", "BOOLEAN", "whether its value is at most its limit; false where there is no value"
    ),
    Result("value", "DOUBLE", "the figure of a column or of the table that exceeds its limit most"),
    Result(
        "at_most",
        "DOUBLE",
        "the limit: what is given, what is the rule's own, or what chance allows",
    ),
    Result("meaning", "VARCHAR", "the figure in words, and the function that it is of"),
)


@arguments.reader(
    f"rules with their limits, such as {{'linkage': 0.05, 'r2_gain': 0.01}}: {OF_SHARES.takes}, but for "
    f"{', '.join(name for name, rule in RULES.items() if rule.limits is OF_ANY)}: {OF_ANY.takes}"
)
def _limits(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise MisreadError
    return {str(name): limit for name, limit in value.items()}


@parameters
class ReleaseCheckCall(ReleaseCall):
    """Which columns were masked, what else is known, and which rules are asked."""

    conf: Sequence[str] = parameter(
        arguments.columns, "the confidential columns, numbers or categories, which both tables have"
    )
    key: Sequence[str] = KEY
    nonconf: Sequence[str] | None = NONCONF
    limits: dict[str, Any] | None = parameter(
        _limits,
        f"rules and the largest values they allow: {', '.join([*RULES, LEFT_OUT, *_groups.RULES])}; NULL for "
        f"{', '.join(name for name, rule in RULES.items() if rule.chance)} is what chance allows",
        None,
    )


def plan(catalog: Catalog, call: ReleaseCheckCall) -> sql.Expr:
    return checked(NAME, catalog, call)


def checked(name: str, catalog: Catalog, call: ReleaseCheckCall) -> sql.Expr:
    """A SELECT of the rules, for a function of this name."""
    columns = Compared(name, catalog, call)
    hidden = _groups.hidden_in(columns, call.conf)
    hidden_names = {folded(name) for name in hidden.names}
    seen = [name for name in call.conf if folded(name) not in hidden_names]
    statement = sql.Statement()
    if hidden_names and not seen:
        limits = _read(columns.faults, call.limits or {})
        columns.faults.raise_if_any()
        Pairs(columns).share(statement)
        return _judged(statement, _hidden_rows(hidden, limits))
    columns.use_conf(seen)
    limits = _asked(columns, call.limits)
    functions = {rule: function_named(RULES[rule].function) for rule in limits if rule in RULES}
    if call.nonconf is not None or any(map(_uses_nonconf, functions.values())):
        columns.use_nonconf(call.nonconf)
    columns.faults.raise_if_any()
    Pairs(columns).share(statement)
    rows = [_left_out(limits)]
    steps = {rule: RULES[rule].step for rule in functions}
    for rule, function in functions.items():
        step, how = steps[rule], RULES[rule]
        found = sql.table(step)
        if not statement.has(step):
            figures = _figures(statement, columns, call, how, function)
            if list(steps.values()).count(step) > 1:  # two rules may be figures of one function
                statement.step(step, figures, materialized=True)
            else:
                found = sql.derived(figures, step)
        rows.append(_row(list(limits).index(rule), rule, limits[rule], found))
    return _judged(statement, [*rows, *_hidden_rows(hidden, limits)])


def _figures(
    statement: sql.Statement,
    columns: Compared,
    call: ReleaseCheckCall,
    how: Rule,
    function: Function,
) -> sql.Expr:
    """The rows of a function, over the pairs that all of them share; of one that takes no key, by itself."""
    numbers = columns.numbers if how.of != "categories" else []
    categories = columns.categories if how.of != "numbers" else []
    told = {"original": call.original, "release": call.release, "key": call.key, **how.more}
    told["conf"] = [column.name for column in [*numbers, *categories]]
    known = {parameter.name for parameter in function.parameters}
    assert isinstance(function.takes, type)
    asked = function.takes(**{name: value for name, value in told.items() if name in known})
    if not isinstance(function, Measure):
        planned = function.plan(columns.catalog, asked)
        assert isinstance(planned, sql.Expr)
        return planned
    features = columns.features if _uses_nonconf(function) else []
    own = columns.part(function.name, numbers=numbers, categories=categories, features=features)
    return function.answer(Pairs(own, within=statement), asked)


def _uses_nonconf(function: Function) -> bool:
    return any(parameter.name == "nonconf" for parameter in function.parameters)


def _hidden_rows(hidden: _groups.Hidden, limits: dict[str, Limit]) -> list[sql.Expr]:
    """The rules of columns that are hidden in groups, which are asked whatever else is."""
    rows = []
    for place, rule in enumerate(hidden.rules, start=len(RULES) + 1):
        how = _groups.RULES[rule]
        limit = limits.get(rule, Limit(how.limit)).allows(None)
        columns = _columns(place, rule, limit, sql.column("value"), how.meaning)
        rows.append(
            sql.query(columns, sql.derived(how.value(hidden), "_pp_hidden").cross(sql.table(CHECK)))
        )
    return rows


def _judged(statement: sql.Statement, rows: list[sql.Expr]) -> sql.Expr:
    most = sql.column("at_most") + sql.number(ROUNDING)
    passed = {"passed": sql.call("coalesce", sql.column("value") <= most, exp.false())}
    columns = {result.name: passed.get(result.name, sql.column(result.name)) for result in RESULTS}
    every = sql.derived(sql.union_all(rows), "_pp_rules")
    return statement.query(sql.query(sql.columns(columns), every, order=[sql.column("_pp_place")]))


def _asked(columns: Compared, given: dict[str, Any] | None) -> dict[str, Limit]:
    """The limits by the names of their rules: those that are given, else those that fit the columns."""
    there = {"numbers": columns.numbers, "categories": columns.categories}
    there["all"] = [*columns.numbers, *columns.categories]
    if given is None:
        limits = DEFAULTS | ({} if columns.masked.repeatable else IF_READ_AGAIN)
        return {rule: limit for rule, limit in limits.items() if there[RULES[rule].of]}
    limits = _read(columns.faults, given)
    for rule in limits:
        of = RULES[rule].of if rule in RULES else "all"
        if there["all"] and not there[of]:
            columns.faults.add(f"rule {quoted(rule)} is of {of}, and conf has none.")
    return limits


def _read(faults: Faults, given: dict[str, Any]) -> dict[str, Limit]:
    limits: dict[str, Limit] = {}
    for name, limit in given.items():
        rule = RULES.get(name)
        known = [*RULES, LEFT_OUT, *_groups.RULES]
        if name not in known:
            faults.add(
                f"limits names rule {quoted(name)}, which does not exist.{near_miss(name, known)} "
                f"Rules: {listed(known)}."
            )
            continue
        read = OF_SHARES if rule is None else rule.limits
        try:
            by_chance = limit is None and rule is not None and rule.chance is not None
            limits[name] = Limit(None if by_chance else read(limit))
        except MisreadError as misread:
            faults.add(
                f"the limit of rule {quoted(name)} {misread}, got {'NULL' if limit is None else limit}."
            )
    return limits


def _left_out(limits: dict[str, Limit]) -> sql.Expr:
    """The share of pairs that lack a value; said only where there are any, or where it is asked for."""
    limit = limits.get(LEFT_OUT)
    pairs, none = sql.call("sum", sql.column(COUNT)), sql.column(PIECE).is_(sql.null())
    lacking = sql.call("coalesce", sql.only(pairs, none), sql.number(0))
    share = sql.query([sql.named(lacking / pairs, "_pp_share")], sql.table(PIECES))
    place = list(limits).index(LEFT_OUT) if limit else len(RULES)
    return sql.query(
        _columns(
            place,
            LEFT_OUT,
            (limit or Limit(0.0)).allows(None),
            sql.column("_pp_share"),
            LEFT_OUT_MEANING,
        ),
        sql.derived(share, "_pp_left_out").cross(sql.table(CHECK)),
        where=None if limit else sql.column("_pp_share") > sql.number(0),
    )


def _row(place: int, rule: str, limit: Limit, figures: sql.Rows) -> sql.Expr:
    """The figure of a rule that exceeds its limit most; NULL where one of those it is chosen from has none."""
    how = RULES[rule]
    value, allowed = how.value, limit.allows(how.chance)

    def farthest(figure: sql.Expr) -> sql.Expr:
        return sql.call("arg_max", figure.copy(), value - allowed)

    every = aggregates.rows().eq(sql.call("count", value.copy()))
    most = sql.call("coalesce", farthest(allowed), sql.call("max", allowed.copy()))
    columns = _columns(place, rule, most, sql.cases((every, farthest(value))), how.described)
    where = None if how.where is None else sql.column(how.where[0]).eq(sql.text(how.where[1]))
    return sql.query(columns, figures, where=where)


def _columns(
    place: int, rule: str, limit: sql.Expr, value: sql.Expr, meaning: str
) -> list[sql.Expr]:
    return sql.columns(
        {
            "_pp_place": sql.number(place),
            "rule": sql.text(rule),
            "at_most": sql.double(limit),
            "value": sql.double(value),
            "meaning": sql.text(meaning),
        }
    )


FUNCTION = register(
    Function(
        NAME,
        ReleaseCheckCall,
        plan,
        "The release gate: each rule's limit, its value, and whether it is passed; in one statement.",
        "",
        kind=Kind.CHECK,
        results=RESULTS,
        example="FROM release_check('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
        udfs=(MATCH,),
    )
)
