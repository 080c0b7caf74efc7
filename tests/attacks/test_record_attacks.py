"""Attacks on records: methods agree with record_linkage(), limits are told, members are told from others by chance."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from ppduck.attacks import _record_attacks
from tests.attacks.conftest import ROWS, Attack

pytestmark = pytest.mark.core


def linked(attack: Attack, release: str, more: str = "", conf: str = "['income','debt']") -> dict[str, dict[str, Any]]:
    return {row["method"]: row for row in attack(release, "linkability", more, conf)}


@pytest.fixture
def noisy(people: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    people.execute("ALTER TABLE t DROP COLUMN age")
    people.execute("ALTER TABLE t DROP COLUMN zip")
    people.execute("ALTER TABLE t DROP COLUMN segment")
    people.execute("CREATE TABLE r AS FROM noise_mask('t', conf=['income','debt'], level=0.01, key='id')")
    return people


def test_the_nearest_are_those_of_record_linkage(
    noisy: duckdb.DuckDBPyConnection, attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That seeks originals of masked records, and this masked records of originals."""
    rows = 1_200
    for table in ("t", "r"):
        noisy.execute(f"DELETE FROM {table} WHERE id >= {rows}")
    monkeypatch.setattr(_record_attacks, "MOST_PROBABILISTIC", rows)
    found = linked(attack, "r", f", sample={rows}")
    for method, ours in (("distance", "nearest"), ("mahalanobis", "mahalanobis")):
        [(share,)] = noisy.execute(
            f"SELECT linked_share FROM record_linkage('r', 't', conf=['income','debt'], key='id', method='{method}')"
        ).fetchall()
        assert found[ours]["success"] == pytest.approx(share, abs=0.02)
        assert found[ours]["baseline"] == pytest.approx(1 / rows, rel=1e-3)
    assert found["assignment"]["success"] > found["nearest"]["success"]
    assert found["fellegi_sunter"]["success"] > 0.05
    assert found["two_sources"]["says"].startswith("not asked: it takes known columns")


def test_of_too_many_pairs_a_block_is_drawn_and_told(
    noisy: duckdb.DuckDBPyConnection, attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_record_attacks, "MOST_PROBABILISTIC", ROWS - 1)
    monkeypatch.setattr(_record_attacks, "PROBABILISTIC_BLOCK", 400)
    monkeypatch.setattr(_record_attacks, "MOST_MATCHED", ROWS - 1)
    monkeypatch.setattr(_record_attacks, "BLOCK", 500)
    found = linked(attack, "r", ", sample=200")
    for method, size in (("fellegi_sunter", 400), ("assignment", 500)):
        assert found[method]["rows"] == size
        assert found[method]["success"] > found[method]["baseline"]
        assert f"{size} of 3,000" in found[method]["says"]
        assert "so that all would give a smaller share" in found[method]["says"]


def test_all_rows_are_matched_up_to_some_thousands(
    noisy: duckdb.DuckDBPyConnection, attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_record_attacks, "MOST_MATCHED", ROWS)
    found = linked(attack, "r", ", sample=200")["assignment"]
    assert found["rows"] == ROWS
    assert "so that all" not in found["says"]


def test_columns_that_tell_nothing_do_not_mislead(
    people: duckdb.DuckDBPyConnection, attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of incomes that were dealt out anew, weighing by age and zip is as good as it gets."""
    monkeypatch.setattr(_record_attacks, "PROBABILISTIC_BLOCK", 1_000)
    people.execute(
        "CREATE TABLE r AS SELECT t.* REPLACE (other.income AS income) FROM (SELECT *, row_number() OVER (ORDER BY "
        "hash(id, 'a')) AS place FROM t) t JOIN (SELECT income, row_number() OVER (ORDER BY hash(id, 'b')) AS place "
        "FROM t) other USING (place)"
    )
    found = linked(attack, "r", ", known=['age','zip','segment']", "['income']")["fellegi_sunter"]
    assert found["success"] > 0.05
    assert found["lower"] <= 0 <= found["upper"]


def test_two_sources_meet_in_a_copy_and_not_in_a_mask(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    control = ", control='others', known=['age','zip','segment']"
    copied = linked(attack, "t", control)["two_sources"]
    assert copied["success"] > 0.9
    assert copied["control"] < 0.1
    people.execute("CREATE TABLE r AS FROM egadp_mask('t', conf=['income','debt'], key='id')")
    masked = linked(attack, "r", control)["two_sources"]
    assert masked["lower"] <= 0.01


def test_members_of_a_sample_of_strangers_cannot_be_told(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    """A release of other people's records with the keys of half of t: nobody of t is in it."""
    people.execute("CREATE TABLE control AS FROM t WHERE id % 2 = 0")
    people.execute("DELETE FROM t WHERE id % 2 = 0")
    people.execute(f"CREATE TABLE strangers AS SELECT * REPLACE (id - {ROWS} AS id) FROM others WHERE id % 2 = 1")
    [row] = attack("strangers", "membership", ", control='control'")
    assert row["lower"] <= 0 <= row["upper"]
    assert row["baseline"] == 0.5


def test_members_of_a_copy_are_told(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    [row] = attack("t", "membership", ", control='others'")
    assert row["success"] > 0.99
    assert row["upper"] <= 0.5
    assert row["lower"] > 0.48


def test_control_people_singled_out_count(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    """Everybody has a double among others, by a name and next to the same income: who is singled out in one is in both."""
    for table in ("t", "others"):
        people.execute(
            f"CREATE OR REPLACE TABLE {table} AS SELECT id, 'n' || (id % {ROWS}) AS name, "
            f"id % {ROWS} + debt / 100 AS income FROM {table}"
        )
    [row] = attack("t", "singling_out", ", control='others', known=['name']")
    assert row["control"] == row["success"] == 1
    assert row["baseline"] < 0.5
    assert row["gain"] == 0
