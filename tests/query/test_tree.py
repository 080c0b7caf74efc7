"""A tree becomes the text that it stands for, whatever the user has set."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp

from ppduck.query import tree as sql
from ppduck.query.tree import render

pytestmark = pytest.mark.core


def test_orders_are_written_out() -> None:
    up, down = sql.column("a"), exp.Ordered(this=sql.column("b"), desc=True, nulls_first=False)
    written = render(sql.query([sql.number(1)], sql.table("t"), order=[up, down]))
    assert written.endswith('ORDER BY "a" ASC NULLS LAST, "b" DESC NULLS LAST')


@pytest.mark.parametrize("setting", ["default_null_order = 'nulls_first'", "default_order = 'desc'"])
def test_settings_change_no_order(setting: str) -> None:
    values = sql.in_order("list", sql.column("a"), [sql.column("a")])
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT unnest([2, NULL, 1]) AS a")
        con.execute(f"SET {setting}")
        assert con.execute(render(sql.query([values], sql.table("t")))).fetchone() == ([1, 2, None],)


@pytest.mark.parametrize("name", ["a", "A b", 'say "x"', "it's", "select", "ünlü"])
def test_every_name_is_quoted(name: str) -> None:
    with duckdb.connect() as con:
        found = con.execute(render(sql.query([sql.named(sql.text("it's"), name)])))
        assert (found.description[0][0], found.fetchone()) == (name, ("it's",))


def test_an_argument_by_its_name() -> None:
    asked = sql.rows_of("read_csv", sql.text("f.csv"), sql.argument("header", exp.true()))
    assert render(sql.query([exp.Star()], asked)) == "SELECT * FROM read_csv('f.csv', header := TRUE)"


def test_a_short_hash_is_a_whole_number_that_a_double_holds() -> None:
    with duckdb.connect() as con:
        hashes = ("0", "18446744073709551615", "1311768467463790320")
        for digest in hashes:
            own = sql.short(sql.cast(sql.text(digest), "UBIGINT"))
            [(found,)] = con.execute(f"SELECT {render(own)}").fetchall()
            assert found == int(digest) // 2**11 == int(found) < 2**53


def test_flat_lists_are_one_also_where_there_is_none() -> None:
    lists = [sql.array(map(sql.number, own), "DOUBLE") for own in ([1, 2], [], [3])]
    with duckdb.connect() as con:
        found = con.execute(f"SELECT {render(sql.flat(lists))}, {render(sql.flat([]))}").fetchone()
    assert found == ([1.0, 2.0, 3.0], [])


def test_rows_of_either_table_are_there_once() -> None:
    rows = sql.derived(sql.raw("SELECT unnest([1, 2]) AS k, true AS a"), "x").either(
        sql.derived(sql.raw("SELECT unnest([2, 3]) AS k, true AS b"), "y"), ["k"]
    )
    asked = sql.query([sql.column("k"), sql.column("a"), sql.column("b")], rows, order=[sql.column("k")])
    with duckdb.connect() as con:
        found = con.execute(render(asked)).fetchall()
    assert found == [(1, True, None), (2, True, True), (3, None, True)]
