"""Who is attacked: drawn by key, whatever the order of rows, and never more than asked for."""

from __future__ import annotations

import duckdb
import pytest

from tests.attacks.conftest import ROWS, Attack

pytestmark = pytest.mark.core


def test_so_many_are_attacked_as_asked_for(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    [row] = attack("t", "singling_out")
    assert row["rows"] == 2000
    [row] = attack("t", "singling_out", ", sample=150")
    assert row["rows"] == 150
    [row] = attack("t", "singling_out", ", sample=20000")
    assert row["rows"] == ROWS


def test_a_view_is_read_once_for_all_but_averaging(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    """Noise that changes at every read would part people from their records."""
    people.execute("CREATE VIEW live AS SELECT * REPLACE (income + 0.001 * random() AS income) FROM t")
    for row in attack("live", "linkability", ", known=['segment']"):
        if row["method"] in ("nearest", "mahalanobis", "assignment"):
            assert row["success"] > 0.99, row["method"]


def test_names_that_need_quotes(people: duckdb.DuckDBPyConnection) -> None:
    people.execute("""CREATE TABLE "my t" AS SELECT id AS "the id", income AS "se""lect", segment AS "from" FROM t""")
    found = people.execute(
        """FROM release_attack('"my t"', '"my t"', conf=['se"lect'], key='the id', known=['from'], sample=200)"""
    ).fetchall()
    assert {row[2] for row in found} == {None, 'se"lect'}


def test_keys_of_several_columns(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("CREATE TABLE two AS SELECT id // 10 AS a, id % 10 AS b, income, segment FROM t")
    found = people.execute(
        "SELECT method, success FROM release_attack('two', 'two', conf=['income'], key=['a','b'], known=['segment'], "
        "attacks=['linkability'])"
    ).fetchall()
    assert dict(found)["nearest"] == 1


def test_few_rows_are_no_obstacle(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("DELETE FROM t WHERE id > 2")
    for row in attack("t", "", ", control='others'"):
        assert row["says"]
