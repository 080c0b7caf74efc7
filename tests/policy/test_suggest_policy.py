"""Proposals: each role is found by name or by form, nothing of the table's values is told, and release_table takes them."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

import ppduck
from ppduck.policy.document import of_yaml
from tests.conftest import SECRET
from tests.pages import ROOT
from tests.policy.proposals import DROP, PEOPLE, ROLES, TOKEN, Ask, proposal, treatments

pytestmark = pytest.mark.core
SHOP = (ROOT / "examples/customers.sql").read_text(encoding="utf-8").replace("range(200000)", "range(3000)")


def test_each_role_is_found(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute(PEOPLE)
    found = treatments(ask, "people")
    assert {name: found[name] for name, _, _ in ROLES} == {name: wanted for name, _, wanted in ROLES}


def test_a_release_takes_it(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(PEOPLE)
    policy = proposal(con, "'people'")
    assert list(of_yaml(policy).plain["columns"]) == [name for name, _, _ in ROLES]
    kept = [name for name, _, wanted in ROLES if wanted != DROP]
    made = con.execute("FROM release_table('people', ?)", [policy])
    assert [column[0] for column in made.description] == kept
    assert len(made.fetchall()) == 2000


def test_the_shop_of_the_examples(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(SHOP)
    policy = proposal(con, "'customers'")
    own = of_yaml(policy).plain
    assert (own["from"], own["key"]) == ("customers", "customer_id")
    assert own["columns"]["income"] == own["columns"]["debt"] == {"mask": "egadp"}
    assert own["masks"]["egadp"] == {"nonconf": ["gender", "segment", "age_band", "churned"], "round": True}
    [(rows, same)] = con.execute(
        "SELECT count(*), count_if(r.income = c.income) FROM release_table('customers', ?) AS r "
        "POSITIONAL JOIN (SELECT income FROM customers) AS c",
        [policy],
    ).fetchall()
    assert rows == 3000
    assert same < 30


@pytest.mark.parametrize("name", ["adult", "census"])
@pytest.mark.filterwarnings("ignore::ppduck.PpduckWarning")
def test_public_data(con: duckdb.DuckDBPyConnection, reference_data: Path, name: str) -> None:
    con.execute(f"CREATE TABLE d AS SELECT row_number() OVER () AS person_id, * FROM '{reference_data}/{name}.parquet'")
    policy = proposal(con, "'d'")
    assert any("mask" in how for how in of_yaml(policy).plain["columns"].values())
    [(rows,)] = con.execute("SELECT count(*) FROM release_table('d', ?)", [policy]).fetchall()
    [(wanted,)] = con.execute("SELECT count(*) FROM d").fetchall()
    assert rows == wanted


def test_without_a_key_nothing_is_proposed_that_needs_one(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    con.execute(f"CREATE TABLE d AS FROM '{reference_data}/adult.parquet'")
    policy = proposal(con, "'d'")
    own = of_yaml(policy).plain
    assert "\n# key: no column was found that identifies a row" in policy
    assert "key" not in own
    assert "masks" not in own
    assert not re.search(r"^ [^#]*(mask|randomize):", policy, re.MULTILINE)
    assert "with a key {randomize: 0.8} would do" in policy
    assert con.execute("SELECT count(*) FROM release_table('d', ?)", [policy]).fetchall() == [(45222,)]


def test_few_rows_and_none(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    for rows in (0, 1, 2, 40):
        con.execute(
            "CREATE OR REPLACE TABLE t AS SELECT i AS id, 'a' AS email, 'b' AS city, 'c' AS gender, sin(i) AS x, i % 2 = 0 AS f, "
            f"DATE '2020-01-01' AS d, 'e' AS note, 'n' AS name FROM range({rows}) r(i)"
        )
        found = treatments(ask, "t")
        assert (found["x"], found["name"], found["id"]) == (DROP, DROP, TOKEN)
        policy = proposal(con, "'t'")
        assert con.execute("SELECT count(*) FROM release_table('t', ?)", [policy]).fetchall() == [(rows,)]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("custmers", r'suggest_policy on "custmers": .*Did you mean "customers"'),
        ("nowhere.customers", r"suggest_policy"),
        ("SELECT 1; SELECT 2", r"a table must be named as one table"),
    ],
)
def test_a_table_that_is_not_there(customers: duckdb.DuckDBPyConnection, table: str, said: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=said):
        customers.execute(f"FROM suggest_policy('{table}')")


def test_no_secret_is_needed() -> None:
    with ppduck.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x FROM range(100) r(i)")
        own = con.execute("FROM suggest_policy('t')").fetchall()
    with ppduck.connect(secret=SECRET) as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x FROM range(100) r(i)")
        assert con.execute("FROM suggest_policy('t')").fetchall() == own
