"""Averaging: noise that is drawn at every read is told beside one read, keyed noise gains nothing."""

from __future__ import annotations

import duckdb
import pytest

from tests.attacks.conftest import Attack

pytestmark = pytest.mark.core


def test_fresh_noise_is_averaged_out(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("CREATE VIEW live AS SELECT * REPLACE (income + 2000 * random() AS income) FROM t")
    [row] = attack("live", "averaging")
    [(gain, one, mean)] = people.execute(
        "SELECT gain, r2_one, r2_mean FROM averaging_attack('t', 'live', conf=['income'], key='id')"
    ).fetchall()
    assert row["gain"] == pytest.approx(gain, abs=0.05)
    assert (row["baseline"], row["success"]) == pytest.approx((one, mean), abs=0.05)
    assert 0 < row["lower"] < row["gain"] < row["upper"]
    assert row["says"].endswith("the release gives this away")


def test_keyed_noise_is_not(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("CREATE VIEW keyed AS FROM noise_mask('t', conf=['income'], level=0.5, key='id')")
    [row] = attack("keyed", "averaging")
    assert (row["gain"], row["lower"], row["upper"]) == pytest.approx((0, 0, 0), abs=1e-9)
    assert "no more than without it" in row["says"]


def test_a_category_has_no_mean_and_a_table_one_read(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("CREATE VIEW live AS FROM t")
    by = {row["column_name"]: row for row in attack("live", "averaging", conf="['segment','income']")}
    assert by["segment"]["says"] == "not asked: categories have no mean"
    assert by["income"]["gain"] == 0
    [row] = attack("t", "averaging")
    assert row["says"] == "not asked: a table is the same at every read"
    [row] = attack("live", "averaging", conf="['segment']")
    assert (row["success"], row["says"].startswith("not asked: conf has no numbers")) == (None, True)
