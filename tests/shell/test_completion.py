"""What is offered, and in which order."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.shell.completion import Names, offers

pytestmark = pytest.mark.core


@pytest.fixture
def names(con: duckdb.DuckDBPyConnection) -> Names:
    con.execute('CREATE TABLE customers(id INTEGER, x1 DOUBLE, "yearly income" DOUBLE)')
    con.execute(
        "CREATE SCHEMA shop; CREATE TABLE shop.orders(id INTEGER, item VARCHAR); CREATE TABLE items(xx INTEGER)"
    )
    return Names(con)


def texts(names: Names, before: str) -> list[str]:
    return [offer.text for offer in offers(names, before)]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("FROM egadp_mask('", ["customers'", "items'", "orders'"]),
        ("FROM egadp_mask('customers', conf=['x", ["x1'", "xx'"]),
        ("FROM egadp_mask('customers', ['x1', 'ye", ["yearly income'"]),
        ("FROM moments_check('customers', 'it", ["items'"]),
        ("FROM rr_mask('orders', p={'i", ["id'", "item'"]),
        ("FROM egadp_mask('customers', conf=['x1'], no", ["nonconf="]),
        ("SELECT shop.", ["orders"]),
        ("SELECT * FROM customers AS c WHERE c.", ["id", "x1", '"yearly income"']),
        ('SELECT "ye', ['"yearly income"']),
        ("SELECT * FROM ", ["customers", "items", "orders"]),
        ("SELECT 'x", []),
        ("SELECT -- x", []),
        ("/* sel", []),
    ],
)
def test_offers(before: str, expected: list[str], names: Names) -> None:
    assert texts(names, before) == expected


def test_a_parameter_is_offered_once(names: Names) -> None:
    assert texts(names, "FROM egadp_mask('customers', con") == ["conf="]
    assert "conf=" not in texts(names, "FROM egadp_mask('customers', ['x1'], con")
    assert "conf=" not in texts(names, "FROM egadp_mask('customers', conf := ['x1'], con")


def test_columns_of_a_mentioned_table_come_first(names: Names) -> None:
    assert texts(names, "SELECT xx FROM items WHERE x")[:2] == ["xx", "x1"]
    assert texts(names, "FROM customers SELECT x")[:2] == ["x1", "xx"]


def test_keywords_keep_the_case_of_what_was_typed(names: Names) -> None:
    assert "select" in texts(names, "sel")
    assert "SELECT" in texts(names, "SEL")


def test_functions_of_ppduck_and_of_duckdb(names: Names) -> None:
    assert "shuffle_mask(" in texts(names, "FROM shuf")
    assert "regr_slope(" in texts(names, "SELECT regr_s")
    assert "ppduck_functions(" in texts(names, "FROM ppd")
    assert "ppduck_plan(" not in texts(names, "FROM ppd")


def test_new_tables_are_known_once_the_statement_is_over(names: Names, con: duckdb.DuckDBPyConnection) -> None:
    assert texts(names, "FROM brand") == []
    con.execute("CREATE TEMP TABLE brandnew(a INTEGER)")
    names.forget()
    assert texts(names, "FROM brand") == ["brandnew"]


def test_a_transaction_that_failed_does_no_harm(names: Names, con: duckdb.DuckDBPyConnection) -> None:
    con.execute("BEGIN")
    with pytest.raises(duckdb.Error, match="Conversion"):
        con.execute("INSERT INTO items SELECT 'x'::INTEGER")
    assert isinstance(texts(names, "FROM cus"), list)
    con.execute("ROLLBACK")
    names.forget()
    assert texts(names, "FROM cus") == ["customers"]
