"""Attacks on values: order tells where rows were sorted, as a whole or by a category; small columns are told off."""

from __future__ import annotations

import duckdb
import pytest

from tests.attacks.conftest import Attack

pytestmark = pytest.mark.core


@pytest.mark.parametrize(
    ("order", "success"),
    [("income", 1.0), ("income DESC", 1.0), ("segment, income", 1.0), ("hash(id, 'x')", 0.1)],
)
def test_rows_that_were_sorted_tell(
    people: duckdb.DuckDBPyConnection, attack: Attack, order: str, success: float
) -> None:
    people.execute(
        f"CREATE TABLE r AS SELECT * REPLACE (0.0 AS income) FROM t ORDER BY {order.replace('income', 't.income')}"
    )
    [row] = attack("r", "order")
    assert row["success"] == pytest.approx(success, abs=0.05)
    assert row["baseline"] == pytest.approx(0.0975, abs=0.01)
    assert (row["lower"] > 0.5) == (success > 0.5)


def test_a_view_has_the_order_that_it_is_read_in(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    [row] = attack("(SELECT * REPLACE (0.0 AS income) FROM t ORDER BY t.income)", "order")
    assert row["success"] > 0.9


def test_categories_have_no_ranks_and_names_are_not_guessed(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("ALTER TABLE t ADD COLUMN name VARCHAR")
    people.execute("UPDATE t SET name = 'n' || id")
    found = {row["attack"]: row for row in attack("t", "inference','order", conf="['name']")}
    assert found["order"]["says"] == "not asked: categories have no ranks"
    assert "more than 100 levels" in found["inference"]["says"]


def test_a_column_that_is_all_null_is_told_off(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("UPDATE t SET income = NULL")
    for row in attack("t", "inference','order"):
        assert row["says"] == "not asked: fewer than 20 people have a value"


def test_r2_is_told_of_numbers(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    [row] = attack("t", "inference", ", known=['segment']")
    assert "within 0.1 sd" in row["says"]
    assert "R² 1.000 and" in row["says"]
