"""The rows that are looked at: the same ones at every call, from everywhere, and never told."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from tests.policy.proposals import EGADP, PEOPLE, Ask

pytestmark = pytest.mark.core


def test_no_value_is_told(con: duckdb.DuckDBPyConnection) -> None:
    odd = ["SENTINEL-4711", "sentinel4711@example.org", "+49 471 14711471"]
    columns = [
        f"CASE WHEN i = 7 THEN '{value}' ELSE 'v' || i % {n} END AS t{j}{n}"
        for j, value in enumerate(odd)
        for n in (3, 900)
    ]
    columns += [
        "CASE WHEN i = 7 THEN 47114711 ELSE i END AS n",
        "CASE WHEN i = 7 THEN DATE '4711-04-07' ELSE DATE '2020-01-01' END AS d",
    ]
    con.execute(f"CREATE TABLE t AS SELECT i AS id, {', '.join(columns)} FROM range(1000) r(i)")
    told = str(con.execute("FROM suggest_policy('t')").fetchall())
    assert "4711" not in told
    assert "sentinel" not in told.lower()


def test_the_same_of_a_view_a_file_a_select_and_any_threads(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    con.execute(PEOPLE)
    path = tmp_path / "people.parquet"
    con.execute(f"COPY people TO '{path}'")
    con.execute('CREATE SCHEMA "a b"; CREATE VIEW "a b"."the view" AS FROM people')
    rows = {}
    for table, threads in (("people", 1), ("people", 2), (str(path), 2), ('"a b"."the view"', 1), ("(FROM people)", 2)):
        con.execute(f"SET threads = {threads}")
        found = con.execute("FROM suggest_policy($1)", [table]).fetchall()
        rows[(table, threads)] = [row for row in found if row[0] is not None]
    assert len(rows) == 5
    assert all(found == rows[("people", 1)] for found in rows.values())


def test_a_large_table_is_sampled_from_everywhere(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """The first rows of these have one level, and all of them many."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, 'shop ' || i // 30000 AS shop, sin(i) + 5 AS x FROM range(300000) r(i)"
    )
    first, again = (ask("FROM suggest_policy('t')") for _ in range(2))
    assert first == again
    [looked_at] = re.findall(r"types and ([\d,]+) of about 300,000 rows", first[0]["reason"])
    assert 9_000 < int(looked_at.replace(",", "")) < 11_000
    assert next(row["reason"] for row in first if row["column_name"] == "shop").startswith("10 levels")
    of_view = ask("FROM suggest_policy('(FROM t)')")
    assert "types and the first 10,000 rows" in of_view[0]["reason"]


def test_wide_tables(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    numbers = ", ".join(f"sin(i * {j} + {j}) + 9 AS x{j}" for j in range(1, 200))
    con.execute(f"CREATE TABLE t AS SELECT i AS id, {numbers} FROM range(3000) r(i)")
    found = ask("FROM suggest_policy('t')")
    assert sum(row["treatment"] == EGADP for row in found) == 199
