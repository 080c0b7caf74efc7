"""The statistics of a source as SQL aggregates: a first look for checks and centre, then moments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from ppduck.query import tree as sql

PLAIN = "sum"
COMPENSATED = "fsum"  # Kahan's sum, which the order of rows moves by no more than the last digit


def sums(values: Sequence[sql.Expr], by: str = PLAIN) -> sql.Expr:
    """Sums of some columns, as one list."""
    return sql.array((sql.call(by, value.copy()) for value in values), "DOUBLE")


def products(values: Sequence[sql.Expr], by: str = PLAIN) -> sql.Expr:
    """Sums of products of all pairs: the lower triangle row by row, as ``Moments.from_sums`` reads it."""
    # Written out, as trees of so many terms take longer to plan than to run.
    texts = [f"({sql.render(value)})" for value in values]
    return sums_of_products(((a, b) for i, a in enumerate(texts) for b in texts[: i + 1]), by)


def sums_of_products(pairs: Iterable[tuple[str, str]], by: str = PLAIN) -> sql.Expr:
    """Sums of a·b, as one list, of values that are SQL already."""
    return sql.raw(f"CAST([{', '.join(f'{by}({a} * {b})' for a, b in pairs)}] AS DOUBLE[])")


def rows() -> sql.Expr:
    return sql.call("count", exp.Star())


def count_if(condition: sql.Expr) -> sql.Expr:
    return sql.cast(sql.call("count_if", condition), "BIGINT")


def count_distinct(value: sql.Expr) -> sql.Expr:
    return sql.call("count", exp.Distinct(expressions=[value.copy()]))


def missing(values: Sequence[sql.Expr]) -> sql.Expr:
    """How many rows have NULL in each column, as one list."""
    return sql.array(
        (exp.Sub(this=rows(), expression=sql.call("count", value.copy())) for value in values),
        "BIGINT",
    )


def peaks(values: Sequence[sql.Expr]) -> sql.Expr:
    """The largest absolute value of each column: NaN and infinity come out on top in DuckDB."""
    return sql.array((sql.call("max", sql.call("abs", value.copy())) for value in values), "DOUBLE")


def constant(values: Sequence[sql.Expr]) -> sql.Expr:
    """Whether a column has one value only. Its variance would not tell: the mean of equal values may be rounded."""
    spans = ((sql.call("min", value.copy()), sql.call("max", value.copy())) for value in values)
    return sql.array((exp.EQ(this=low, expression=high) for low, high in spans), "BOOLEAN")


def digest(row: sql.Expr) -> sql.Expr:
    """A sum over the hashes of rows: the same for the same rows in any order."""
    return sql.call("sum", row)
