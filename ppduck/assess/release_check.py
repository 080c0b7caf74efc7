"""release_check(): one verdict on a release, rule by rule: what is measured, its limit, and whether it is kept.

Each rule is a figure of another function, asked over conf; all of them stand in one statement and see the same data. A
rule is passed where its value is at most its limit, but for rounding (1e-9); a value that is NULL or NaN is not.

Without ``limits`` a release is held to what its owner would regret first: at most 5 % of the records linked by
distance, no canonical correlation added beyond chance, at most 1 % more of a column predicted, at most half of a
column's values within the rank windows around their masked ones; and, where the release is a view or a SELECT and not
a table, nothing gained by reading it often.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.kernels.prediction import ROUNDING
from ppduck.plan import arguments
from ppduck.plan import sqlbuild as sql
from ppduck.plan.arguments import MisreadError, Parameter
from ppduck.plan.catalog import Catalog
from ppduck.plan.compared import Compared
from ppduck.plan.pairs import CONF, KEY, MASKED, NONCONF, ORIGINAL
from ppduck.plan.registry import Function, function_named, register

NAME = "release_check"


@dataclass(frozen=True)
class Rule:
    """A figure of one function's rows: their largest ``value`` among those that satisfy ``where``."""

    function: str
    value: str
    meaning: str
    where: str = "true"
    more: Mapping[str, str] = field(default_factory=dict)
    chance: str | None = None  # what the function itself allows, where it knows
    most: float = 1.0  # the largest limit that makes sense: 1 for a share

    @property
    def described(self) -> str:
        asked = "".join(f", {name} := {value!r}" for name, value in self.more.items())
        return f"{self.meaning} ({self.function}{asked}); lower is {'better' if self.most > 1 else 'safer'}"


def _linkage(method: str, meaning: str) -> Rule:
    return Rule("record_linkage", "linked_share", meaning, more={"method": method})


ANY = sys.float_info.max
NEAREST = "share of masked records whose own original is nearest to them"
RULES = {
    "linkage": _linkage("distance", f"{NEAREST}, standardised"),
    "mahalanobis": _linkage("mahalanobis", f"{NEAREST} by Mahalanobis distance"),
    "probabilistic": _linkage("probabilistic", "share of masked records that are most likely their own original's"),
    "cc_gain": Rule(
        "canonical_security",
        "value",
        "canonical correlation of conf with nonconf and the release, less that with nonconf alone",
        "measure = 'cc_gain'",
        chance="tolerance",
    ),
    "cc_excess": Rule(
        "canonical_security",
        "value",
        "canonical correlation of conf with the release, less that with nonconf",
        "measure = 'cc_excess'",
        chance="tolerance",
    ),
    "r2_gain": Rule("value_disclosure", "gain", "R² of a conf column that the release adds to nonconf, the largest"),
    "r2": Rule("value_disclosure", "r2_sy", "R² of a conf column by nonconf and the release, the largest"),
    "interval": Rule(
        "interval_disclosure",
        "share",
        "share of a conf column's values within rank windows around the masked ones, the largest",
        "\"window\" = 'rank'",
    ),
    "averaging": Rule(
        "averaging_attack", "gain", "R² of a conf column that the mean of ten reads adds to one, the largest"
    ),
    "information_loss": Rule(
        "information_loss",
        "value",
        "information loss over conf, in percent",
        "component = 'information_loss'",
        most=ANY,
    ),
    "mean": Rule(
        "moments_check",
        "abs(difference)",
        "difference of a conf column's mean, in standard deviations, the largest",
        "statistic = 'mean'",
        most=ANY,
    ),
    "covariance": Rule(
        "moments_check",
        "abs(difference)",
        "difference of a variance or covariance within conf, in products of standard deviations, the largest",
        "statistic = 'covariance'",
        most=ANY,
    ),
}
# None stands for what chance allows.
DEFAULTS: dict[str, float | None] = {"linkage": 0.05, "cc_gain": None, "r2_gain": 0.01, "interval": 0.5}
IF_READ_AGAIN: dict[str, float | None] = {"averaging": 0.0}


def _limits(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise MisreadError("takes rules with their limits, such as {'linkage': 0.05, 'r2_gain': 0.01}")
    return {str(name): limit for name, limit in value.items()}


LIMITS = Parameter(
    "limits",
    _limits,
    f"rules and the largest values they allow: {', '.join(RULES)}; NULL for cc_gain or cc_excess is what chance allows",
    "NULL",
)


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    compared = Compared(NAME, catalog, given)
    limits = _read(compared.faults, given["limits"]) if "limits" in given else dict(DEFAULTS)
    if "limits" not in given and not compared.masked.repeatable:
        limits |= IF_READ_AGAIN
    compared.use_numbers("conf")
    functions = {rule: function_named(RULES[rule].function) for rule in limits}
    if "nonconf" in given or any(NONCONF in function.parameters for function in functions.values()):
        compared.use_nonconf()
    compared.faults.raise_if_any()
    asked = {name: value for name, value in given.items() if name != "limits"} | {"columns": given["conf"]}
    statement = sql.Statement()
    steps: set[str] = set()
    rows: list[str] = []
    for rule, limit in limits.items():
        function, more = functions[rule], RULES[rule].more
        step = "_".join(["_pp", function.name, *more.values()])
        if step not in steps:  # two rules may be figures of one function
            steps.add(step)
            own = {each.name: asked[each.name] for each in function.parameters if each.name in asked}
            statement.step(step, function.plan(catalog, own | dict(more)), materialized=True)
        rows.append(_row(len(rows), rule, limit, step))
    passed = f'coalesce("value" <= "limit" + {ROUNDING!r}, false) AS "passed"'
    return statement.finish(
        f'SELECT "rule", "limit", "value", {passed}, "meaning" FROM ({" UNION ALL ".join(rows)}) ORDER BY "_pp_place"'
    )


def _read(faults: Faults, given: dict[str, Any]) -> dict[str, float | None]:
    """The limits by the names of their rules."""
    limits: dict[str, float | None] = {}
    for name, limit in given.items():
        rule = RULES.get(name)
        if rule is None:
            faults.add(f"limits names rule {quoted(name)}, which does not exist.{near_miss(name, RULES)} "
                       f"Rules: {listed(RULES)}.")  # fmt: skip
            continue
        kind = "from 0 to 1, a share and no percentage" if rule.most == 1 else "of at least 0"
        try:
            by_chance = limit is None and rule.chance is not None
            limits[name] = None if by_chance else arguments.number(0, rule.most, kind)(limit)
        except MisreadError as misread:
            faults.add(f"the limit of rule {quoted(name)} {misread}, got {'NULL' if limit is None else limit}.")
    return limits


def _row(place: int, rule: str, limit: float | None, step: str) -> str:
    """The figure of a rule; NULL where one of the rows that it is the largest of has none."""
    how = RULES[rule]
    largest = f"CASE WHEN count(*) = count({how.value}) THEN max({how.value}) END"
    allowed = f"max({how.chance})" if limit is None else sql.render(sql.number(limit))
    columns = {
        "_pp_place": sql.number(place),
        "rule": sql.text(rule),
        "limit": sql.double(sql.raw(allowed)),
        "value": sql.double(sql.raw(largest)),
        "meaning": sql.text(how.described),
    }
    named: list[exp.Expr] = [sql.named(value, name) for name, value in columns.items()]
    return sql.select(named, f'"{step}"', where=sql.raw(how.where))


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, MASKED, CONF, NONCONF, KEY, LIMITS),
        plan,
        "The release gate: each rule's limit, its value, and whether it is passed; in one statement.",
        "",
    )
)
