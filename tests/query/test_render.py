"""Trees are written as sqlglot writes them, but for orders, which say where NULL stands."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from ppduck.query import tree as sql
from ppduck.query.render import render

pytestmark = pytest.mark.core


@pytest.mark.parametrize(
    "written",
    [
        'SELECT "a b", t."x""y", a.b.c FROM t',
        "SELECT t.*, * EXCLUDE (a) FROM t",
        "SELECT F(x, G(y), DISTINCT z) FROM t",
        "SELECT SUM(a) FILTER(WHERE b > 1) FROM t",
        "SELECT system.main.hash(a) FROM t",
    ],
)
def test_what_is_written_comes_out(written: str) -> None:
    assert render(sqlglot.parse_one(written, dialect="duckdb")) == written


def test_a_call_keeps_its_name_as_it_is() -> None:
    assert (
        render(sql.call("list_value", sql.column('a"b', "t"), sql.text("it's")))
        == """list_value("t"."a""b", 'it''s')"""
    )


def test_orders_say_where_null_stands() -> None:
    down = exp.Ordered(this=sql.column("b"), desc=True, nulls_first=False)
    ordered = sql.query([sql.column("a")], sql.table("t"), order=[sql.column("a"), down])
    assert render(ordered) == 'SELECT "a" FROM "t" ORDER BY "a" ASC NULLS LAST, "b" DESC NULLS LAST'
