"""The limits of a call: the defaults, amended by what the call names, and rules that it switches off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import MisreadError, Reader
from ppduck.call.ranges import Range
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.gate import _agreement, _groups, _look, _pseudonyms, _quasi
from ppduck.gate._parts import Parts
from ppduck.gate.rules import (
    COPY,
    DEFAULTS,
    IF_READ_AGAIN,
    LEFT_OUT,
    OF_ANY,
    OF_SHARES,
    RULES,
    Limit,
    Limits,
    arm,
    nobody,
)
from ppduck.query import tree as sql
from ppduck.values import folded

CHANCE = "chance"
K = _quasi.K
OF_K = arguments.number(Range(1), ", a number of rows")
FIXED = {
    _look.DECLARED: "name the column in conf, nonconf, keep, qi or pseudonyms",
    COPY: "mask the column, or drop it",
    _pseudonyms.NAME: "replace every value of the column",
}
NAMES = [
    *RULES,
    LEFT_OUT,
    _agreement.NAME,
    K,
    *(rule for rule in _look.RULES if rule not in FIXED),
    *_groups.RULES,
]
_NOT_ASKED_PLACE = 1_000_000


def read(faults: Faults, given: Mapping[str, Any], parts: Parts) -> Limits:
    kinds = parts.kinds
    defaults = DEFAULTS | ({} if parts.columns.masked.repeatable else IF_READ_AGAIN)
    measured = {rule: limit for rule, limit in defaults.items() if kinds[RULES[rule].of]}
    numbers: dict[str, float] = {}
    off: dict[str, str] = {}
    for written, limit in given.items():
        name = folded(written) if folded(written) in {*NAMES, *FIXED} else written
        if name in FIXED:
            faults.add(
                f"rule {quoted(name)} has no limit, and cannot be switched off: {FIXED[name]}."
            )
        elif name not in NAMES:
            faults.add(
                f"limits names rule {quoted(name)}, which does not exist.{near_miss(name, NAMES)} "
                f"Rules: {listed(NAMES)}."
            )
        elif name in RULES and kinds["all"] and not kinds[RULES[name].of]:
            faults.add(f"rule {quoted(name)} is of {RULES[name].of}, and conf has none.")
        elif name in RULES and not kinds["all"]:
            off[name] = "not asked: the release has no column of conf that it is of"
        elif limit is None:
            off[name] = "not asked: limits has NULL for it"
            measured.pop(name, None)
        else:
            _amend(faults, name, limit, measured, numbers)
    return Limits(measured, numbers, off)


def _amend(
    faults: Faults, name: str, limit: Any, measured: dict[str, Limit], numbers: dict[str, float]
) -> None:
    rule = RULES.get(name)
    if rule is not None and rule.chance is not None and limit == CHANCE:
        measured[name] = Limit(None)
        return
    of_others = {K: OF_K, _pseudonyms.ONE_TO_ONE: OF_ANY}
    reads: Reader = rule.limits if rule is not None else of_others.get(name, OF_SHARES)
    try:
        number = float(reads(limit))
    except MisreadError as misread:
        faults.add(f"the limit of rule {quoted(name)} {misread}, got {limit}.")
        return
    if rule is not None:
        measured[name] = rule.limited(number)
    else:
        numbers[name] = number


def not_asked(limits: Limits) -> sql.Expr | None:
    """A row for each rule that is switched off."""
    if not limits.off:
        return None
    return sql.query(
        arm(
            sql.number(_NOT_ASKED_PLACE),
            sql.call("unnest", sql.texts(limits.off)),
            column=nobody(),
            value=sql.null(),
            at_most=sql.null(),
            why=sql.call("unnest", sql.texts(limits.off.values())),
            asked=False,
        )
    )
