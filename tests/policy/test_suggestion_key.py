"""The key, and whose a row is: found by name, by form, or as it was told."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.policy.document import of_yaml
from tests.policy.proposals import DROP, EGADP, TOKEN, Ask, proposal, treatments

pytestmark = pytest.mark.core


def test_a_key_can_be_told(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute("CREATE TABLE t AS SELECT i // 10 AS shelf, i % 10 AS slot, sin(i) + 9 AS x FROM range(1000) r(i)")
    assert treatments(ask, "t")["x"] == DROP
    told = treatments(ask, "t", ", key=['slot', 'shelf']")
    assert told == told | {"x": EGADP, "shelf": TOKEN, "slot": TOKEN}
    assert of_yaml(proposal(con, "'t'", ", key=['slot', 'shelf']")).plain["key"] == ["slot", "shelf"]
    with pytest.raises(duckdb.InvalidInputException, match=r'key names column "shlef".*Did you mean "shelf"'):
        con.execute("FROM suggest_policy('t', key='shlef')")


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        ("i AS id, i AS other_id", "id"),
        ("i AS other_id, i AS customer_id", "customer_id"),
        ("i AS a, i // 2 AS b_id", "a"),  # numbered rows
        ("i * i AS a, i // 2 AS b_id", None),
        ("CASE WHEN i > 0 THEN i END AS id", None),
        ("'u' || i || '@example.org' AS email_id", None),
        ("i * 1.5::DOUBLE AS id", None),
        ("uuid() AS a", "a"),
    ],
)
def test_the_key(con: duckdb.DuckDBPyConnection, columns: str, key: str | None) -> None:
    con.execute(f"CREATE TABLE customers AS SELECT {columns} FROM range(500) r(i)")
    assert of_yaml(proposal(con, "'customers'")).plain.get("key") == key


def test_dates_go_by_the_person_and_not_by_the_row(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute(
        "CREATE TABLE orders AS SELECT i AS order_id, i // 4 AS customer_id, DATE '2020-01-01' + (i * 7 % 900)::INTEGER "
        "AS placed FROM range(2000) r(i)"
    )
    assert treatments(ask, "orders")["placed"] == "{date: shift, per: customer_id, within: 30 days}"
    con.execute("CREATE TABLE shopping AS SELECT * EXCLUDE (order_id) FROM orders")
    assert treatments(ask, "shopping")["placed"] == "{date: shift, per: customer_id, within: 30 days}"
    con.execute("CREATE TABLE visits AS SELECT * EXCLUDE (customer_id) FROM shopping")
    assert treatments(ask, "visits")["placed"] == "{date: year}"


def test_a_key_without_pseudonyms_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT [i] AS a FROM range(9) r(i)")
    with pytest.raises(duckdb.InvalidInputException, match=r'key names column "a" of type BIGINT\[\]'):
        con.execute("FROM suggest_policy('t', key='a')")
