"""The limits of a call: the defaults, amended by what the call names, and rules that it switches off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    for fault in misread(given):
        faults.add(fault)
    for written, limit in given.items():
        name = folded(written)
        if next(misread({written: limit}), None):
            continue
        if name in RULES and kinds["all"] and not kinds[RULES[name].of]:
            faults.add(f"rule {quoted(name)} is of {RULES[name].of}, and conf has none.")
        elif name in RULES and not kinds["all"]:
            off[name] = "not asked: the release has no column of conf that it is of"
        elif limit is None:
            off[name] = "not asked: limits has NULL for it"
            measured.pop(name, None)
        else:
            number = _number(name, limit)
            if number is None:
                measured[name] = Limit(None)
            elif name in RULES:
                measured[name] = RULES[name].limited(number)
            else:
                numbers[name] = number
    return Limits(measured, numbers, off)


def misread(given: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with limits, as far as no table is needed to tell."""
    for written, limit in given.items():
        name = folded(written)
        if name in FIXED:
            yield f"rule {quoted(name)} has no limit, and cannot be switched off: {FIXED[name]}."
        elif name not in NAMES:
            yield (
                f"limits names rule {quoted(written)}, which does not exist.{near_miss(written, NAMES)} "
                f"Rules: {listed(NAMES)}."
            )
        elif limit is not None:
            try:
                _number(name, limit)
            except MisreadError as wrong:
                yield f"the limit of rule {quoted(name)} {wrong}, got {limit}."


def _number(name: str, limit: Any) -> float | None:
    """A limit; None where it is what chance allows."""
    rule = RULES.get(name)
    if rule is not None and rule.chance is not None and limit == CHANCE:
        return None
    of_others = {K: OF_K, _pseudonyms.ONE_TO_ONE: OF_ANY}
    reads: Reader = rule.limits if rule is not None else of_others.get(name, OF_SHARES)
    return float(reads(limit))


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
