"""What a Python function has answered, as rows."""

from __future__ import annotations

from sqlglot import exp

from ppduck.query import tree as sql


def each_row(step: str, answer: str) -> sql.Expr:
    """A row for each struct in a list that a step has in a column, its fields as columns."""
    depth = exp.PropertyEQ(this=exp.to_identifier("max_depth"), expression=sql.number(2))
    return sql.query([sql.call("unnest", sql.column(answer), depth)], sql.table(step))
