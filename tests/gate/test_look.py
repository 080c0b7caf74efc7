"""A look at the whole table: the same rows whatever their order and the number of threads, and each rule by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest

from ppduck.gate import _look
from ppduck.gate._accounts import Other
from ppduck.gate._look import ROWS, LookSpec, LookTold, judge
from ppduck.gate.rules import Row
from tests.gate.releases import Rows, failed, of_rule, people
from tests.laws import steady

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]
# Rules that are looked at elsewhere.
OFF = "limits={'linkage': NULL, 'cc_gain': NULL, 'r2_gain': NULL, 'interval': NULL}"


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    people(con)
    return con


def call(release: str, more: str = "") -> str:
    return f"FROM release_check('t', '{release}', conf=['x'], key='id', {OFF}{more})"


def looked(rows: Rows, *without: str) -> list[tuple[Any, ...]]:
    return [
        tuple(steady(value) for value in row.values())
        for row in rows
        if row["rule"] in _look.RULES and row["rule"] not in without
    ]


@pytest.mark.parametrize("sampled", [100, 10_000])
def test_one_thread_or_two_and_any_order_of_rows_give_the_same(
    tables: duckdb.DuckDBPyConnection, ask: Ask, monkeypatch: pytest.MonkeyPatch, sampled: int
) -> None:
    """Also where only some of the rows are looked at, those of the least hashes."""
    monkeypatch.setattr(_look, "SAMPLED", sampled)
    tables.execute("""
        CREATE TABLE r AS SELECT m.*, t.x + 40 * sin(id * 7) AS near FROM m JOIN t USING (id);
        CREATE TABLE turned AS FROM r ORDER BY md5(id::VARCHAR);
        CREATE TABLE back AS SELECT near, x, region, age, id FROM r ORDER BY id DESC
        """)
    tables.execute("SET threads = 1")
    one = looked(ask(call("r")))
    tables.execute("SET threads = 2")
    two = looked(ask(call("r")))
    assert one == two
    assert len(one) > 10
    for other in ("turned", "back"):
        assert sorted(looked(ask(call(other)), "order"), key=str) == sorted(
            (row for row in one if row[0] != "order"), key=str
        )


def test_few_rows_are_drawn_of_a_large_table_and_tell_the_same(
    tables: duckdb.DuckDBPyConnection, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.execute("CREATE TABLE r AS SELECT m.*, 3 * t.x AS tripled FROM m JOIN t USING (id)")
    for sampled in (50, 299, 300, 301):
        monkeypatch.setattr(_look, "SAMPLED", sampled)
        assert ("tells", "tripled") in failed(ask(call("r"))), sampled


def test_every_column_key_and_order_are_looked_at_and_pass_in_a_safe_release(
    tables: duckdb.DuckDBPyConnection, ask: Ask
) -> None:
    rows = ask(call("m"))
    assert set(of_rule(rows, "tells")) == {"x", "age", "region", "id"}
    assert list(of_rule(rows, "order")) == [None]
    assert failed(rows) == set()


@pytest.mark.parametrize(
    ("release", "rule", "column"),
    [
        ("SELECT m.*, ln(t.x) AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.*, md5(t.x::VARCHAR) AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.*, DATE '2000-01-01' + t.x::INTEGER AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.*, {'plan': 'a', 'x': t.x} AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.*, [t.x] AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.*, encode(t.x::VARCHAR) AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.*, (t.x > 1100)::VARCHAR AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.*, t.x > 1100 AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.*, (10 * t.x)::HUGEINT AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.*, t.x::DECIMAL(18, 3) AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.*, if(t.x > 1200, NULL, 1) AS c FROM m JOIN t USING (id)", "tells", "c"),
        ("SELECT m.* REPLACE (if(t.x > 1150, NULL, m.age) AS age) FROM m JOIN t USING (id)", "tells", "age"),
        ("SELECT m.* REPLACE (if(t.x > 1200, NULL, m.x) AS x) FROM m JOIN t USING (id)", "tells", "x"),
        ("SELECT m.* FROM m JOIN t USING (id) ORDER BY t.x", "order", None),
        ("SELECT m.* FROM m JOIN t USING (id) ORDER BY m.region, t.x DESC", "order", None),
    ],
)
def test_what_tells_fails_by_its_rule(
    tables: duckdb.DuckDBPyConnection, ask: Ask, release: str, rule: str, column: str | None
) -> None:
    tables.execute(f"CREATE TABLE r AS {release}")
    more = ", keep=['c']" if column == "c" else ""
    rows = ask(call("r", more))
    assert (rule, column) in failed(rows)
    assert " x, read " in of_rule(rows, rule)[column]["why"]


@pytest.mark.parametrize(
    ("kind", "value", "other"), [("DOUBLE", "0.0", "'-0.0'"), ("INTERVAL", "INTERVAL 30 DAY", "INTERVAL 1 MONTH")]
)
def test_equal_values_that_are_written_otherwise_for_some_tell_who(
    tables: duckdb.DuckDBPyConnection, ask: Ask, kind: str, value: str, other: str
) -> None:
    tables.execute(f"""
        ALTER TABLE t ADD COLUMN c {kind}; UPDATE t SET c = {value};
        CREATE TABLE r AS SELECT m.*, if(t.x > 1100, ({other})::{kind}, c) AS c FROM m JOIN t USING (id)
        """)
    assert {column for _, column in failed(ask(call("r")))} == {"c"}


def test_the_why_says_how_it_was_read_and_what_to_do(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute("CREATE TABLE r AS SELECT m.*, t.x::VARCHAR AS c FROM m JOIN t USING (id) ORDER BY t.x")
    rows = ask(call("r"))
    assert of_rule(rows, "tells")["c"]["why"] == "tells x, read as a number, to the last digit; drop it, or mask it"
    assert of_rule(rows, "order")[None]["why"] == "tells x, read as it is; order the rows anew"


def test_no_row_says_a_value_of_the_original(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute("CREATE TABLE r AS SELECT m.*, t.disease || ' secretly' AS c FROM m JOIN t USING (id)")
    told = " ".join(row["why"] for row in ask(f"FROM release_check('t', 'r', conf=['x', 'disease'], key='id', {OFF})"))
    assert "secretly" not in told
    assert not any(level in told for level in ("flu", "gout", "asthma"))


def spec(**more: Any) -> LookSpec:
    own: dict[str, Any] = {
        "columns": ["x"],
        "categories": [],
        "features": [],
        "pieces": [None],
        "others": [],
        "unseen": [],
    }
    own |= {"key_columns": [], "fixed": [], "asked": [*_look.RULES], "limits": {}} | more
    return LookSpec("f", "t", "r", ["id"], **own)


def test_of_no_rows_nothing_can_be_judged() -> None:
    rows = judge(spec(), LookTold(0, None, None, None, [], None))
    assert {row["rule"] for row in rows} == {"tells", "order"}
    assert {row["value"] for row in rows} == {None}
    assert {row["why"] for row in rows} == {"fewer than 20 rows: what they tell cannot be judged"}


def test_rows_are_of_rules_that_are_asked_with_limits_of_the_call() -> None:
    n = 50
    x, y = np.random.default_rng(1).normal(size=(2, n))
    told = LookTold(
        n,
        np.array([n, n]),
        [[n, 2.0, 0.0, 0.0, 0.0, 0.0]],
        np.concatenate([np.arange(n), np.arange(n), x, y]),
        [["a", "b"] * 25],
        None,
    )
    other = Other("c", "VARCHAR", old=True, declared="")
    fixed = [Row("declared", "x", 0.0, 0.0, "masked")]
    rows = judge(spec(others=[other], fixed=fixed, limits={"identifier": 0.5}), told)
    assert {row["rule"] for row in rows} == {"declared", "identifier", "pattern", "tells", "order", "copy"}
    assert {row["at_most"] for row in rows if row["rule"] == "identifier"} == {0.5}
    assert all(set(row) == {result.name for result in ROWS} for row in rows)
    places = [row["place"] for row in rows]
    assert len(set(places)) == len(places)
    few = judge(spec(others=[other], fixed=fixed, asked=["pattern"]), told)
    assert [row["rule"] for row in few] == ["pattern"]
