"""The rules of the gate: what each measures, of which function it is a figure, what it allows by default, and the row
that tells it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import Reader
from ppduck.call.ranges import Range
from ppduck.frozen import frozen
from ppduck.query import tree as sql

OF_SHARES = arguments.number(Range(0, 1), ", a share and no percentage")
OF_ANY = arguments.number(Range(0))


@frozen
class Limit:
    """The largest value that a rule allows: a number, what chance makes, the larger of both, or their sum."""

    number: float | None
    or_chance: bool = False
    beyond_chance: bool = False

    def allows(self, chance: sql.Expr | None) -> sql.Expr:
        """For one row of the function: each column is held to what chance makes of it, not of another."""
        own = None if self.number is None else sql.double(sql.number(self.number))
        if own is not None and not self.or_chance and not self.beyond_chance:
            return own
        assert chance is not None
        if own is None:
            return chance.copy()
        if self.beyond_chance:  # a share of the rows, where chance makes a count
            return chance + own * sql.column("rows")
        return sql.call("greatest", own, chance.copy())


@frozen
class Rule:
    """A figure of one function's rows: their largest ``value`` among those that satisfy ``where``."""

    function: str
    value: sql.Expr
    meaning: str
    where: tuple[str, str] | None = None  # a column of theirs, and what it must be
    more: Mapping[str, str] = field(default_factory=dict)  # arguments of the function
    chance: sql.Expr | None = None  # what the function itself allows, where it knows
    # which columns of conf it is of: all of them, the numbers, or the categories
    of: str = "numbers"
    most: float = 1.0  # the largest limit that makes sense: 1 for a share
    # its limit where a call names none; None where it is asked only by name
    default: Limit | None = None
    reads_again: bool = False  # by default only of a release that may change from read to read
    counts: bool = False  # its figure is a count of rows, and a limit a share of them beyond chance

    @property
    def step(self) -> str:
        """What the rows of the function are called in the gate's statement: once for all rules that are of them."""
        return "_".join(["_pp", self.function, self.of, *self.more.values()])

    @property
    def limits(self) -> Reader:
        return OF_SHARES if self.most == 1 else OF_ANY

    @property
    def described(self) -> str:
        asked = "".join(f", {name} := {value!r}" for name, value in self.more.items())
        return f"{self.meaning} ({self.function}{asked}); lower is {'better' if self.most > 1 else 'safer'}"

    def limited(self, number: float) -> Limit:
        """The limit that a call names."""
        return Limit(number, beyond_chance=self.counts)


# Guessing links one record on average, and more than five once in two thousand times.
LINKED_BY_CHANCE = sql.number(5.0) / sql.column("among")


def _linkage(meaning: str, default: Limit | None = None, **more: str) -> Rule:
    return Rule(
        "record_linkage",
        sql.column("linked_share"),
        meaning,
        more=more,
        of="all",
        chance=LINKED_BY_CHANCE,
        default=default,
    )


def _count(value: str, chance: str, meaning: str) -> Rule:
    return Rule(
        "unchanged_values",
        sql.column(value),
        meaning,
        chance=sql.column(chance),
        default=Limit(None),
        counts=True,
    )


# What dealing out masked values at random gives, and how far two such shares may differ once in a thousand times.
_CHANCE_SHARE = sql.column("chance_share")
NEAR_BY_CHANCE = _CHANCE_SHARE + sql.number(math.sqrt(2) * 3.09) * sql.call(
    "sqrt", _CHANCE_SHARE * (sql.number(1) - _CHANCE_SHARE) / sql.column("rows")
)
TOLERANCE, VALUE, SHARE = sql.column("tolerance"), sql.column("value"), sql.column("share")
DIFFERENCE = sql.call("abs", sql.column("difference"))
NEAREST = "share of masked records whose own original is nearest to them"
# A release that keeps a curve of nonconf tells what nonconf tells anyway, though not by a line.
CURVE = {"model": "curve"}
RULES = {
    "linkage": _linkage(f"{NEAREST}, standardised", Limit(0.05, or_chance=True), method="distance"),
    "linkage_own": _linkage(f"{NEAREST}, each table standardised by itself", standardise="own"),
    "mahalanobis": _linkage(f"{NEAREST} by Mahalanobis distance", method="mahalanobis"),
    "probabilistic": _linkage(
        "share of masked records that are most likely their own original's", method="probabilistic"
    ),
    "cc_gain": Rule(
        "canonical_security",
        VALUE,
        "canonical correlation of conf with nonconf and the release, less that with nonconf alone",
        ("measure", "cc_gain"),
        more=CURVE,
        chance=TOLERANCE,
        default=Limit(0.01, or_chance=True),
    ),
    "cc_excess": Rule(
        "canonical_security",
        VALUE,
        "canonical correlation of conf with the release, less that with nonconf",
        ("measure", "cc_excess"),
        more=CURVE,
        chance=TOLERANCE,
    ),
    "cc_partial": Rule(
        "canonical_security",
        VALUE,
        "canonical correlation of conf and the release, what nonconf tells of both taken off",
        ("measure", "cc_partial"),
        more=CURVE,
        chance=TOLERANCE,
    ),
    "r2_gain": Rule(
        "value_disclosure",
        sql.column("gain"),
        "R² of a conf column that the release adds to nonconf",
        more=CURVE,
        chance=TOLERANCE,
        default=Limit(0.01, or_chance=True),
    ),
    "r2_gain_kernel": Rule(
        "value_disclosure",
        sql.column("gain"),
        "R² of a conf column that the release adds to nonconf by curves",
        more={"model": "kernel"},
        chance=TOLERANCE,
    ),
    "r2": Rule(
        "value_disclosure",
        sql.column("r2_sy"),
        "R² of a conf column by nonconf and the release",
    ),
    "interval": Rule(
        "interval_disclosure",
        SHARE,
        "share of a conf column's values within rank windows around the masked ones",
        ("kind", "rank"),
        chance=NEAR_BY_CHANCE,
        default=Limit(0.5, or_chance=True),
    ),
    "unchanged": _count(
        "unchanged",
        "at_most",
        "values of a conf column that are exactly what they were; at most what chance makes equal",
    ),
    "near": _count(
        "near",
        "near_at_most",
        "values of a conf column that are what they were to six digits; at most what chance makes",
    ),
    "tail": _count(
        "tail",
        "tail_at_most",
        "the same of the largest or the smallest hundredth of a conf column; at most what chance makes",
    ),
    "averaging": Rule(
        "averaging_attack",
        sql.column("gain"),
        "R² of a conf column that the mean of ten reads adds to one",
        default=Limit(0.0),
        reads_again=True,
    ),
    "information_loss": Rule(
        "information_loss",
        VALUE,
        "information loss over conf, a share",
        ("component", "information_loss"),
        most=math.inf,
    ),
    "mean": Rule(
        "moments_check",
        DIFFERENCE,
        "difference of a conf column's mean, in standard deviations, the largest",
        ("statistic", "mean"),
        most=math.inf,
    ),
    "covariance": Rule(
        "moments_check",
        DIFFERENCE,
        "difference of a variance or covariance within conf, in products of standard deviations, the largest",
        ("statistic", "covariance"),
        most=math.inf,
    ),
}
# A column that was not masked is refused whatever a call allows: of numbers, one that is mostly as it was; of
# categories, of which a design may keep many, one that is so everywhere.
COPIED = {
    "numbers": Rule(
        "unchanged_values",
        sql.column("copied"),
        "share of a conf column's values that are as they were to four digits, beyond chance; no limit allows more",
        default=Limit(0.5),
    ),
    "categories": Rule(
        "unchanged_values",
        sql.column("copied"),
        "share of a category's values that are as they were, beyond chance; no limit allows all of them",
        of="categories",
        default=Limit(0.999),
    ),
}
COPY = "copy"
LEFT_OUT = "left_out"
LEFT_OUT_MEANING = (
    "share of rows that no rule but unchanged has seen, because a value of theirs in conf, or a number in nonconf, is "
    "NULL; fill or drop them on both sides, leave it out of nonconf, or allow so many: limits := {'left_out': …}"
)
DEFAULTS = {
    name: rule.default for name, rule in RULES.items() if rule.default and not rule.reads_again
}
IF_READ_AGAIN = {
    name: rule.default for name, rule in RULES.items() if rule.default and rule.reads_again
}


@frozen
class Row:
    """A rule, the column that it is of, its figure, its limit, and both in words."""

    rule: str
    column_name: str | None
    value: float | None
    at_most: float
    why: str


@frozen
class Limits:
    """Of rules that are figures of functions their limits, of others what the call names; and what is not asked."""

    measured: dict[str, Limit]
    numbers: dict[str, float]
    off: dict[str, str]  # the rules that are not asked, and why

    def asks(self, rule: str) -> bool:
        return rule not in self.off


def nobody() -> sql.Expr:
    """In the place of a column's name, where a rule is of the table."""
    return sql.cast(sql.null(), "VARCHAR")


def arm(
    place: sql.Expr,
    rule: sql.Expr,
    *,
    column: sql.Expr,
    value: sql.Expr,
    at_most: sql.Expr,
    why: sql.Expr,
    asked: bool = True,
) -> list[sql.Expr]:
    """The columns of a row of the gate."""
    return sql.columns(
        {
            "_pp_place": place,
            "_pp_asked": exp.true() if asked else exp.false(),
            "rule": rule,
            "column_name": column,
            "value": sql.double(value),
            "at_most": sql.double(at_most),
            "why": why,
        }
    )
