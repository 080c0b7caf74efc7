"""The answers of a query: counts and shares of rows that meet conditions, as SQL writes them."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ppduck.errors import Faults
from ppduck.frozen import frozen
from ppduck.query import tree as sql

_TRUE: sql.Expr = exp.true()


@frozen
class Aggregate:
    """One answer: how many rows meet a condition, or which share they are of those that meet another."""

    name: str
    condition: sql.Expr
    of: sql.Expr | None = None  # of a share: the rows that it is a share of

    @property
    def conditions(self) -> list[sql.Expr]:
        """All that it weighs rows by."""
        return [self.condition] if self.of is None else [self.condition, self.of]


def outputs(name: str) -> list[str]:
    """The columns of one answer."""
    return [name, f"{name}_std_error", f"{name}_lower", f"{name}_upper"]


def bare(item: sql.Expr) -> sql.Expr:
    """An expression without alias and parentheses."""
    while isinstance(item, (exp.Alias, exp.Paren)):
        item = item.this
    return item


def name_of(value: sql.Expr) -> str:
    """What an answer without alias is called."""
    inner = value.this if isinstance(value, exp.Filter) else value
    return {"count": "count", "countif": "count_if"}.get(inner.key, inner.key)


def aggregate(
    faults: Faults, name: str, value: sql.Expr, is_flag: Callable[[str], bool]
) -> Aggregate:
    """Reads one answer; ``is_flag`` tells whether a column is boolean, and so a condition."""
    only: sql.Expr = _TRUE
    if isinstance(value, exp.Filter):
        only, value = value.expression.this, value.this
    if is_mean(value):
        value = exp.Avg(this=value.expressions[0])
    if isinstance(value, exp.Count) and (value.this is None or isinstance(value.this, exp.Star)):
        return Aggregate(name, only)
    if (
        isinstance(value, exp.Count)
        and not value.expressions
        and not isinstance(value.this, exp.Distinct)
    ):
        return Aggregate(name, exp.and_(only, _is_known(value.this)))
    if isinstance(value, exp.CountIf):
        return Aggregate(name, exp.and_(only, value.this))
    if isinstance(value, (exp.Sum, exp.Avg)):
        found = _indicator(value.this, is_flag, mean=isinstance(value, exp.Avg))
        if found is not None:
            condition, known = found
            if isinstance(value, exp.Sum):
                return Aggregate(name, exp.and_(only, condition))
            return Aggregate(name, exp.and_(only, condition), exp.and_(only, known))
    if isinstance(value, exp.Count):
        raise faults.refuse(
            f"{value.sql(dialect='duckdb')} cannot be answered: how many values are different cannot be told from "
            "randomized ones."
        )
    raise faults.refuse(
        f"{value.sql(dialect='duckdb')} cannot be answered; counts and averages of conditions can: count(*), count(*) "
        "FILTER (WHERE …), count_if(…), sum or avg of CASE WHEN … THEN 1 ELSE 0 END or of (…)::INT."
    )


def is_mean(value: sql.Expr) -> bool:
    """DuckDB's other name for avg."""
    return (
        isinstance(value, exp.Anonymous)
        and value.name.lower() == "mean"
        and len(value.expressions) == 1
    )


def _is_known(value: sql.Expr) -> sql.Expr:
    return exp.paren(value.copy()).is_(exp.null()).not_()


_CONDITIONS = (
    exp.Predicate, exp.And, exp.Or, exp.Not, exp.Boolean, exp.In, exp.Between, exp.Is, exp.Like, exp.ILike,
)  # fmt: skip


def _indicator(
    value: sql.Expr, is_flag: Callable[[str], bool], *, mean: bool
) -> tuple[sql.Expr, sql.Expr] | None:
    """The condition that a 0/1 expression stands for, and where it is known; None where it is no such expression."""
    value = bare(value)
    if isinstance(value, exp.Case) and len(value.args["ifs"]) == 1:
        one = value.args["ifs"][0]
        condition = (
            one.this
            if value.this is None
            else exp.EQ(this=value.this.copy(), expression=one.this.copy())
        )
        return _one_or_zero(condition, one.args["true"], value.args.get("default"), mean=mean)
    if isinstance(value, exp.If):
        return _one_or_zero(value.this, value.args["true"], value.args.get("false"), mean=mean)
    if isinstance(value, exp.Cast) and not isinstance(value, exp.TryCast):
        number = value.args["to"].this in exp.DataType.NUMERIC_TYPES
        return _indicator(value.this, is_flag, mean=mean) if number else None
    if isinstance(value, _CONDITIONS) or (isinstance(value, exp.Column) and is_flag(value.name)):
        return value, _is_known(value)
    return None


def _one_or_zero(
    condition: sql.Expr, then: sql.Expr, other: sql.Expr | None, *, mean: bool
) -> tuple[sql.Expr, sql.Expr] | None:
    one = isinstance(then, exp.Literal) and not then.is_string and float(then.name) == 1
    none = other is None or isinstance(other, exp.Null)
    zero = isinstance(other, exp.Literal) and not other.is_string and float(other.name) == 0
    if not one or not (zero or (none and not mean)):
        return None
    return condition, _TRUE
