"""Aggregates as SQL, held against the figures of a small table."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.query import aggregates
from ppduck.query import tree as sql

X = [sql.column("a"), sql.column("b")]


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (aggregates.rows(), 3),
        (aggregates.count_if(X[0] > 1), 2),
        (aggregates.count_distinct(sql.column("c")), 1),
        (aggregates.sums(X), [6.0, 9.0]),
        (aggregates.products(X), [14.0, 23.0, 41.0]),
        (aggregates.products(X, aggregates.COMPENSATED), [14.0, 23.0, 41.0]),
        (aggregates.missing(X), [0, 1]),
        (aggregates.peaks(X), [3.0, 5.0]),
        (aggregates.constant([X[0], sql.column("c")]), [False, True]),
    ],
)
def test_aggregates(aggregate: sql.Expr, expected: object) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t(a DOUBLE, b DOUBLE, c DOUBLE)")
        con.execute("INSERT INTO t VALUES (1, NULL, 7), (2, 4, 7), (3, 5, 7)")
        [(found,)] = con.execute(f"SELECT {sql.render(aggregate)} FROM t").fetchall()
    assert found == expected
