"""l_diversity against counts by pandas and entropies by scipy, in Python and in DuckDB's own shell."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from ppduck.anonymity.l_diversity import MACRO
from tests.anonymity.alike import (
    ODD_NAMES,
    PATIENTS,
    SETTINGS,
    SMALL,
    TWO,
    alike,
    counts_of,
    groups_of,
    has_registered_columns,
    line,
    quasi_refused,
    renamed,
    rows_of,
    sensitive_refused,
    sources,
    text,
    uneven,
    unsaid_by_the_shell,
)
from tests.test_plain_sql import close, shell

pytestmark = pytest.mark.core
REFUSED = [
    *quasi_refused("l_diversity", ", 's'"),
    *quasi_refused("l_diversity", ", 's', l := 4"),
    *sensitive_refused("l_diversity"),
    *(
        (f"l_diversity('{TWO}', ['a'], 's', l := {many})", r"l must be a whole number of at least 1\. Give the number")
        for many in ("0", "-2", "1.5", "'two'", "'inf'::DOUBLE", "'nan'::DOUBLE", "[2]")
    ),
    *(
        (f"l_diversity('{TWO}', ['a'], 's', c := {c})", r"l_diversity: c must be a number above 0\. Give the factor")
        for c in ("0", "-1", "'much'", "'inf'::DOUBLE", "'nan'::DOUBLE", "[2]")
    ),
]


def diversity(
    frame: pd.DataFrame, qi: list[str], sensitive: str, wanted: int = 2, c: float | None = None
) -> dict[str, Any]:
    found = [counts_of(group[sensitive]) for group in groups_of(frame, qi)]
    recursive = max(r[0] / r[wanted - 1 :].sum() if len(r) >= wanted else math.inf for r in found)
    spread = min(entropy(r) for r in found)
    return {
        "distinct_l": min(map(len, found)),
        "entropy_l": math.exp(spread),
        "frequency_l": 1 / max(r[0] / r.sum() for r in found),
        "recursive_c": recursive,
        "rows": len(frame),
        "groups": len(found),
        "homogeneous_rows": sum(int(r.sum()) for r in found if len(r) == 1),
        "passed_distinct": all(len(r) >= wanted for r in found),
        "passed_entropy": spread >= math.log(wanted) - 1e-9,
        "passed_frequency": all(r[0] * wanted <= r.sum() * (1 + 1e-9) for r in found),
        "passed_recursive": None if c is None else all(r[0] < c * r[wanted - 1 :].sum() for r in found),
    }


def test_the_published_table_is_2_diverse(plain: duckdb.DuckDBPyConnection) -> None:
    assert line(plain, f"l_diversity({text(PATIENTS)}, ['age'], 'disease')") == {
        **{"distinct_l": 2, "entropy_l": close(4 / 3**0.75), "frequency_l": 4 / 3, "recursive_c": 3},
        **{"rows": 8, "groups": 2, "homogeneous_rows": 0},
        **{"passed_distinct": True, "passed_entropy": False, "passed_frequency": False, "passed_recursive": None},
    }


@pytest.mark.parametrize("qi", [["a"], ["a", "b"], ["b", "a"]], ids=len)
@pytest.mark.parametrize("wanted", [1, 2, 3, 7, 4000])
def test_against_pandas(plain: duckdb.DuckDBPyConnection, qi: list[str], wanted: int) -> None:
    data = uneven()
    found = line(plain, f"l_diversity({text(rows_of(data))}, {qi}, 's', l := {wanted}, c := 1.5)")
    assert found == alike(diversity(data, qi, "s", wanted, 1.5))


@settings(max_examples=60, deadline=None)
@given(rows=SMALL, wanted=st.integers(1, 5), c=st.sampled_from([0.25, 0.5, 1, 1.5, 3]))
def test_any_small_table(
    plain: duckdb.DuckDBPyConnection, rows: list[tuple[int | None, ...]], wanted: int, c: float
) -> None:
    data = pd.DataFrame(rows, columns=["a", "b", "s"], dtype="Int64")
    found = line(plain, f"l_diversity({text(rows_of(data))}, ['a', 'b'], 's', l := {wanted}, c := {c})")
    assert found == alike(diversity(data, ["a", "b"], "s", wanted, c))


@pytest.mark.parametrize("many", [1, 2, 3, 7, 10, 49, 1000])
@pytest.mark.parametrize("times", [1, 3, 7])
def test_equally_frequent_values_are_as_diverse_as_they_are_many(
    plain: duckdb.DuckDBPyConnection, many: int, times: int
) -> None:
    rows = text(f"(SELECT i % 3 AS a, i % {3 * many} // 3 AS s FROM range({3 * many * times}) AS r(i))")
    found = line(plain, f"l_diversity({rows}, ['a'], 's', l := {many})")
    assert found["distinct_l"] == found["entropy_l"] == many
    assert found["frequency_l"] == close(many)
    assert found["passed_distinct"] is found["passed_entropy"] is True
    assert line(plain, f"l_diversity({rows}, ['a'], 's', l := {many + 1})")["passed_entropy"] is False


def test_recursive_diversity_is_strict(plain: duckdb.DuckDBPyConnection) -> None:
    """Three of the most frequent value against ten of the two others: 0.3 as it is written, and as it is divided."""
    rows = text("(SELECT 1 AS a, unnest([1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5]) AS s)")
    found = [line(plain, f"l_diversity({rows}, ['a'], 's', l := 2, c := {c})") for c in ("0.3", "0.3000001", "'0.2'")]
    assert [row["recursive_c"] for row in found] == [0.3] * 3
    assert [row["passed_recursive"] for row in found] == [False, True, False]


def test_too_few_values_for_any_c(plain: duckdb.DuckDBPyConnection) -> None:
    rows = text("(SELECT unnest([1, 1, 1, 2]) AS a, unnest([1, 2, 2, NULL]) AS s)")
    found = line(plain, f"l_diversity({rows}, ['a'], 's', c := 1e300)")
    assert (found["recursive_c"], found["passed_recursive"]) == (math.inf, False)
    assert (found["distinct_l"], found["homogeneous_rows"], found["entropy_l"]) == (1, 1, 1)


def test_null_is_a_value_like_others(plain: duckdb.DuckDBPyConnection) -> None:
    rows = text("(SELECT unnest([NULL, NULL, 1, 1]) AS a, NULL AS b, unnest([NULL, 5, NULL, 5]) AS s)")
    assert line(plain, f"l_diversity({rows}, ['a', 'b'], 's')")["entropy_l"] == 2


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_change_nothing(plain: duckdb.DuckDBPyConnection, setting: str) -> None:
    data = uneven()
    plain.execute(f"SET {setting}")
    try:
        for wanted in (1, 2, 3):
            found = line(plain, f"l_diversity({text(rows_of(data))}, ['a', 'b'], 's', {wanted}, 2)")
            assert found == alike(diversity(data, ["a", "b"], "s", wanted, 2))
    finally:
        plain.execute(f"RESET {setting.split(' ')[0]}")


@pytest.mark.parametrize("end", ["", ", l := 3, c := 2"])
def test_columns_are_those_that_are_registered(plain: duckdb.DuckDBPyConnection, end: str) -> None:
    call = f"l_diversity({text(rows_of(uneven(20)))}, ['a', 'b'], 's'{end})"
    has_registered_columns(plain, call, MACRO)


def test_every_way_to_name_the_rows(plain: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    data = uneven()
    for source in sources(plain, tmp_path, data):
        found = line(plain, f"l_diversity({text(source)}, ['a', 'b'], 's')")
        assert found == alike(diversity(data, ["a", "b"], "s")), source


@pytest.mark.parametrize("names", ODD_NAMES)
def test_odd_column_names(plain: duckdb.DuckDBPyConnection, names: tuple[str, str, str]) -> None:
    data = uneven(120)
    qi, sensitive = f"[{text(names[0])}, {text(names[1])}]", text(names[2])
    found = line(plain, f"l_diversity({renamed(data, names)}, {qi}, {sensitive}, l := 3)")
    assert found == alike(diversity(data, ["a", "b"], "s", 3))


def test_more_than_a_dozen_quasi_identifiers(plain: duckdb.DuckDBPyConnection) -> None:
    data = pd.DataFrame(np.random.default_rng(2).integers(0, 2, (60, 13)), columns=[f"c{i}" for i in range(13)])
    qi = list(data)[:-1]
    found = line(plain, f"l_diversity({text(rows_of(data))}, {qi}, 'c12')")
    assert found == alike(diversity(data, qi, "c12"))


def test_a_connection_with_ppduck_has_it(con: duckdb.DuckDBPyConnection) -> None:
    data = uneven()
    con.execute(f"CREATE TABLE patients AS FROM {rows_of(data)}")
    assert line(con, "l_diversity('patients', qi=['a'], sensitive='s', l=3)") == alike(diversity(data, ["a"], "s", 3))
    assert MACRO.signature == "l_diversity(tbl, qi, sensitive, l := 2, c := NULL)"


@pytest.mark.parametrize(("call", "message"), REFUSED)
@pytest.mark.parametrize("wanted", ["*", "count(*)"])
def test_what_is_refused(loaded: duckdb.DuckDBPyConnection, wanted: str, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        loaded.execute(f"SELECT {wanted} FROM {call}").fetchall()


def test_a_missing_column_is_named(plain: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.BinderException, match='"absent" not found'):
        plain.execute(f"FROM l_diversity('{TWO}', ['a'], 'absent')")


def test_the_shell_counts_alike(tmp_path: Path) -> None:
    data = uneven()
    data.to_csv(tmp_path / "my data.csv", index=False)
    found = shell("FROM l_diversity('my data.csv', ['a', 'b'], 's', l := 1, c := 2);", tmp_path)
    assert found == [alike(diversity(data, ["a", "b"], "s", 1, 2))]


def test_the_shell_says_what_is_wrong(tmp_path: Path) -> None:
    assert unsaid_by_the_shell(REFUSED, tmp_path) == []
