"""Counts of rows are whole numbers, or expected ones; sampling weights are refused, or told of where they are whole."""

from __future__ import annotations

import warnings
from pathlib import Path

import duckdb
import pytest

from ppduck import PpduckWarning

pytestmark = pytest.mark.core

TAKING = [
    "independence_test('t', 'a', 'b', count='n')",
    "loglinear_fit('t', ['a','b'], 'a, b', count='n')",
    "loglinear_models('t', ['a','b'], count='n')",
    "rr_classifier_check('t', ['a'], class='b', randomized=['a'], count='n')",
    "rr_conclusions('t', 'a', 'b', count='n')",
    "attribute_disclosure('t', qi=['a'], sensitive='b', p={'a': 0.9}, count='n')",
    "rr_optimize('t', qi=['a'], sensitive='b', tau=0.9, count='n')",
]


@pytest.fixture
def counted(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute("CREATE TABLE t AS SELECT * FROM (VALUES (0, 0, 30), (0, 1, 10), (1, 0, 5), (1, 1, 40)) v(a, b, n)")
    return con


@pytest.mark.parametrize("call", TAKING)
def test_counts_are_taken(counted: duckdb.DuckDBPyConnection, call: str) -> None:
    assert counted.execute(f"FROM {call}").fetchall()


@pytest.mark.parametrize("call", TAKING)
@pytest.mark.parametrize(
    ("value", "kind"),
    [("-1", "a negative number"), ("NULL", "NULL"), ("'inf'::DOUBLE", "no finite number")],
)
def test_what_is_no_count_is_refused(counted: duckdb.DuckDBPyConnection, call: str, value: str, kind: str) -> None:
    counted.execute(f"CREATE OR REPLACE TABLE t AS SELECT a, b, CASE WHEN n = 5 THEN {value} ELSE n END AS n FROM t")
    with pytest.raises(duckdb.InvalidInputException, match=f'"n", which holds {kind} in 1 of 4 rows'):
        counted.execute(f"FROM {call}").fetchall()


@pytest.mark.parametrize("call", TAKING)
def test_expected_counts_may_have_fractions_and_sampling_weights_not(
    counted: duckdb.DuckDBPyConnection, call: str
) -> None:
    """Expected counts stand once for each combination, weights for each of the rows."""
    counted.execute("CREATE OR REPLACE TABLE t AS SELECT a, b, n + 0.5 AS n FROM t")
    assert counted.execute(f"FROM {call}").fetchall()
    counted.execute("INSERT INTO t VALUES (0, 0, 1)")
    with pytest.raises(
        duckdb.InvalidInputException, match=r'"n", which holds a fraction in 4 of 5 rows.*only 4 combinations.*sum'
    ):
        counted.execute(f"FROM {call}").fetchall()


def test_sampling_weights_are_told_of(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    con.execute(f"CREATE TABLE adult AS FROM '{reference_data}/adult.parquet' LIMIT 5000")
    call = "FROM independence_test('adult', 'sex', 'race', count='fnlwgt')"
    with pytest.warns(PpduckWarning, match='count "fnlwgt" looks like a sampling weight'):
        con.execute(call).fetchall()


@pytest.mark.parametrize("weight", ["1000", "[120, 350, 80][1 + i % 3]"])
def test_weights_of_a_few_strata_are_told_of(con: duckdb.DuckDBPyConnection, weight: str) -> None:
    con.execute(f"CREATE TABLE t AS SELECT i % 2 AS a, i // 2 % 2 AS b, {weight} AS w FROM range(300) r(i)")
    with pytest.warns(PpduckWarning, match='count "w" looks like a sampling weight'):
        con.execute("FROM independence_test('t', 'a', 'b', count='w')").fetchall()


def test_counts_of_near_size_in_more_columns_than_asked_for_are_counts(con: duckdb.DuckDBPyConnection) -> None:
    """100 groups of about ten rows: fewer than eleven different counts would be a strange chance."""
    con.execute(
        "CREATE TABLE t AS SELECT g % 2 AS a, g // 2 % 2 AS b, g, count(*) AS n "
        "FROM (SELECT hash(i + 7) % 100 AS g FROM range(1000) r(i)) GROUP BY ALL"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert con.execute("FROM independence_test('t', 'a', 'b', count='n')").fetchall()


def test_a_table_of_counts_is_not(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    con.execute(f"CREATE TABLE coil AS FROM '{reference_data}/coil_binary_counts.parquet'")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert con.execute("FROM independence_test('coil', 'A', 'B', count='n')").fetchall()
