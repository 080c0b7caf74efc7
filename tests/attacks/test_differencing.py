"""Differencing: groups of one or two whose sums are kept give values away, and no others do."""

from __future__ import annotations

import duckdb
import pytest

from tests.attacks.conftest import ROWS, Attack

pytestmark = pytest.mark.core
KNOWN = ", known=['age','zip','segment']"


def small(con: duckdb.DuckDBPyConnection, group: str) -> float:
    [(share,)] = con.execute(
        f"SELECT coalesce(sum(n), 0) / {ROWS} FROM (SELECT count(*) AS n FROM t GROUP BY {group}) WHERE n <= 2"
    ).fetchall()
    return float(share)


def test_a_copy_gives_away_who_is_alone_or_two(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    [row] = attack("t", "differencing", KNOWN)
    assert row["success"] == pytest.approx(small(people, "age, zip, segment"), abs=1e-4)
    assert row["lower"] > 0.4
    assert "by age x zip x segment" in row["says"]
    assert row["rows"] == ROWS


def test_sums_that_are_kept_by_group_give_its_members_away(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    """Incomes are changed within groups, so that groups of one keep theirs and groups of two their sum."""
    people.execute(
        "CREATE TABLE r AS SELECT * REPLACE (avg(income) OVER (PARTITION BY age, zip, segment) AS income) FROM t"
    )
    [row] = attack("r", "differencing", KNOWN)
    assert row["success"] == pytest.approx(small(people, "age, zip, segment"), abs=1e-4)


def test_a_mask_that_keeps_the_sum_of_all_gives_nothing_away(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("CREATE TABLE r AS FROM egadp_mask('t', conf=['income'], key='id')")
    [row] = attack("r", "differencing", KNOWN)
    assert row["success"] < 0.001
    [row] = attack("r", "differencing", ", known=['debt']")
    assert row["says"] == "not asked: no known column makes groups; the sum over all rows is kept"
    assert row["success"] is None


def test_values_that_all_have_are_no_gain(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("UPDATE t SET income = 7")
    [row] = attack("t", "differencing", KNOWN)
    assert row["success"] > 0.5
    assert row["gain"] == pytest.approx(0, abs=0.01)


def test_null_keeps_a_sum_from_telling(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("UPDATE t SET income = NULL")
    [row] = attack("t", "differencing", KNOWN)
    assert row["success"] == 0
