"""Which columns an intruder knows by default, and how each kind is read."""

from __future__ import annotations

import duckdb
import pytest

from tests.attacks.conftest import Attack

pytestmark = pytest.mark.core


def test_names_of_many_levels_are_not_known_by_default(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("CREATE OR REPLACE TABLE t AS SELECT * EXCLUDE (debt, zip), 'n' || id AS name FROM t")
    [row] = [row for row in attack("t", "linkability") if row["method"] == "nearest"]
    assert row["baseline"] < 1
    [row] = [row for row in attack("t", "linkability", ", known=['name']") if row["method"] == "nearest"]
    assert row["baseline"] == 1


@pytest.mark.parametrize("kind", ["VARCHAR", "BOOLEAN", "DATE", "DECIMAL(9, 2)", "ENUM ('0', '1')"])
def test_columns_of_every_kind_are_attacked(people: duckdb.DuckDBPyConnection, attack: Attack, kind: str) -> None:
    value = "DATE '2020-01-01' + CAST(id % 2 AS INTEGER)" if kind == "DATE" else f"CAST(id % 2 AS VARCHAR)::{kind}"
    people.execute(f"CREATE OR REPLACE TABLE t AS SELECT *, {value} AS kind FROM t")
    [row] = attack("t", "inference", ", known=['age']", conf="['kind']")
    assert row["success"] == 1
    assert row["baseline"] < 0.6


def test_all_that_a_row_shows_is_read(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    """Digits in a text, its length, what is NULL and the place in the table tell of income, though income is gone."""
    for note in (
        "'no. ' || round(income)",
        "repeat('x', CAST(2000 + income AS INTEGER))",
        "CASE WHEN income > 500 THEN 'a' END",
    ):
        people.execute(f"CREATE OR REPLACE TABLE r AS SELECT * REPLACE (0.0 AS income), {note} AS note FROM t")
        [row] = attack("r", "inference", ", known=['segment']")
        assert row["lower"] > 0.03, note
    people.execute("CREATE OR REPLACE TABLE r AS SELECT * REPLACE (0.0 AS income) FROM t ORDER BY t.income")
    [row] = attack("r", "inference", ", known=['segment']")
    assert row["lower"] > 0.5


def test_types_that_differ_are_refused(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("CREATE TABLE r AS SELECT * REPLACE ('y' || age AS age) FROM t")
    with pytest.raises(
        duckdb.InvalidInputException, match=r'known names column "age", which is of type INTEGER in "t"'
    ):
        attack("r", "order", ", known=['age']")
    people.execute("CREATE TABLE c AS SELECT * REPLACE ('y' || age AS age) FROM others")
    with pytest.raises(duckdb.InvalidInputException, match=r'column "age" is of type VARCHAR in control'):
        attack("t", "order", ", control='c'")
    assert attack("r", "order")  # by default it is not known


def test_null_in_any_column_is_no_obstacle(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    for column in ("age", "segment", "income"):
        people.execute(f"UPDATE t SET {column} = NULL WHERE hash(id, '{column}') % 7 = 0")
    by = {row["method"]: row for row in attack("t", "", ", control='others'")}
    assert by["nearest"]["success"] > 0.99
    assert by["boosted_trees"]["success"] > 0.99
    assert by["boosted_trees"]["rows"] < 2000  # those who have an income
