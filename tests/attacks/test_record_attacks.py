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
    monkeypatch.setattr(_record_attacks, "MOST_PROBABILISTIC", ROWS)
    found = linked(attack, "r", f", sample={ROWS}")
    for method, ours in (("distance", "nearest"), ("mahalanobis", "mahalanobis")):
        [(share,)] = noisy.execute(
            f"SELECT linked_share FROM record_linkage('r', 't', conf=['income','debt'], key='id', method='{method}')"
        ).fetchall()
        assert found[ours]["success"] == pytest.approx(share, abs=0.02)
        assert found[ours]["baseline"] == pytest.approx(1 / ROWS, rel=1e-3)
    assert found["assignment"]["success"] > found["nearest"]["success"]
    assert found["fellegi_sunter"]["success"] > 0.05
    assert found["two_sources"]["says"].startswith("not asked: it takes known columns")


def test_what_takes_too_many_pairs_is_told(
    noisy: duckdb.DuckDBPyConnection, attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_record_attacks, "MOST_PROBABILISTIC", ROWS - 1)
    monkeypatch.setattr(_record_attacks, "BLOCK", 500)
    found = linked(attack, "r", ", sample=200")
    assert found["fellegi_sunter"]["success"] is None
    assert "there are 3,000" in found["fellegi_sunter"]["says"]
    assert found["assignment"]["rows"] == 500
    assert "500 of 3,000 people, so that all would give a smaller share" in found["assignment"]["says"]


def test_two_sources_meet_in_a_copy_and_not_in_a_mask(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    control = ", control='others', known=['age','zip','segment']"
    copied = linked(attack, "t", control)["two_sources"]
    assert copied["success"] > 0.9
    assert copied["control"] < 0.1
    people.execute("CREATE TABLE r AS FROM egadp_mask('t', conf=['income','debt'], key='id')")
    masked = linked(attack, "r", control)["two_sources"]
    assert masked["lower"] <= 0.01


def test_members_of_a_sample_of_strangers_cannot_be_told(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    """A release of other people's records with the keys of t: nobody of t is in it."""
    people.execute(f"CREATE TABLE strangers AS SELECT * REPLACE (id - {ROWS} AS id) FROM others")
    [row] = attack("strangers", "membership", ", control='(FROM t WHERE id % 2 = 0)'")
    assert row["lower"] <= 0 <= row["upper"]
    assert row["baseline"] == 0.5


def test_members_of_a_copy_are_told(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    [row] = attack("t", "membership", ", control='others'")
    assert row["success"] > 0.99
    assert row["upper"] <= 0.5
    assert row["lower"] > 0.48


def test_control_people_singled_out_count(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    """A control that is the original itself is singled out as often."""
    [row] = attack("t", "singling_out", ", control='(FROM t)'")
    assert row["control"] == row["success"]
    assert row["gain"] == 0
