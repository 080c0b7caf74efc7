"""t_closeness against distances by numpy and scipy, in Python and in DuckDB's own shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy.stats import wasserstein_distance

from ppduck.anonymity.t_closeness import MACRO
from tests.anonymity.alike import (
    ODD_NAMES,
    PATIENTS,
    SETTINGS,
    SMALL,
    TWO,
    alike,
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
BOTH = pytest.mark.parametrize("ordered", [False, True], ids=["variational", "ordered"])
REFUSED = [
    *quasi_refused("t_closeness", ", 's'"),
    *quasi_refused("t_closeness", ", 's', ordered := true"),
    *sensitive_refused("t_closeness"),
    *(
        (f"t_closeness('{TWO}', ['a'], 's', ordered := {ordered})", r"ordered must be true or false\. Say whether")
        for ordered in ("'upwards'", "[true]")
    ),
]


def closeness(frame: pd.DataFrame, qi: list[str], sensitive: str, ordered: bool = False) -> dict[str, Any]:
    """Every group against every level; the last level is that of NULL."""
    at, levels = pd.factorize(frame[sensitive], sort=True, use_na_sentinel=True)
    at = np.where(at < 0, len(levels), at)
    m = len(levels) + int((at == len(levels)).any())
    whole = np.bincount(at, minlength=m) / len(frame)
    distances, sizes = [], []
    for _, places in pd.Series(at).groupby([frame[name] for name in qi], dropna=False):
        share = np.bincount(places, minlength=m) / len(places)
        distance = (
            np.abs(np.cumsum(share - whole)).sum() / max(m - 1, 1) if ordered else np.abs(share - whole).sum() / 2
        )
        distances.append(distance)
        sizes.append(len(places))
    return {
        "t": max(distances),
        "mean_t": np.average(distances, weights=sizes),
        "rows": len(frame),
        "groups": len(sizes),
        "measure": "ordered" if ordered else "variational",
        "direction": "lower is safer",
    }


def test_the_published_table(plain: duckdb.DuckDBPyConnection) -> None:
    assert line(plain, f"t_closeness({text(PATIENTS)}, ['age'], 'disease')") == {
        **{"t": 0.125, "mean_t": 0.125, "rows": 8, "groups": 2, "measure": "variational"},
        "direction": "lower is safer",
    }


def test_the_published_salaries(plain: duckdb.DuckDBPyConnection) -> None:
    """Li, Li & Venkatasubramanian (2007): of nine salaries, a group of the lowest three and a group that is spread."""
    for group, distance in (([3, 4, 5], 0.375), ([6, 8, 11], 1 / 6)):
        rows = f"(SELECT salary, salary IN {tuple(group)} AS chosen FROM range(3, 12) AS r(salary))"
        found = line(plain, f"t_closeness({text(rows)}, ['chosen'], 'salary', ordered := true)")
        # The other six are half as far off on the other side, because the table is the mean of both.
        assert (found["t"], found["mean_t"]) == close((distance, distance / 3 + distance / 2 * 2 / 3))


@pytest.mark.parametrize("qi", [["a"], ["a", "b"], ["b", "a"]], ids=len)
@BOTH
def test_against_numpy(plain: duckdb.DuckDBPyConnection, qi: list[str], ordered: bool) -> None:
    data = uneven()
    found = line(plain, f"t_closeness({text(rows_of(data))}, {qi}, 's', ordered := {ordered})")
    assert found == alike(closeness(data, qi, "s", ordered))


@settings(max_examples=60, deadline=None)
@given(rows=SMALL)
def test_any_small_table(plain: duckdb.DuckDBPyConnection, rows: list[tuple[int | None, ...]]) -> None:
    data = pd.DataFrame(rows, columns=["a", "b", "s"], dtype="Int64")
    for ordered in (False, True):
        found = line(plain, f"t_closeness({text(rows_of(data))}, ['a', 'b'], 's', ordered := {ordered})")
        assert found == alike(closeness(data, ["a", "b"], "s", ordered))


def test_the_ordered_distance_is_that_of_scipy_where_levels_are_evenly_spaced(plain: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"a": rng.integers(0, 40, 2000), "s": rng.permutation(np.arange(2000) % 500)})
    found = line(plain, f"t_closeness({text(rows_of(data))}, ['a'], 's', ordered := true)")
    assert found["t"] == close(max(wasserstein_distance(group["s"], data["s"]) for _, group in data.groupby("a")) / 499)


@BOTH
def test_null_is_a_value_like_others(plain: duckdb.DuckDBPyConnection, ordered: bool) -> None:
    rows = text("(SELECT unnest([NULL, NULL, 1, 1]) AS a, unnest([NULL, 5, NULL, 5]) AS s)")
    assert line(plain, f"t_closeness({rows}, ['a'], 's', ordered := {ordered})")["t"] == 0


def test_one_group_and_one_level_are_at_no_distance(plain: duckdb.DuckDBPyConnection) -> None:
    one_group = text("(SELECT 1 AS a, hash(i) % 7 AS s FROM range(1000) AS r(i))")
    one_level = text("(SELECT i % 7 AS a, 'flu' AS s FROM range(1000) AS r(i))")
    for rows in (one_group, one_level):
        for ordered in (False, True):
            found = line(plain, f"t_closeness({rows}, ['a'], 's', ordered := {ordered})")
            assert (found["t"], found["mean_t"]) == (0, 0)


def test_groups_like_the_table_are_at_no_distance(plain: duckdb.DuckDBPyConnection) -> None:
    rows = text("(SELECT i % 21 // 7 AS a, least(i % 7, 4) AS s FROM range(2100) AS r(i))")
    for ordered in (False, True):
        assert line(plain, f"t_closeness({rows}, ['a'], 's', ordered := {ordered})")["t"] == 0


def test_levels_stand_in_the_order_of_their_type(plain: duckdb.DuckDBPyConnection) -> None:
    """As text 10 comes before 9, and high before low."""
    levels = "unnest([1, 1, 2, 2, 3]) AS a, unnest([1, 2, 2, 3, 3]) AS i"
    expected = closeness(pd.DataFrame({"a": [1, 1, 2, 2, 3], "s": [1, 2, 2, 3, 3]}), ["a"], "s", True)
    for s in ("[8, 9, 10][i]", "(['low', 'mid', 'high'][i])::ENUM('low', 'mid', 'high')", "DATE '2024-01-01' + i"):
        rows = text(f"(SELECT a, {s} AS s FROM (SELECT {levels}))")
        assert line(plain, f"t_closeness({rows}, ['a'], 's', ordered := true)") == alike(expected)
    rows = text(f"(SELECT a, ['8', '9', '10'][i] AS s FROM (SELECT {levels}))")
    assert line(plain, f"t_closeness({rows}, ['a'], 's', ordered := true)")["t"] != close(expected["t"])


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_change_nothing(plain: duckdb.DuckDBPyConnection, setting: str) -> None:
    data = uneven()
    plain.execute(f"SET {setting}")
    try:
        for ordered in (False, True):
            found = line(plain, f"t_closeness({text(rows_of(data))}, ['a'], 's', {ordered})")
            assert found == alike(closeness(data, ["a"], "s", ordered))
    finally:
        plain.execute(f"RESET {setting.split(' ')[0]}")


@pytest.mark.parametrize("end", ["", ", ordered := true"])
def test_columns_are_those_that_are_registered(plain: duckdb.DuckDBPyConnection, end: str) -> None:
    call = f"t_closeness({text(rows_of(uneven(20)))}, ['a', 'b'], 's'{end})"
    has_registered_columns(plain, call, MACRO)


def test_every_way_to_name_the_rows(plain: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    data = uneven()
    for source in sources(plain, tmp_path, data):
        found = line(plain, f"t_closeness({text(source)}, ['a', 'b'], 's')")
        assert found == alike(closeness(data, ["a", "b"], "s")), source


@pytest.mark.parametrize("names", ODD_NAMES)
@BOTH
def test_odd_column_names(plain: duckdb.DuckDBPyConnection, names: tuple[str, str, str], ordered: bool) -> None:
    data = uneven(120)
    qi, sensitive = f"[{text(names[0])}, {text(names[1])}]", text(names[2])
    found = line(plain, f"t_closeness({renamed(data, names)}, {qi}, {sensitive}, ordered := {ordered})")
    assert found == alike(closeness(data, ["a", "b"], "s", ordered))


def test_more_than_a_dozen_quasi_identifiers(plain: duckdb.DuckDBPyConnection) -> None:
    data = pd.DataFrame(np.random.default_rng(2).integers(0, 2, (60, 13)), columns=[f"c{i}" for i in range(13)])
    qi = list(data)[:-1]
    found = line(plain, f"t_closeness({text(rows_of(data))}, {qi}, 'c12', ordered := true)")
    assert found == alike(closeness(data, qi, "c12", True))


def test_a_connection_with_ppduck_has_it(con: duckdb.DuckDBPyConnection) -> None:
    data = uneven()
    con.execute(f"CREATE TABLE patients AS FROM {rows_of(data)}")
    assert line(con, "t_closeness('patients', qi=['a'], sensitive='s')") == alike(closeness(data, ["a"], "s"))
    assert MACRO.signature == "t_closeness(tbl, qi, sensitive, ordered := false)"


@pytest.mark.parametrize(("call", "message"), REFUSED)
@pytest.mark.parametrize("wanted", ["*", "count(*)"])
def test_what_is_refused(loaded: duckdb.DuckDBPyConnection, wanted: str, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        loaded.execute(f"SELECT {wanted} FROM {call}").fetchall()


def test_a_missing_column_is_named(plain: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.BinderException, match='"absent" not found'):
        plain.execute(f"FROM t_closeness('{TWO}', ['absent'], 's')")


@BOTH
def test_the_shell_counts_alike(tmp_path: Path, ordered: bool) -> None:
    data = uneven()
    data.to_csv(tmp_path / "my data.csv", index=False)
    found = shell(f"FROM t_closeness('my data.csv', ['a', 'b'], 's', ordered := {ordered});", tmp_path)
    assert found == [alike(closeness(data, ["a", "b"], "s", ordered))]


def test_the_shell_says_what_is_wrong(tmp_path: Path) -> None:
    assert unsaid_by_the_shell(REFUSED, tmp_path) == []
