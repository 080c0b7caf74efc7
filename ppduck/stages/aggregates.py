"""Aggregates as values: what is asked of all rows, what of a part of them, and how what parts answer is merged.

DuckDB computes ``whole`` over a table at hand. A table that arrives in parts answers ``partials`` part by part, and
``merge`` makes of these what ``whole`` would have been: counts and sums are added, extremes compared, keys sketched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from ppduck.frozen import frozen
from ppduck.query import aggregates as plain
from ppduck.query import tree as sql

SKETCH = 1024  # smallest hashes that a sketch of distinct keys keeps: their number is then known to about 3 %
LARGEST_HASH = 2.0**64

Merge = Callable[[Sequence[tuple[Any, ...]]], Any]


@frozen
class Aggregate:
    """One figure, or one list of figures, of each group."""

    name: str
    whole: sql.Expr
    partials: tuple[sql.Expr, ...]
    merge: Merge
    merged_by: str  # in a word, for whoever reads a plan

    @property
    def column(self) -> sql.Expr:
        return sql.column(self.name)


def told(figures: Sequence[Aggregate]) -> dict[str, sql.Expr]:
    """What a check or a solve is told: each figure under the name of the field that it fills."""
    return {each.name.removeprefix("_pp_"): each.column for each in figures}


def rows(name: str) -> Aggregate:
    """How many rows there are."""
    return _same(name, plain.rows(), _added, "sum")


def count(name: str, figure: sql.Expr) -> Aggregate:
    """A count of rows."""
    return _same(name, figure, _added, "sum")


def counts(name: str, figures: Sequence[sql.Expr]) -> Aggregate:
    """Counts of rows, as one list."""
    return _same(name, sql.array(figures, "BIGINT"), _by_item(_added), "sum")


def sums(name: str, values: Sequence[sql.Expr], *, compensated: bool = False) -> Aggregate:
    return _same(name, plain.sums(values, _sum(compensated)), _by_item(_added), "sum")


def products(name: str, values: Sequence[sql.Expr], *, compensated: bool = False) -> Aggregate:
    """Sums of products of all pairs: the lower triangle row by row."""
    return _same(name, plain.products(values, _sum(compensated)), _by_item(_added), "sum")


def _sum(compensated: bool) -> str:
    return plain.COMPENSATED if compensated else plain.PLAIN


def present(name: str, value: sql.Expr) -> Aggregate:
    """How many values there are."""
    return _same(name, sql.call("count", value.copy()), _added, "sum")


def least(name: str, values: Sequence[sql.Expr]) -> Aggregate:
    return _same(name, _each("min", values, "DOUBLE"), _by_item(_smallest), "min")


def most(name: str, values: Sequence[sql.Expr]) -> Aggregate:
    """NaN and infinity come out on top in DuckDB, and here."""
    return _same(name, _each("max", values, "DOUBLE"), _by_item(_largest), "max")


def peaks(name: str, values: Sequence[sql.Expr]) -> Aggregate:
    """The largest absolute value of each column."""
    return most(name, [sql.call("abs", value.copy()) for value in values])


def mean(
    name: str, value: sql.Expr, *, none: float | None = None, compensated: bool = False
) -> Aggregate:
    """The mean; ``none`` where there is no value."""
    whole = sql.call("favg" if compensated else "avg", value.copy())
    added = sql.call(_sum(compensated), sql.double(value.copy()))
    parts = (added, sql.call("count", value.copy()))

    def merge(found: Sequence[tuple[Any, ...]]) -> Any:
        count = sum(each[1] for each in found)
        return _added([each[:1] for each in found]) / count if count else none

    if none is not None:
        whole = sql.call("coalesce", whole, sql.number(none))
    return Aggregate(name, whole, parts, merge, "sum and count")


def means(name: str, values: Sequence[sql.Expr]) -> Aggregate:
    parts = (_each("sum", values, "DOUBLE"), _each("count", values, "BIGINT"))

    def merge(found: Sequence[tuple[Any, ...]]) -> Any:
        totals = _by_item(_added)([each[:1] for each in found])
        numbers = _by_item(_added)([each[1:] for each in found])
        return [total / n if n else None for total, n in zip(totals, numbers, strict=True)]

    return Aggregate(name, _each("avg", values, "DOUBLE"), parts, merge, "sum and count")


def every(name: str, conditions: Sequence[sql.Expr]) -> Aggregate:
    """Whether all rows meet each condition, as 1 or 0; NULL where none has a value."""
    doubled = [sql.double(sql.call("bool_and", each.copy())) for each in conditions]
    return _same(name, sql.array(doubled, "DOUBLE"), _by_item(_smallest), "min")


def constant(name: str, values: Sequence[sql.Expr]) -> Aggregate:
    """Whether a column has one value only. Its variance would not tell: the mean of equal values may be rounded."""
    ends = [sql.call("hash", sql.call("min", value.copy())) for value in values]
    some = [sql.call("count", value.copy()) for value in values]
    parts = (plain.constant(values), sql.array(ends, "UBIGINT"), sql.array(some, "BIGINT"))

    def merge(found: Sequence[tuple[Any, ...]]) -> Any:
        told = [list(zip(*each, strict=True)) for each in found]
        return [_one_value([part[i] for part in told]) for i in range(len(values))]

    return Aggregate(name, plain.constant(values), parts, merge, "equal in all parts")


def digest(name: str, keys: sql.Expr) -> Aggregate:
    """A sum over the hashes of rows, as text: the same for the same rows in any order."""
    whole = sql.cast(plain.digest(keys), "VARCHAR")

    def merge(found: Sequence[tuple[Any, ...]]) -> Any:
        present = [int(each[0]) for each in found if each[0] is not None]
        return str(sum(present)) if present else None

    return Aggregate(name, whole, (whole,), merge, "sum of whole numbers")


def distinct(name: str, key: sql.Expr) -> Aggregate:
    """About how many distinct keys, which are hashes, there are.

    Of d different ones among the smallest hashes of all rows, up to the share h of all that a hash can be, d/h are
    expected in all, however often each occurs.
    """
    whole = sql.call("approx_count_distinct", key.copy())

    def merge(found: Sequence[tuple[Any, ...]]) -> Any:
        hashes = sorted(each for (part,) in found for each in part or ())[:SKETCH]
        different = len(set(hashes))
        if len(hashes) < SKETCH:
            return different
        return round(max(different - 1, 1) / (hashes[-1] / LARGEST_HASH))

    return Aggregate(
        name, whole, (sql.call("min", key.copy(), sql.number(SKETCH)),), merge, "smallest hashes"
    )


def of_range(
    name: str, whole: sql.Expr, value: sql.Expr, made: Callable[[float | None, float | None], Any]
) -> Aggregate:
    """A figure that is made of a column's mean and of the 2^14th part of its range."""
    parts = tuple(
        sql.call(each, sql.double(value.copy())) for each in ("sum", "count", "min", "max")
    )

    def merge(found: Sequence[tuple[Any, ...]]) -> Any:
        total, count = (_added([(each[i],) for each in found]) for i in (0, 1))
        low, high = (
            _smallest([each[2:3] for each in found]),
            _largest([each[3:4] for each in found]),
        )
        span = high - low if count else 0.0
        grid = 2.0 ** (math.floor(math.log2(span)) - 14) if span and math.isfinite(span) else None
        return made(total / count if count else None, grid)

    return Aggregate(name, whole, parts, merge, "sum, count, min and max")


def to_grid(mean: float | None, grid: float | None) -> float:
    """A mean as a multiple of a grid."""
    if mean is None or grid is None:
        return mean or 0.0
    steps = mean / grid
    return math.copysign(math.floor(abs(steps) + 0.5), steps) * grid


def quarter_of_range(mean: float | None, grid: float | None) -> float | None:
    return None if grid is None else grid * 4096


def count_distinct(name: str, key: sql.Expr) -> Aggregate:
    """How many distinct keys there are, exactly."""
    keys = sql.call("list", exp.Distinct(expressions=[key.copy()]))

    def merge(found: Sequence[tuple[Any, ...]]) -> Any:
        return len({each for (part,) in found for each in part or ()})

    return Aggregate(name, plain.count_distinct(key), (keys,), merge, "distinct keys")


def counts_distinct(name: str, values: Sequence[sql.Expr]) -> Aggregate:
    """How many distinct values each column has, exactly, as one list."""
    lists = [_distinct_values(sql.cast(value.copy(), "VARCHAR")) for value in values]

    def merge(found: Sequence[tuple[Any, ...]]) -> Any:
        parts = [[set(each or ()) for each in part] for (part,) in found]
        return [len(set().union(*each)) for each in zip(*parts, strict=True)]

    whole = sql.array([plain.count_distinct(value) for value in values], "BIGINT")
    return Aggregate(name, whole, (sql.array(lists, "VARCHAR[]"),), merge, "distinct values")


def _distinct_values(value: sql.Expr) -> sql.Expr:
    """A list of them, without NULL."""
    listed = sql.call("list", exp.Distinct(expressions=[value]))
    return sql.only(listed, exp.Not(this=value.copy().is_(exp.null())))


def any_value(name: str, value: sql.Expr) -> Aggregate:
    """The value of some row: for what is the same in all of them."""
    return _same(name, sql.call("any_value", value.copy()), _first, "any")


def any_of(name: str, values: Sequence[sql.Expr]) -> Aggregate:
    """A list of values that are the same in all rows, each an aggregate already; a part without rows has none."""
    return _same(name, sql.array(values, "DOUBLE"), _by_item(_first), "any")


def in_order_of(
    name: str, values: Sequence[sql.Expr], key: sql.Expr, *, where: sql.Expr | None = None
) -> Aggregate:
    """Rows one after the other, by a key that tells nothing: the same rows at every reading."""
    row = sql.array([sql.double(value.copy()) for value in values], "DOUBLE")
    listed = sql.in_order("list", row, [key.copy()])
    keys = sql.in_order("list", key.copy(), [key.copy()])
    if where is not None:
        listed, keys = sql.only(listed, where.copy()), sql.only(keys, where.copy())

    def merge(found: Sequence[tuple[Any, ...]]) -> Any:
        pairs = [pair for rows, own in found if rows for pair in zip(own, rows, strict=True)]
        return [
            value for _, row in sorted(pairs, key=lambda pair: pair[0]) for value in row
        ] or None

    return Aggregate(name, sql.call("flatten", listed), (listed, keys), merge, "rows by key")


def farthest(name: str, row: sql.Expr, distance: sql.Expr, beyond: sql.Expr) -> Aggregate:
    """The row of the largest distance, if it is beyond a limit."""
    # A CASE and no WHERE or FILTER: DuckDB would evaluate such a condition below the projection that sums
    # up the distance, and so sum it up twice. And CASE makes the list of a row only for the few beyond.
    shown = sql.cases((exp.GT(this=distance.copy(), expression=beyond.copy()), row.copy()))
    found = sql.call("arg_max", shown, distance.copy())

    def merge(parts: Sequence[tuple[Any, ...]]) -> Any:
        told = [each for each in parts if each[0] is not None and each[1] is not None]
        return max(told, key=lambda each: float(each[1]))[0] if told else None

    return Aggregate(name, found, (found, sql.call("max", distance.copy())), merge, "largest")


def _same(
    name: str, whole: sql.Expr, one: Callable[[Sequence[tuple[Any, ...]]], Any], said: str
) -> Aggregate:
    """A part answers what the whole would."""
    return Aggregate(name, whole, (whole,), one, said)


def _each(function: str, values: Sequence[sql.Expr], of: str) -> sql.Expr:
    return sql.array([sql.call(function, value.copy()) for value in values], of)


def _by_item(one: Callable[[Sequence[tuple[Any, ...]]], Any]) -> Merge:
    """Lists merged item by item; a part without rows has none."""

    def merge(found: Sequence[tuple[Any, ...]]) -> Any:
        lists = [each[0] for each in found if each[0] is not None]
        return [one([(item,) for item in items]) for items in zip(*lists, strict=True)]

    return merge


def _first(found: Sequence[tuple[Any, ...]]) -> Any:
    return next(iter(_known(found)), None)


def _known(found: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [each[0] for each in found if each[0] is not None]


def _added(found: Sequence[tuple[Any, ...]]) -> Any:
    known = _known(found)
    if not known:
        return None
    return math.fsum(known) if any(isinstance(each, float) for each in known) else sum(known)


def _smallest(found: Sequence[tuple[Any, ...]]) -> Any:
    return min(_known(found), default=None, key=_in_duckdbs_order)


def _largest(found: Sequence[tuple[Any, ...]]) -> Any:
    return max(_known(found), default=None, key=_in_duckdbs_order)


def _in_duckdbs_order(value: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(value) else (False, value)


def _one_value(parts: Sequence[tuple[Any, ...]]) -> Any:
    """Of (whether a part has one value, its hash, how many there are): whether all have the same one."""
    told = [(same, value) for same, value, count in parts if count]
    if not told:
        return None
    return all(same for same, _ in told) and len({value for _, value in told}) == 1
