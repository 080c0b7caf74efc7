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

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import MisreadError, Parameter, Reader
from ppduck.call.ranges import Range
from ppduck.call.registry import Function, function_named, register
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.gate import _groups
from ppduck.kernels.prediction import ROUNDING
from ppduck.pairs.columns import CONF, KEY, NONCONF, ORIGINAL, RELEASE
from ppduck.pairs.moments import Pairs
from ppduck.query import tree as sql
from ppduck.values import folded

NAME = "release_check"
COLUMNS = ("rule", "passed", "value", "at_most", "meaning")


_SHARE = arguments.number(Range(0, 1), ", a share and no percentage")
_ANY = arguments.number(Range(0))


@dataclass(frozen=True)
class Rule:
    """A figure of one function's rows: their largest ``value`` among those that satisfy ``where``."""

    function: str
    value: str
    meaning: str
    where: str = "true"
    more: Mapping[str, str] = field(default_factory=dict)
    chance: str | None = None  # what the function itself allows, where it knows
    of: str = "numbers"  # which columns of conf it is of: all of them, the numbers, or the categories
    most: float = 1.0  # the largest limit that makes sense: 1 for a share

    @property
    def limits(self) -> Reader:
        return _SHARE if self.most == 1 else _ANY

    @property
    def described(self) -> str:
        asked = "".join(f", {name} := {value!r}" for name, value in self.more.items())
        return f"{self.meaning} ({self.function}{asked}); lower is {'better' if self.most > 1 else 'safer'}"


@dataclass(frozen=True)
class Limit:
    """The largest value that a rule allows: a number, or what chance makes, or the larger of both."""

    number: float | None
    or_chance: bool = False

    def sql(self, chance: str | None) -> str:
        """For one row of the function: each column is held to what chance makes of it, not of another."""
        if self.number is None:
            return f"({chance})"
        own = f"{sql.render(sql.number(self.number))}::DOUBLE"
        return f"greatest({own}, {chance})" if self.or_chance else own


def _linkage(method: str, meaning: str) -> Rule:
    return Rule("record_linkage", "linked_share", meaning, more={"method": method}, of="all")


# What dealing out masked values at random gives, and how far two such shares may differ once in a thousand times.
NEAR_BY_CHANCE = "chance_share + 4.37 * sqrt(chance_share * (1 - chance_share) / rows)"
NEAREST = "share of masked records whose own original is nearest to them"
# A release that keeps a curve of nonconf tells what nonconf tells anyway, though not by a line.
CURVE = {"model": "curve"}
RULES = {
    "linkage": _linkage("distance", f"{NEAREST}, standardised"),
    "linkage_own": Rule(
        "record_linkage",
        "linked_share",
        f"{NEAREST}, each table standardised by itself",
        more={"standardise": "own"},
        of="all",
    ),
    "mahalanobis": _linkage("mahalanobis", f"{NEAREST} by Mahalanobis distance"),
    "probabilistic": _linkage("probabilistic", "share of masked records that are most likely their own original's"),
    "cc_gain": Rule(
        "canonical_security",
        "value",
        "canonical correlation of conf with nonconf and the release, less that with nonconf alone",
        "measure = 'cc_gain'",
        more=CURVE,
        chance="tolerance",
    ),
    "cc_excess": Rule(
        "canonical_security",
        "value",
        "canonical correlation of conf with the release, less that with nonconf",
        "measure = 'cc_excess'",
        more=CURVE,
        chance="tolerance",
    ),
    "cc_partial": Rule(
        "canonical_security",
        "value",
        "canonical correlation of conf and the release, what nonconf tells of both taken off",
        "measure = 'cc_partial'",
        more=CURVE,
        chance="tolerance",
    ),
    "r2_gain": Rule(
        "value_disclosure",
        "gain",
        "R² of a conf column that the release adds to nonconf, the largest",
        more=CURVE,
        chance="tolerance",
    ),
    "r2_gain_kernel": Rule(
        "value_disclosure",
        "gain",
        "R² of a conf column that the release adds to nonconf by curves, the largest",
        more={"model": "kernel"},
        chance="tolerance",
    ),
    "r2": Rule("value_disclosure", "r2_sy", "R² of a conf column by nonconf and the release, the largest"),
    "interval": Rule(
        "interval_disclosure",
        "share",
        "share of a conf column's values within rank windows around the masked ones, the largest",
        "kind = 'rank'",
        chance=NEAR_BY_CHANCE,
    ),
    "agreement": Rule(
        "interval_disclosure",
        "share",
        "share of a category's values that are as they were, the largest",
        "kind = 'agreement'",
        of="categories",
    ),
    "unchanged": Rule(
        "unchanged_values",
        "excess",
        "share of a conf column's values that are as they were, beyond what chance makes equal, the largest",
        chance="tolerance",
    ),
    "averaging": Rule(
        "averaging_attack", "gain", "R² of a conf column that the mean of ten reads adds to one, the largest"
    ),
    "information_loss": Rule(
        "information_loss",
        "value",
        "information loss over conf, a share",
        "component = 'information_loss'",
        most=math.inf,
    ),
    "mean": Rule(
        "moments_check",
        "abs(difference)",
        "difference of a conf column's mean, in standard deviations, the largest",
        "statistic = 'mean'",
        most=math.inf,
    ),
    "covariance": Rule(
        "moments_check",
        "abs(difference)",
        "difference of a variance or covariance within conf, in products of standard deviations, the largest",
        "statistic = 'covariance'",
        most=math.inf,
    ),
}
LEFT_OUT = "left_out"
LEFT_OUT_MEANING = (
    "share of rows that no rule but unchanged has seen, because a value of theirs in conf, or a number in nonconf, is "
    "NULL; fill or drop them on both sides, or allow so many: limits := {'left_out': …}"
)
DEFAULTS = {
    "linkage": Limit(0.05),
    "cc_gain": Limit(None),
    "r2_gain": Limit(0.01, or_chance=True),
    "interval": Limit(0.5, or_chance=True),
    "unchanged": Limit(0.01, or_chance=True),
}
IF_READ_AGAIN = {"averaging": Limit(0.0)}


@arguments.reader(
    f"rules with their limits, such as {{'linkage': 0.05, 'r2_gain': 0.01}}: {_SHARE.takes}, but for "
    f"{', '.join(name for name, rule in RULES.items() if rule.limits is _ANY)}: {_ANY.takes}"
)
def _limits(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise MisreadError
    return {str(name): limit for name, limit in value.items()}


OF_ANY_KIND = replace(CONF, doc="the confidential columns, numbers or categories, which both tables have")
LIMITS = Parameter(
    "limits",
    _limits,
    f"rules and the largest values they allow: {', '.join([*RULES, LEFT_OUT, *_groups.LIMITS])}; NULL for "
    f"{', '.join(name for name, rule in RULES.items() if rule.chance)} is what chance allows",
    "NULL",
)


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    return checked(NAME, catalog, given)


def checked(name: str, catalog: Catalog, given: dict[str, Any]) -> str:
    """A SELECT of the rules, for a function of this name."""
    hidden = _groups.grouped(catalog, name, given)
    apart = {folded(name) for name in [*hidden.generalised, *hidden.anatomized]}
    seen = [name for name in given["conf"] if folded(name) not in apart]
    if apart and not seen:
        faults = Faults(name, hidden.original.label)
        limits = _read(faults, given.get("limits", {}))
        faults.raise_if_any()
        return _ordered(sql.Statement(), _hidden_rows(hidden, limits))
    pairs = Pairs(name, catalog, given | {"conf": seen} if apart else given)
    pairs.use_conf()
    columns = {"numbers": [c.name for c in pairs.numbers], "categories": [c.name for c in pairs.categories]}
    columns["all"] = [*columns["numbers"], *columns["categories"]]
    limits = _asked(pairs, given, columns)
    functions = {rule: function_named(RULES[rule].function) for rule in limits if rule in RULES}
    if "nonconf" in given or any(NONCONF in function.parameters for function in functions.values()):
        pairs.use_nonconf()
    pairs.faults.raise_if_any()
    asked = {name: value for name, value in given.items() if name not in ("limits", "conf")}
    if pairs.categories:  # a category in conf is no open column
        asked["nonconf"] = list(dict.fromkeys(feature.column for feature in pairs.features))
    statement = sql.Statement()
    steps: set[str] = set()
    rows = [_left_out(statement, pairs, limits.get(LEFT_OUT))]
    for rule, function in functions.items():
        how = RULES[rule]
        step = "_".join(["_pp", function.name, how.of, *how.more.values()])
        if step not in steps:  # two rules may be figures of one function
            steps.add(step)
            told = asked | {"conf": columns[how.of]}
            own = {each.name: told[each.name] for each in function.parameters if each.name in told}
            statement.step(step, function.plan(catalog, own | dict(how.more)), materialized=True)
        rows.append(_row(list(limits).index(rule), rule, limits[rule], step))
    return _ordered(statement, [*rows, *_hidden_rows(hidden, limits)])


def _hidden_rows(hidden: _groups.Grouped, limits: dict[str, Limit]) -> list[str]:
    """The rules of columns that are hidden in groups, which are asked whatever else is."""
    rows = []
    for place, rule in enumerate(hidden.rules, start=len(RULES) + 1):
        limit = limits.get(rule, Limit(_groups.LIMITS[rule])).sql(None)
        columns = _columns(place, rule, limit, '"value"', _groups.MEANINGS[rule])
        rows.append(sql.select(columns, f"({hidden.value(rule)})"))
    return rows


def _ordered(statement: sql.Statement, rows: list[str]) -> str:
    passed = f'coalesce("value" <= "at_most" + {ROUNDING!r}, false) AS "passed"'
    return statement.finish(
        f'SELECT "rule", {passed}, "value", "at_most", "meaning" FROM ({" UNION ALL ".join(rows)}) ORDER BY "_pp_place"'
    )


def _asked(pairs: Pairs, given: dict[str, Any], columns: dict[str, list[str]]) -> dict[str, Limit]:
    """The limits by the names of their rules: those that are given, else those that fit the columns."""
    if "limits" not in given:
        limits = DEFAULTS | ({} if pairs.masked.repeatable else IF_READ_AGAIN)
        return {rule: limit for rule, limit in limits.items() if columns[RULES[rule].of]}
    limits = _read(pairs.faults, given["limits"])
    for rule in limits:
        of = RULES[rule].of if rule in RULES else "all"
        if columns["all"] and not columns[of]:
            pairs.faults.add(f"rule {quoted(rule)} is of {of}, and conf has none.")
    return limits


def _read(faults: Faults, given: dict[str, Any]) -> dict[str, Limit]:
    limits: dict[str, Limit] = {}
    for name, limit in given.items():
        rule = RULES.get(name)
        known = [*RULES, LEFT_OUT, *_groups.LIMITS]
        if name not in known:
            faults.add(f"limits names rule {quoted(name)}, which does not exist.{near_miss(name, known)} "
                       f"Rules: {listed(known)}.")  # fmt: skip
            continue
        read = _SHARE if rule is None else rule.limits
        try:
            by_chance = limit is None and rule is not None and rule.chance is not None
            limits[name] = Limit(None if by_chance else read(limit))
        except MisreadError as misread:
            faults.add(f"the limit of rule {quoted(name)} {misread}, got {'NULL' if limit is None else limit}.")
    return limits


def _left_out(statement: sql.Statement, pairs: Pairs, limit: Limit | None) -> str:
    """The share of pairs that lack a value; said only where there are any, or where it is asked for."""
    matched = pairs.statement()
    pairs.told(matched, {})
    share = 'coalesce(sum("_pp_n") FILTER ("_pp_piece" IS NULL), 0) / sum("_pp_n")'
    statement.step("_pp_left_out", matched.finish(f'SELECT {share} AS "share" FROM "_pp_told"'), materialized=True)
    where = None if limit else sql.raw('"share" > 0')
    place = list(pairs.given.get("limits", {})).index(LEFT_OUT) if limit else len(RULES)
    return sql.select(
        _columns(place, LEFT_OUT, (limit or Limit(0.0)).sql(None), '"share"', LEFT_OUT_MEANING),
        '"_pp_left_out"',
        where=where,
    )


def _row(place: int, rule: str, limit: Limit, step: str) -> str:
    """The figure of a rule that exceeds its limit most; NULL where one of those it is chosen from has none."""
    how = RULES[rule]
    allowed = limit.sql(how.chance)
    farthest = f"arg_max({{}}, {how.value} - {allowed})"
    largest = f"CASE WHEN count(*) = count({how.value}) THEN {farthest.format(how.value)} END"
    columns = _columns(place, rule, f"coalesce({farthest.format(allowed)}, max({allowed}))", largest, how.described)
    return sql.select(columns, f'"{step}"', where=sql.raw(how.where))


def _columns(place: int, rule: str, limit: str, value: str, meaning: str) -> list[exp.Expr]:
    columns = {
        "_pp_place": sql.number(place),
        "rule": sql.text(rule),
        "at_most": sql.double(sql.raw(limit)),
        "value": sql.double(sql.raw(value)),
        "meaning": sql.text(meaning),
    }
    return [sql.named(part, name) for name, part in columns.items()]


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, RELEASE, OF_ANY_KIND, KEY, NONCONF, LIMITS),
        plan,
        "The release gate: each rule's limit, its value, and whether it is passed; in one statement.",
        "",
    )
)
