"""What is offered, and in which order."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.call.registry import functions
from ppduck.shell.completion import offers
from ppduck.shell.names import Names

pytestmark = pytest.mark.core


@pytest.fixture
def names(con: duckdb.DuckDBPyConnection) -> Names:
    con.execute('CREATE TABLE customers(id INTEGER, x1 DOUBLE, "yearly income" DOUBLE)')
    con.execute(
        "CREATE SCHEMA shop; CREATE TABLE shop.orders(id INTEGER, item VARCHAR); CREATE TABLE items(xx INTEGER)"
    )
    return Names(con)


@pytest.fixture
def odd(con: duckdb.DuckDBPyConnection) -> Names:
    """Tables and columns that must be quoted or qualified."""
    con.execute('CREATE TABLE "my table"(a1 INTEGER, a2 INTEGER); CREATE TABLE "it\'s"(a3 INTEGER, "o\'hara" INTEGER)')
    con.execute('CREATE TABLE "order"("Group" INTEGER, "left" INTEGER, name INTEGER, """" INTEGER)')
    con.execute('CREATE TABLE "a.b"(a4 INTEGER); CREATE SCHEMA "my shop"; CREATE TABLE "my shop"."select"(a5 INTEGER)')
    con.execute("ATTACH ':memory:' AS other; CREATE TABLE other.far(a6 INTEGER)")
    con.execute("CREATE SCHEMA other.deep; CREATE TABLE other.deep.sea(a7 INTEGER)")
    return Names(con)


def texts(names: Names, before: str, after: str = "") -> list[str]:
    return [offer.text for offer in offers(names, before, after)]


def completed(names: Names, before: str, after: str = "") -> list[str]:
    """The whole text with each offer in its place."""
    return [before[: len(before) - offer.replaces] + offer.text + after for offer in offers(names, before, after)]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("FROM egadp_mask('", ["customers'", "items'", "shop.orders'"]),
        ("FROM egadp_mask('shop.", ["shop.orders'"]),
        ("FROM egadp_mask('ord", ["shop.orders'"]),
        ("FROM egadp_mask('customers', conf=['x", ["x1'"]),
        ("FROM egadp_mask('a file.csv', conf=['x", ["x1'", "xx'"]),
        ("FROM egadp_mask('customers', ['x1', 'ye", ["yearly income'"]),
        ("FROM egadp_mask('customers', ['x1', 'yearly i", ["yearly income'"]),
        ("FROM moments_check('customers', 'it", ["items'"]),
        ("FROM rr_mask('shop.orders', p={'i", ["id'", "item'"]),
        ("FROM rr_mask('shop.orders', p={'id': 0.8, 'i", ["id'", "item'"]),
        ("FROM rr_mask('shop.orders', levels={'id': ['i", []),
        ("FROM association_measures('shop.orders', 'it", ["item'"]),
        ("FROM l_diversity('shop.orders', ['id'], 'it", ["item'"]),
        ("FROM rr_optimize('shop.orders', tau='i", ["id'", "item'"]),
        ("FROM microaggregate_mask('shop.orders', variables=[['i", ["id'", "item'"]),
        ("FROM rr_privacy(tbl='shop.orders', prior={'i", ["id'", "item'"]),
        ("FROM onn_mask('shop.orders', standardise='i", []),
        ("FROM record_linkage('customers', 'items', detail='", ["columns'", "records'"]),
        ("FROM egadp_mask('customers', on_null='", ["error'", "level'", "drop'", "mean'"]),
        ("FROM rr_query('", []),
        ("FROM egadp_plain('customers', ['x1'], secret='", []),
        ("FROM ppduck_help('egadp_m", ["egadp_mask'"]),
        ("FROM mask_explain('egadp_", ["egadp_mask'", "egadp_plain'"]),
        ("FROM mask_explain('generalize", ["generalize_mask'"]),
        ("FROM mask_explain('recommend_", []),
        ("FROM mask_explain(tbl='customers', conf=['x", ["x1'"]),
        ("FROM mask_explain(tbl='customers', level={'x", ["x1'"]),
        ("FROM mask_explain('egadp_mask', 'cu", ["customers'"]),
        ("FROM mask_explain('egadp_mask', 'customers', conf=['x", ["x1'"]),
        ("FROM mask_explain('egadp_mask', 'customers', on_null='m", ["mean'"]),
        ("FROM egadp_mask('customers', conf=['x1'], no", ["nonconf="]),
        ("SELECT shop.", ["orders"]),
        ("SELECT * FROM shop.orders WHERE orders.it", ["item"]),
        ("SELECT * FROM shop.orders WHERE shop.orders.it", ["item"]),
        ("SELECT * FROM memory.shop.orders o WHERE o.it", ["item"]),
        ("SELECT * FROM customers AS c WHERE c.", ["id", "x1", '"yearly income"']),
        ('SELECT "ye', ['"yearly income"']),
        ('SELECT "yearly i', ['"yearly income"']),
        ("SELECT * FROM ", ["customers", "items", "shop.orders"]),
        ("SELECT 'x", []),
        ("SELECT -- x", []),
        ("/* sel", []),
    ],
)
def test_offers(before: str, expected: list[str], names: Names) -> None:
    assert texts(names, before) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("FROM egadp_mask('it", ["it''s'"]),
        ("FROM k_anonymity('it", ["\"it''s\"'"]),
        ("FROM egadp_mask('it''s', conf=['o", ["o''hara'"]),
        ("FROM egadp_mask('it''s', conf=['o''h", ["o''hara'"]),
        ('SELECT * FROM "my table" m WHERE m.', ["a1", "a2"]),
        ('SELECT * FROM "my table" AS "M y" WHERE "M y".', ["a1", "a2"]),
        ("SELECT * FROM ord", ['"order"']),
        ('FROM "order" AS o SELECT o.g', ['"Group"']),
        ('FROM "order" AS o SELECT o."G', ['"Group"']),
        ('FROM "order" AS o SELECT o.lef', ['"left"']),
        ('FROM "order" AS o SELECT o.n', ["name"]),
        ("FROM other.", ["deep.sea", "main.far"]),
        ("FROM other.main.", ["far"]),
        ("FROM fa", ["other.main.far"]),
        ("FROM other.far AS f SELECT f.", ["a6"]),
        ("FROM sel", ['"my shop"."select"']),
        ('FROM "my shop".', ['"select"']),
        ('FROM "my shop"."s', ['"select"']),
    ],
)
def test_odd_names(before: str, expected: list[str], odd: Names) -> None:
    assert texts(odd, before)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT {} FROM ", ""),
        ("FROM mask_explain('noise_mask', '", ", conf=['{}'], level=1)"),
        ("FROM k_anonymity('", ", ['{}'])"),
    ],
)
def test_every_table_that_is_offered_is_found(
    before: str, after: str, odd: Names, con: duckdb.DuckDBPyConnection
) -> None:
    found = texts(odd, before)
    assert len(found) == len(odd.relations) == 7
    for relation, text in zip(odd.relations, found, strict=True):
        con.execute(f"INSERT INTO {odd.written(*relation.path)} DEFAULT VALUES")
        column = relation.columns[0]
        con.execute(before.format(f'"{column}"') + text + after.format(column))


@pytest.mark.parametrize("table", ["order", "my table", "it's"])
def test_every_column_that_is_offered_is_found(table: str, odd: Names, con: duckdb.DuckDBPyConnection) -> None:
    for before, after in (("SELECT t.", f' FROM "{table}" t'), ("SELECT ", f' FROM "{table}"')):
        relation = next(each for each in odd.relations if each.name == table)
        found = completed(odd, before, after)[: len(relation.columns)]
        described = [con.execute(statement).description for statement in found]
        assert [columns[0][0] for columns in described] == list(relation.columns)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("FROM egadp_mask('customers', conf=['x", "'])", ["x1"]),
        ("FROM egadp_mask('cu", "', conf=['x1'])", ["customers"]),
        ('SELECT "ye', '" FROM customers', ['"yearly income']),
        ("SELECT c.i", " FROM customers c", ["id"]),
        ("SELECT c.i", " FROM customers -- it is\n AS c; FROM items c", ["id"]),
        ("SELECT c.x", " FROM items; FROM customers c", []),
        ("FROM customers c; SELECT c.x", " FROM items c", ["xx"]),
    ],
)
def test_what_follows_the_cursor_counts(before: str, after: str, expected: list[str], names: Names) -> None:
    assert texts(names, before, after) == expected


def test_columns_of_a_table_that_is_mentioned_later_come_first(names: Names) -> None:
    assert texts(names, "SELECT x", " FROM items")[:2] == ["xx", "x1"]
    assert texts(names, "SELECT x", " FROM customers")[:2] == ["x1", "xx"]


def test_the_options_that_are_offered_are_taken(names: Names) -> None:
    seen = 0
    for function in functions():
        for parameter in function.parameters:
            for option in texts(names, f"FROM {function.name}({parameter.name}='"):
                if (parameter.takes or "").startswith("one of "):
                    seen += 1
                    assert parameter.read(option.removesuffix("'")) == option.removesuffix("'")
    assert seen > 20


def test_a_long_statement_is_completed(names: Names) -> None:
    rows = "INSERT INTO items VALUES " + ", ".join(f"({i}, 'name {i}')" for i in range(2000))
    assert texts(names, f"{rows}, (customers.x", ", 3);") == ["x1"]


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
    assert texts(names, "FROM cus") == texts(names, "sel") == []
    con.execute("ROLLBACK")
    names.forget()
    assert texts(names, "FROM cus") == ["customers"]
    assert "select" in texts(names, "sel")
