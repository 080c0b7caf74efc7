"""release_table: the policy of the README on its table, told as a file, as text and as a struct."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import ppduck
from ppduck.policy.document import of_yaml
from tests.conftest import SECRET
from tests.pages import ROOT

ROWS = 3000
POLICY = ROOT / "examples/customers.release.yml"
TABLE = (ROOT / "examples/customers.sql").read_text(encoding="utf-8").replace("200000", str(ROWS))


@pytest.fixture(scope="module")
def shop() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(TABLE)
        yield ppduck.load(connection, SECRET)


def released(con: duckdb.DuckDBPyConnection, what: str = "*", policy: str = f"'{POLICY}'") -> list[tuple[object, ...]]:
    return con.execute(f"SELECT {what} FROM release_table('customers', policy={policy})").fetchall()


def test_every_column_becomes_what_the_policy_says(shop: duckdb.DuckDBPyConnection) -> None:
    relation = shop.sql(f"FROM release_table('customers', policy='{POLICY}')")
    assert dict(zip(relation.columns, map(str, relation.types), strict=True)) == {
        "customer_id": "VARCHAR", "email": "VARCHAR", "phone": "VARCHAR", "birth_date": "DATE", "signup_ts": "TIMESTAMP",
        "zip": "VARCHAR", "city": "VARCHAR", "gender": "VARCHAR", "segment": "VARCHAR", "income": "DECIMAL(12,2)",
        "debt": "DECIMAL(12,2)", "n_orders": "INTEGER", "churned": "BOOLEAN",
    }  # fmt: skip
    shop.execute(f"CREATE OR REPLACE TABLE staged AS FROM release_table('customers', policy='{POLICY}', staged=true)")
    together = "customers o JOIN staged s USING (customer_id)"
    [found] = shop.execute(
        f"""SELECT count(*), count(DISTINCT s.released_customer_id), count_if(s.email = o.email), count_if(s.phone = o.phone),
            bool_and(regexp_replace(s.phone, '[0-9]', '0', 'g') = regexp_replace(o.phone, '[0-9]', '0', 'g')),
            bool_and(s.birth_date <> o.birth_date AND abs(s.birth_date - o.birth_date) <= 30),
            bool_and(s.signup_ts - o.signup_ts = to_days((s.birth_date - o.birth_date)::INTEGER)),
            bool_and(s.zip = o.zip[:3]), count_if(s.city LIKE 'Hamlet%'), bool_and(s.churned = o.churned),
            bool_and((s.income IS NULL) = (o.income IS NULL)), count_if(s.income = o.income) FROM {together}"""
    ).fetchall()
    rows, tokens, same_mails, same_phones, shapes, near, intervals, zips, hamlets, kept, nulls, same = found
    assert (rows, tokens, same_mails, hamlets) == (ROWS, ROWS, 0, 0)
    assert same_phones < 3
    assert all((shapes, near, intervals, zips, kept, nulls))
    assert same < 5
    moved = "SELECT avg({0}), stddev({0}), corr({0}, debt) FROM {1} WHERE income IS NOT NULL"
    one, other = (shop.execute(moved.format("income", rows)).fetchall()[0] for rows in ("staged", "customers"))
    assert one == pytest.approx(other, rel=1e-4)  # to rounded cents


def test_file_text_and_struct_say_the_same(shop: duckdb.DuckDBPyConnection) -> None:
    text = POLICY.read_text(encoding="utf-8")
    plain = of_yaml(text).plain
    struct = json.dumps(plain).replace('"', "'")
    first = released(shop)
    assert first == released(shop, policy="'" + text.replace("'", "''") + "'")
    assert first == released(shop, policy=struct)


def test_one_thread_or_two_the_same_rows(shop: duckdb.DuckDBPyConnection) -> None:
    shop.execute("SET threads = 1")
    one = released(shop, "* EXCLUDE (income, debt)")
    shop.execute("SET threads = 2")
    assert one == released(shop, "* EXCLUDE (income, debt)")


def test_the_same_tokens_in_two_released_tables_join(shop: duckdb.DuckDBPyConnection) -> None:
    shop.execute("CREATE OR REPLACE TABLE orders AS SELECT customer_id::VARCHAR AS buyer, n_orders FROM customers")
    orders = "{'columns': {'buyer': {'pseudonym': 'token'}, 'n_orders': 'keep'}}"
    [(together,)] = shop.execute(
        f"SELECT count(*) FROM release_table('customers', policy='{POLICY}') c "
        f"JOIN release_table('orders', policy={orders}) o ON c.customer_id = o.buyer"
    ).fetchall()
    assert together == ROWS
    elsewhere = orders.replace("{'pseudonym': 'token'}", "{'pseudonym': 'token', 'domain': 'elsewhere'}")
    [(apart,)] = shop.execute(
        f"SELECT count(*) FROM release_table('customers', policy='{POLICY}') c "
        f"JOIN release_table('orders', policy={elsewhere}) o ON c.customer_id = o.buyer"
    ).fetchall()
    assert apart == 0


def test_hurried_readers_get_rows(shop: duckdb.DuckDBPyConnection) -> None:
    assert len(shop.execute(f"FROM release_table('customers', policy='{POLICY}') LIMIT 3").fetchall()) == 3
    half = shop.execute(f"FROM release_table('customers', policy='{POLICY}')")
    assert half.fetchone() is not None
    assert shop.execute(f"SELECT count(*) FROM release_table('customers', policy='{POLICY}')").fetchall() == [(ROWS,)]


def test_a_view_over_it_tells_its_design(shop: duckdb.DuckDBPyConnection) -> None:
    shop.execute(f"CREATE OR REPLACE VIEW public AS FROM release_table('customers', policy='{POLICY}')")
    told = shop.execute("SELECT gender, estimate FROM rr_reconstruct('public', ['gender'])").fetchall()
    truth = dict(shop.execute("SELECT gender, count(*) / 3000 FROM customers GROUP BY 1").fetchall())
    assert dict(told) == pytest.approx(truth, abs=0.05)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("'nowhere.yml'", "the policy 'nowhere.yml' cannot be read"),
        ("'*.md'", "cannot be read|stands for"),
        ("7", "policy takes the name of a YAML file"),
        ("{'columns': 3}", "columns takes columns and what becomes of them, got 3"),
        ("'key: id\n  columns: ['", "is no YAML at line 2"),
    ],
)
def test_what_is_no_policy(shop: duckdb.DuckDBPyConnection, policy: str, said: str) -> None:
    with pytest.raises(duckdb.Error, match=said):
        released(shop, policy=policy)


def test_a_connection_that_may_not_read_files_reads_no_policy(tmp_path: Path) -> None:
    (tmp_path / "p.yml").write_text("columns: {a: drop, b: keep}")
    with ppduck.connect(secret=SECRET) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a, 2 AS b")
        con.execute("SET enable_external_access = false")
        with pytest.raises(duckdb.Error, match=r"this connection may not read files"):
            con.execute(f"FROM release_table('t', policy='{tmp_path}/p.yml')")
