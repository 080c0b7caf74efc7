"""The statements of a model that a policy makes: the release, its gate, whether the model is that release, its manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import ppduck
from ppduck.dbt.answers import answer
from tests.conftest import SECRET
from tests.dbt.test_answers import ASKED

NAMES = ["id", "name", "region", "plan", "load_date", "income"]
POLICY: dict[str, Any] = {"key": "id", "masks": {"egadp": {"nonconf": ["region"]}}}
COLUMNS: dict[str, Any] = {
    "id": {"pseudonym": "token"},
    "name": "drop",
    "region": "keep",
    "plan": {"randomize": {"p": 0.7, "levels": ["a", "b", "c"]}},
    "load_date": "keep",
    "income": {"mask": "egadp"},
}


def node(materialized: str = "table", **policy: Any) -> dict[str, Any]:
    told = {name: {"config": {"meta": {"ppduck": own}}} for name, own in COLUMNS.items()}
    meta = {"ppduck": POLICY | policy, "ppduck_release_1": {"over_text": False}}
    code = "{{ ppduck_release_table(ref('o')) }}"
    return {
        "name": "m", "resource_type": "model", "raw_code": code, "columns": told, "depends_on": {"nodes": ["o"]},
        "config": {"materialized": materialized, "meta": meta},
    }  # fmt: skip


def said(task: str, **request: Any) -> Any:
    return json.loads(answer(task, json.dumps(request)))


def table(of: dict[str, Any], newest: str | None = None, comment: str | None = None, **source: Any) -> Any:
    taken = {"name": "o", "table": '"o"', "is_cte": False, "columns": NAMES} | source
    return said("release_table", node=of, source=taken, newest=newest, comment=comment)


def gate(of: dict[str, Any], masked: str, columns: list[str], **given: Any) -> Any:
    asked = dict.fromkeys(ASKED) | {"original": "o"} | given
    return said("release", node=of, given=asked, masked=masked, made_of={}, columns=columns, original_columns=NAMES)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect(secret=SECRET) as con:
        con.execute(
            "CREATE TABLE o AS SELECT i AS id, 'n' || i AS name, ['x', 'y'][1 + (hash(i) % 2)::INT] AS region, "
            "['a', 'b', 'c'][1 + (hash(i + 9999) % 3)::INT] AS plan, DATE '2026-01-01' + (i // 300)::INT AS load_date, "
            "(hash(i + 7) % 100000 / 7)::DOUBLE AS income FROM range(1400) r(i)"
        )
        con.execute(f"CREATE TABLE m AS {table(node())['sql']}")
        yield con


def test_the_statement_is_what_a_user_would_write(con: duckdb.DuckDBPyConnection) -> None:
    made = table(node())
    assert made["sql"].startswith("select * from release_table('o', policy := 'key: id\n")
    assert (made["empty"], made["batch"]) == ('SELECT "id", "region", "plan", "load_date", "income"', None)
    assert "rows" not in made
    assert [name for name, *_ in con.execute("DESCRIBE m").fetchall()] == [
        "id",
        "region",
        "plan",
        "load_date",
        "income",
    ]
    again = con.execute(f"SELECT count(*) FROM (FROM m EXCEPT ALL {made['sql']})").fetchall()
    assert again == [(0,)]


def failures(con: duckdb.DuckDBPyConnection, of: dict[str, Any], masked: str, **given: Any) -> list[tuple[Any, ...]]:
    columns = [name for name, *_ in con.execute(f"DESCRIBE SELECT * FROM {masked}").fetchall()]
    told = gate(of, masked, columns, **given)
    assert "error" not in told, told
    return [(rule, column, value) for rule, column, _, value, _ in con.execute(told["sql"]).fetchall()]


def test_the_gate_judges_the_release_and_the_model_is_that_release(con: duckdb.DuckDBPyConnection) -> None:
    assert failures(con, node(), "m") == []
    assert failures(con, node(), "(SELECT income, region FROM m ORDER BY income)") == []
    assert failures(con, node(), "(SELECT * EXCLUDE (id), id IS NULL AS more FROM m)") == [("policy", "more", 1.0)]
    assert failures(con, node(), "(SELECT 1 AS more)") == [("policy", "more", 1.0)]
    assert failures(con, node(), "(FROM m LIMIT 1390)") == [("policy", None, 10.0)]
    changed = "(SELECT * REPLACE (CASE WHEN income < 20 THEN 0 ELSE income END AS income) FROM m)"
    [(rule, column, count)] = failures(con, node(), changed)
    low = con.execute("SELECT count(*) FROM m WHERE income < 20").fetchall()[0][0]
    assert (rule, column, count) == ("policy", None, float(low))
    assert low > 0


def test_last_digits_are_not_compared_and_all_others_are(con: duckdb.DuckDBPyConnection) -> None:
    """Sums that two threads gather come out with other last digits, and so do all numbers that are masked by them."""
    for change, wrong in (
        ("income * (1 + 1e-12)", False),
        ("income * (1 + 1e-6)", True),
        ("lag(income, 1, 0) OVER (ORDER BY income)", True),
    ):
        found = failures(con, node(), f"(SELECT * REPLACE ({change} AS income) FROM m)")
        assert [rule for rule, *_ in found] == (["policy"] if wrong else []), change
    assert failures(con, node(), "(SELECT region, plan, income FROM m ORDER BY random())") == []


def test_a_few_rows_may_lack_a_number_as_in_other_releases(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE whole AS FROM o; UPDATE o SET income = NULL WHERE id % 40 = 0")
    try:
        made = table(node())["sql"]
        con.execute(f"CREATE TABLE lacking AS {made}")
        assert failures(con, node(), "lacking") == []
        assert [row[:2] for row in failures(con, node(), "lacking", limits={"left_out": 0})] == [("left_out", None)]
    finally:
        con.execute("UPDATE o SET income = (SELECT income FROM whole WHERE whole.id = o.id)")


def test_limits_are_those_of_the_policy_amended_by_the_test(con: duckdb.DuckDBPyConnection) -> None:
    assert ("k", None) in [row[:2] for row in failures(con, node(limits={"k": 1000}), "m")]
    assert failures(con, node(limits={"k": 1000}), "m", limits={"k": 2}) == []


def test_rows_that_wait_are_not_asked_of(con: duckdb.DuckDBPyConnection) -> None:
    """Of 1,400 rows in batches of 300, 1,200 are released: the gate sees those on both sides."""
    of = node(batch="load_date")
    con.execute(f"CREATE OR REPLACE TABLE batched AS {table(of)['sql']}")
    assert con.execute("SELECT count(*) FROM batched").fetchall() == [(1200,)]
    assert failures(con, of, "batched") == []


def test_what_the_policy_says_already_is_not_said_again() -> None:
    told = gate(node(), "m", NAMES, key="id", conf=["income"], moments=True)["error"]
    assert told.startswith('ppduck_release on "m": the model has a policy, which says what the gate is asked; take out')
    assert all(f'"{name}"' in told for name in ("key", "conf", "moments"))
    assert "parameter 'original' is missing" in gate(node(), "m", NAMES, original=None)["error"]


def test_batches_go_on_where_the_same_policy_made_them(con: duckdb.DuckDBPyConnection) -> None:
    of = node("incremental", batch="load_date", smallest_batch=300)
    manifest = said("comment", node=of, made_of={"o": {"name": "o", "relation_name": '"o"'}})["sql"]
    [(comment,)] = con.execute(manifest).fetchall()
    made = table(of, "2026-01-02", comment)
    assert made["sql"].endswith(", after := '2026-01-02')")
    assert made["batch"] == "load_date"
    assert con.execute(made["rows"]).fetchall() == [(600,)]
    assert "release_check('(SELECT * FROM o AS" in made["gate"]
    assert con.execute(made["gate"]).description is not None
    for other in (None, "", "no JSON", "[]", json.dumps(json.loads(comment) | {"policy": "0" * 32})):
        refused = table(of, "2026-01-02", other)["error"]
        assert "does not say that it was made by this policy, so that no batch can be added" in refused
    assert "each batch is judged before it is added; take out the test" in gate(of, "m", NAMES)["error"]


def test_columns_and_sources_are_looked_at() -> None:
    assert 'of the table column "more" is not named' in table(node(), columns=[*NAMES, "more"])["error"]
    assert "is ephemeral and cannot be masked" in table(node(), is_cte=True)["error"]
    assert "made of several relations" in said("comment", node=node(), made_of={})["error"]
