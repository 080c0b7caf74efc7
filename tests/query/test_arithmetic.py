"""Terms stay whole, whatever they are made of."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp

from ppduck.query import tree as sql
from ppduck.query.arithmetic import products, quotient, remainder, whole_quotient

pytestmark = pytest.mark.core


def value(expression: sql.Expr) -> float:
    with duckdb.connect() as con:
        [(found,)] = con.execute(f"SELECT {sql.render(expression)}").fetchall()
    return float(found)


def number(value: int) -> sql.Expr:
    return sql.number(value)


def test_a_quotient_of_quotients() -> None:
    """100 / 5 / (2 * 5), which sqlglot's own operators would write without its parentheses."""
    assert value(quotient(quotient(number(100), number(5)), products([number(2), number(5)]))) == 2
    assert value(quotient(number(100), quotient(number(20), number(5)))) == 25


def test_factors_that_are_sums_or_cases() -> None:
    total = sql.total([number(1), number(2)])
    case = sql.cases((exp.true(), number(4)), otherwise=number(0))
    assert value(products([total, case, sql.minus(number(7), number(2))])) == 60
    assert value(products([])) == 1
    assert sql.render(products([sql.column("a")])) == '"a"'


def test_whole_quotients_and_remainders() -> None:
    total = sql.total([number(10), number(7)])
    assert value(whole_quotient(total, products([number(2), number(3)]))) == 2
    assert value(remainder(whole_quotient(total, number(2)), number(5))) == 3


def test_what_is_given_is_not_changed() -> None:
    own = sql.column("a")
    assert sql.render(products([own, own])) == '("a" * "a")'
    assert own.parent is None
