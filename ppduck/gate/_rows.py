"""A row of the gate's answer, in Python and in SQL, and the limits by which rows are judged."""

from __future__ import annotations

from sqlglot import exp

from ppduck.frozen import frozen
from ppduck.gate.rules import Limit
from ppduck.query import tree as sql


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
    """Of rules that are figures of functions: their limits; of others, what the call names; and what it does not ask."""

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
