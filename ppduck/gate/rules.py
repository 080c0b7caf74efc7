"""The rules of the gate: what each measures, of which function it is a figure, and what it allows by default."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ppduck.call import arguments
from ppduck.call.parameters import Reader
from ppduck.call.ranges import Range
from ppduck.query import tree as sql

OF_SHARES = arguments.number(Range(0, 1), ", a share and no percentage")
OF_ANY = arguments.number(Range(0))


@dataclass(frozen=True)
class Rule:
    """A figure of one function's rows: their largest ``value`` among those that satisfy ``where``."""

    function: str
    value: sql.Expr
    meaning: str
    where: tuple[str, str] | None = None  # a column of theirs, and what it must be
    more: Mapping[str, str] = field(default_factory=dict)
    chance: sql.Expr | None = None  # what the function itself allows, where it knows
    of: str = (
        "numbers"  # which columns of conf it is of: all of them, the numbers, or the categories
    )
    most: float = 1.0  # the largest limit that makes sense: 1 for a share

    @property
    def limits(self) -> Reader:
        return OF_SHARES if self.most == 1 else OF_ANY

    @property
    def described(self) -> str:
        asked = "".join(f", {name} := {value!r}" for name, value in self.more.items())
        return f"{self.meaning} ({self.function}{asked}); lower is {'better' if self.most > 1 else 'safer'}"


@dataclass(frozen=True)
class Limit:
    """The largest value that a rule allows: a number, or what chance makes, or the larger of both."""

    number: float | None
    or_chance: bool = False

    def allows(self, chance: sql.Expr | None) -> sql.Expr:
        """For one row of the function: each column is held to what chance makes of it, not of another."""
        own = None if self.number is None else sql.double(sql.number(self.number))
        if own is not None and not self.or_chance:
            return own
        assert chance is not None
        return chance.copy() if own is None else sql.call("greatest", own, chance.copy())


def _linkage(method: str, meaning: str) -> Rule:
    return Rule(
        "record_linkage", sql.column("linked_share"), meaning, more={"method": method}, of="all"
    )


# What dealing out masked values at random gives, and how far two such shares may differ once in a thousand times.
_CHANCE_SHARE = sql.column("chance_share")
NEAR_BY_CHANCE = _CHANCE_SHARE + sql.number(4.37) * sql.call(
    "sqrt", _CHANCE_SHARE * (sql.number(1) - _CHANCE_SHARE) / sql.column("rows")
)
TOLERANCE, VALUE, SHARE = sql.column("tolerance"), sql.column("value"), sql.column("share")
DIFFERENCE = sql.call("abs", sql.column("difference"))
NEAREST = "share of masked records whose own original is nearest to them"
# A release that keeps a curve of nonconf tells what nonconf tells anyway, though not by a line.
CURVE = {"model": "curve"}
RULES = {
    "linkage": _linkage("distance", f"{NEAREST}, standardised"),
    "linkage_own": Rule(
        "record_linkage",
        sql.column("linked_share"),
        f"{NEAREST}, each table standardised by itself",
        more={"standardise": "own"},
        of="all",
    ),
    "mahalanobis": _linkage("mahalanobis", f"{NEAREST} by Mahalanobis distance"),
    "probabilistic": _linkage(
        "probabilistic", "share of masked records that are most likely their own original's"
    ),
    "cc_gain": Rule(
        "canonical_security",
        VALUE,
        "canonical correlation of conf with nonconf and the release, less that with nonconf alone",
        ("measure", "cc_gain"),
        more=CURVE,
        chance=TOLERANCE,
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
        "R² of a conf column that the release adds to nonconf, the largest",
        more=CURVE,
        chance=TOLERANCE,
    ),
    "r2_gain_kernel": Rule(
        "value_disclosure",
        sql.column("gain"),
        "R² of a conf column that the release adds to nonconf by curves, the largest",
        more={"model": "kernel"},
        chance=TOLERANCE,
    ),
    "r2": Rule(
        "value_disclosure",
        sql.column("r2_sy"),
        "R² of a conf column by nonconf and the release, the largest",
    ),
    "interval": Rule(
        "interval_disclosure",
        SHARE,
        "share of a conf column's values within rank windows around the masked ones, the largest",
        ("kind", "rank"),
        chance=NEAR_BY_CHANCE,
    ),
    "agreement": Rule(
        "interval_disclosure",
        SHARE,
        "share of a category's values that are as they were, the largest",
        ("kind", "agreement"),
        of="categories",
    ),
    "unchanged": Rule(
        "unchanged_values",
        sql.column("excess"),
        "share of a conf column's values that are as they were, beyond what chance makes equal, the largest",
        chance=TOLERANCE,
    ),
    "averaging": Rule(
        "averaging_attack",
        sql.column("gain"),
        "R² of a conf column that the mean of ten reads adds to one, the largest",
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
