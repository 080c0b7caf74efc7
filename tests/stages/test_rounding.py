"""Masked numbers in the type of their column."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.catalogue.source import Column
from ppduck.query import tree as sql
from ppduck.stages.rounding import rounded, step

pytestmark = pytest.mark.core


@pytest.mark.parametrize(
    ("type_", "between"), [("BIGINT", 1.0), ("UTINYINT", 1.0), ("DECIMAL(9,2)", 0.01), ("DOUBLE", 0.0), ("FLOAT", 0.0)]
)
def test_how_far_apart_values_are(type_: str, between: float) -> None:
    assert step(Column("x", type_)) == pytest.approx(between)


@pytest.mark.parametrize(
    ("type_", "value", "expected", "given"),
    [
        ("INTEGER", 2.6, 3, "INTEGER"),
        ("INTEGER", 1e300, 2**31 - 1, "INTEGER"),  # held inside
        ("UTINYINT", -4.4, -4, "SMALLINT"),  # masked values may be negative
        ("DOUBLE", 2.6, 2.6, "DOUBLE"),
    ],
)
def test_values_are_rounded_and_held(type_: str, value: float, expected: float, given: str) -> None:
    written = sql.render(rounded(sql.double(sql.number(value)), Column("x", type_)))
    [(found, type_found)] = duckdb.execute(f"SELECT v, typeof(v) FROM (SELECT {written} AS v)").fetchall()
    assert (found, type_found) == (expected, given)


def test_decimals_keep_their_scale() -> None:
    written = sql.render(rounded(sql.double(sql.number(1.256)), Column("x", "DECIMAL(5,2)")))
    assert str(duckdb.execute(f"SELECT {written}").fetchall()[0][0]) == "1.26"
    largest = sql.render(rounded(sql.double(sql.number(1e9)), Column("x", "DECIMAL(5,2)")))
    assert float(duckdb.execute(f"SELECT {largest}").fetchall()[0][0]) <= 999.99
