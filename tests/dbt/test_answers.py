"""The gate of a dbt project: columns that repeat confidential ones fail, under any name; what the rule says, it knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import ppduck
from ppduck.dbt.answers import answer

ASKED = (
    "original",
    "key",
    "conf",
    "nonconf",
    "limits",
    "moments",
    "tolerance",
    "keep",
    "qi",
    "p",
    "matrix",
    "levels",
    "pseudonyms",
)
ROWS = 500
Failed = list[tuple[str, str | None]]


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect() as con:
        con.execute(
            "CREATE TABLE o AS SELECT i AS id, i % 3 AS part, hash(i) % 100000 / 7 AS income, "
            "['a', 'b', 'c'][1 + (hash(i + 9999) % 3)::INT] AS plan, (hash(i + 5000) % 80)::INT AS age, "
            f"(DATE '2020-01-01' + (hash(i + 777) % 12)::INT)::DATE AS since FROM range({ROWS}) r(i)"
        )
        con.execute("CREATE TABLE m AS SELECT * REPLACE (hash(id + 77) % 100000 / 7 AS income) FROM o")
        yield con


def statement(masked: str, rule: dict[str, Any] | None = None, **given: Any) -> str:
    node = {"name": "m", "config": {"meta": {"ppduck": rule} if rule else {}}}
    asked = dict.fromkeys(ASKED) | {"original": "o"} | ({} if rule else {"key": "id"}) | given
    request = {"node": node, "given": asked, "masked": masked, "made_of": {}}
    said = json.loads(answer("release", json.dumps(request)))
    assert "error" not in said, said
    return str(said["sql"])


def failed(con: duckdb.DuckDBPyConnection, masked: str, rule: dict[str, Any] | None = None, **given: Any) -> Failed:
    rows = con.execute(statement(masked, rule, **given)).fetchall()
    assert all((value is None or value > limit) and why for _, _, limit, value, why in rows)
    return [(rule, column) for rule, column, *_ in rows]


@pytest.mark.parametrize(
    ("column", "conf"),
    [
        ("o.income", "income"),
        ("o.income::VARCHAR", "income"),
        ("printf('%.3f', o.income)", "income"),
        ("round(o.income, -2)", "income"),
        ("-o.income / 12 + 5", "income"),
        ("ln(o.income + 1)", "income"),
        ("CASE WHEN o.id % 10 = 0 THEN o.income ELSE m.income END", "income"),
        ("o.plan", "plan"),
        ("ascii(o.plan)", "plan"),
        ("translate(o.plan, 'abc', 'xyz')", "plan"),
        ("o.since + INTERVAL 1 MONTH", "since"),
    ],
)
def test_copies_are_found(con: duckdb.DuckDBPyConnection, column: str, conf: str) -> None:
    """By ``declared`` whatever they are; by ``tells`` although somebody says that they may be kept."""
    dealt = "SELECT * REPLACE ((hash(id + 5) % 100000 / 7) AS income, chr(97 + (hash(id + 6) % 3)::INT) AS plan, (DATE '2020-01-01' + (hash(id + 8) % 12)::INT)::DATE AS since) FROM m"
    masked = f'(SELECT m.*, {column} AS "be\'fore" FROM ({dealt}) m JOIN o USING (id))'
    others = [name for name in ("income", "plan", "since") if name != conf]
    found = failed(con, masked, conf=[conf], keep=others)
    assert {("declared", "be'fore"), ("tells", "be'fore")} <= {*found}
    found = failed(con, masked, conf=[conf], keep=[*others, "be'fore"])
    assert ("tells", "be'fore") in found
    assert not [rule for rule, _ in found if rule == "declared"]


@pytest.mark.parametrize(
    "column",
    ["m.income / 12", "m.income > 5000", "hash(m.id + 12345) % 1000", "7", "NULL", "[m.age]", "map {'age': m.age}"],
)
def test_what_is_no_copy(con: duckdb.DuckDBPyConnection, column: str) -> None:
    """Somebody must answer for it all the same."""
    masked = f"(SELECT m.*, {column} AS more FROM m JOIN o USING (id))"
    assert failed(con, masked, conf="income", keep="since") == [("declared", "more")]
    assert failed(con, masked, conf="income", keep=["more", "since"]) == []


def test_a_copy_under_the_name_of_another_column(con: duckdb.DuckDBPyConnection) -> None:
    masked = "(SELECT m.* REPLACE (CASE WHEN id % 2 = 0 THEN o.income ELSE m.age END AS age) FROM m JOIN o USING (id))"
    found = failed(con, masked, conf="Income", key=["ID", "part"], keep="since")
    assert found == [("declared", "age"), ("tells", "age")]
    assert failed(con, "m", conf="income", keep="since") == []


def test_a_copy_beside_a_weak_mask(con: duckdb.DuckDBPyConnection) -> None:
    weak = "(SELECT m.* REPLACE (o.income + id % 7 AS income), o.income AS more FROM m JOIN o USING (id))"
    found = failed(con, weak, conf="income", keep="since")
    assert {("declared", "more"), ("tells", "more"), ("linkage", None)} <= {*found}


def test_macros_of_the_project_change_nothing(con: duckdb.DuckDBPyConnection) -> None:
    with ppduck.load(con.cursor()) as own:
        own.execute("CREATE TEMP MACRO abs(a) AS 0; CREATE TEMP MACRO concat_ws(a, b, c) AS 'nothing'")
        masked = "(SELECT m.*, o.income AS before FROM m JOIN o USING (id))"
        found = failed(own, masked, conf="income", keep="since")
        assert found == [("declared", "before"), ("tells", "before"), ("copy", "before")]


def test_the_rule_tells_what_is_kept_and_how_it_is_drawn() -> None:
    rule = {"mask": "rr", "p": {"plan": 0.7, "age": 0.9}, "conf": "plan", "key": "id", "keep": "part", "qi": ["age"]}
    told = statement("m", rule)
    assert "conf := ['plan'], key := ['id'], keep := ['part'], qi := ['age'], p := {'plan': 0.7})" in told
    told = statement(
        "m", rule, keep=["since"], qi="part", matrix={"plan": [[1, 0], [0, 1]]}, levels={"plan": ["a", "b"]}
    )
    assert (
        "keep := ['since'], qi := 'part', matrix := {'plan': [[1, 0], [0, 1]]}, levels := {'plan': ['a', 'b']})" in told
    )
    assert ", p :=" not in told, "a design is the test's or the rule's"
    # The matrix of invariant PRAM is made of the data.
    assert ", p :=" not in statement("m", {"mask": "pram", "p": 0.7, "conf": "plan", "key": "id", "invariant": True})
    assert ", p := 0.7)" in statement("m", {"mask": "pram", "p": 0.7, "conf": "plan", "key": "id"})
    anatomy = {"mask": "anatomy", "qi": ["age"], "sensitive": "plan", "l": 2, "keep": ["part"], "key": "id"}
    assert "conf := ['plan'], key := ['id'], keep := ['part'])" in statement("m", anatomy)


def test_pseudonyms_are_the_tests_or_the_rules(con: duckdb.DuckDBPyConnection) -> None:
    rule = {"mask": "egadp", "conf": "income", "key": "id", "keep": "since", "pseudonyms": {"token": "id"}}
    assert "keep := ['since'], pseudonyms := {'token': 'id'})" in statement("m", rule)
    assert "pseudonyms := ['name'])" in statement("m", rule, pseudonyms=["name"])
    masked = "(SELECT *, md5('a secret' || id) AS token FROM m)"
    assert failed(con, masked, {**rule, "nonconf": []}, moments=False) == []
    given = {"conf": "income", "keep": "since"}
    assert failed(con, masked, **given, pseudonyms={"token": "id"}) == []
    assert failed(con, masked, **given, pseudonyms="token") == [("pseudonym", "token")]
    assert failed(con, "(SELECT *, md5(id::VARCHAR) AS token FROM m)", {**rule, "nonconf": []}, moments=False) == [
        ("tells", "token")
    ]


def test_a_randomized_release_passes_by_the_design_of_its_rule(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE OR REPLACE TABLE drawn AS FROM rr_mask('o', p={'plan': 0.7}, key='id', drop=['since'], seed=3)")
    assert failed(con, "drawn", {"mask": "rr", "p": {"plan": 0.7}, "key": "id"}) == []
    assert ("agreement", "plan") in failed(con, "drawn", conf="plan")


def test_moments_of_what_the_release_has(con: duckdb.DuckDBPyConnection) -> None:
    rule = {"mask": "egadp", "conf": ["income", "age"], "nonconf": ["part"], "key": "id"}
    node = {"name": "m", "config": {"meta": {"ppduck": rule}}}
    request = {"node": node, "given": dict.fromkeys(ASKED) | {"original": "o"}, "masked": "m", "made_of": {}}
    for columns, conf in ((["id", "INCOME"], "['income']"), (["id", "part", "age"], "['age', 'part']"), (["id"], None)):
        told = json.loads(answer("release", json.dumps(request | {"columns": columns})))["sql"]
        assert ("moments_check" in told) == (conf is not None)
        assert conf is None or f"moments_check('o', 'm', conf := {conf})" in told
