"""k_anonymity against counts by pandas, in Python and in DuckDB's own shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.anonymity.k_anonymity import MACRO
from tests.anonymity.alike import (
    ODD_NAMES,
    PATIENTS,
    SETTINGS,
    TWO,
    alike,
    groups_of,
    has_registered_columns,
    line,
    quasi_refused,
    renamed,
    rows_of,
    sources,
    text,
    uneven,
    unsaid_by_the_shell,
)
from tests.test_plain_sql import shell

pytestmark = pytest.mark.core
REFUSED = [
    *quasi_refused("k_anonymity"),
    *quasi_refused("k_anonymity", ", k := 2"),
    *(
        (f"k_anonymity('{TWO}', ['a'], k := {k})", r"k must be a whole number of at least 1\. Give the size")
        for k in ("0", "-2", "2.5", "'five'", "'inf'::DOUBLE", "'nan'::DOUBLE", "true", "[2]")
    ),
]


def anonymity(frame: pd.DataFrame, qi: list[str], k: int | None = None) -> dict[str, Any]:
    sizes = np.array([len(group) for group in groups_of(frame, qi)])
    below = None if k is None else int(sizes[sizes < k].sum())
    return {
        "k": sizes.min(),
        "rows": len(frame),
        "groups": len(sizes),
        "mean_size": sizes.mean(),
        "unique_rows": int((sizes == 1).sum()),
        "highest_risk": 1 / sizes.min(),
        "mean_risk": float(np.mean(1 / np.repeat(sizes, sizes))),
        "rows_below": below,
        "passed": None if k is None else bool((sizes >= k).all()),
        "direction": "higher is safer",
    }


def test_the_published_table_is_4_anonymous(plain: duckdb.DuckDBPyConnection) -> None:
    assert line(plain, f"k_anonymity({text(PATIENTS)}, ['age'], k := 4)") == {
        **{"k": 4, "rows": 8, "groups": 2, "mean_size": 4, "unique_rows": 0, "highest_risk": 0.25, "mean_risk": 0.25},
        **{"rows_below": 0, "passed": True, "direction": "higher is safer"},
    }


@pytest.mark.parametrize("qi", [["a"], ["a", "b"], ["b", "a"]], ids=len)
@pytest.mark.parametrize("k", [None, 1, 2, 3, 7, 4000])
def test_against_pandas(plain: duckdb.DuckDBPyConnection, qi: list[str], k: int | None) -> None:
    data = uneven()
    found = line(plain, f"k_anonymity({text(rows_of(data))}, {qi}{'' if k is None else f', {k}'})")
    assert found == alike(anonymity(data, qi, k))


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(*[st.none() | st.integers(0, 2)] * 2), min_size=1, max_size=40), k=st.integers(1, 5))
def test_any_small_table(plain: duckdb.DuckDBPyConnection, rows: list[tuple[int | None, ...]], k: int) -> None:
    data = pd.DataFrame(rows, columns=["a", "b"], dtype="Int64")
    found = line(plain, f"k_anonymity({text(rows_of(data))}, ['a', 'b'], k := {k})")
    assert found == alike(anonymity(data, ["a", "b"], k))


def test_null_is_a_value_like_others(plain: duckdb.DuckDBPyConnection) -> None:
    rows = text("(SELECT unnest([NULL, NULL, 1, 1]) AS a, NULL AS b)")
    assert line(plain, f"k_anonymity({rows}, ['a', 'b'])")["k"] == 2


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_change_nothing(plain: duckdb.DuckDBPyConnection, setting: str) -> None:
    data = uneven()
    plain.execute(f"SET {setting}")
    try:
        for qi in (["b"], ["a", "b"]):
            found = line(plain, f"k_anonymity({text(rows_of(data))}, {qi}, 9)")
            assert found == alike(anonymity(data, qi, 9))
    finally:
        plain.execute(f"RESET {setting.split(' ')[0]}")


@pytest.mark.parametrize("end", ["", ", k := 3"])
def test_columns_are_those_that_are_registered(plain: duckdb.DuckDBPyConnection, end: str) -> None:
    call = f"k_anonymity({text(rows_of(uneven(20)))}, ['a', 'b']{end})"
    has_registered_columns(plain, call, MACRO)


def test_every_way_to_name_the_rows(plain: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    data = uneven()
    for source in sources(plain, tmp_path, data):
        found = line(plain, f"k_anonymity({text(source)}, ['a', 'b'])")
        assert found == alike(anonymity(data, ["a", "b"])), source


@pytest.mark.parametrize("names", ODD_NAMES)
def test_odd_column_names(plain: duckdb.DuckDBPyConnection, names: tuple[str, str, str]) -> None:
    data = uneven(120)
    qi = f"[{text(names[0])}, {text(names[1])}]"
    found = line(plain, f"k_anonymity({renamed(data, names)}, {qi}, k := 2)")
    assert found == alike(anonymity(data, ["a", "b"], 2))


def test_more_than_a_dozen_quasi_identifiers(plain: duckdb.DuckDBPyConnection) -> None:
    data = pd.DataFrame(np.random.default_rng(2).integers(0, 2, (60, 13)), columns=[f"c{i}" for i in range(13)])
    assert line(plain, f"k_anonymity({text(rows_of(data))}, {list(data)})") == alike(anonymity(data, list(data)))


def test_a_connection_with_ppduck_has_it(con: duckdb.DuckDBPyConnection) -> None:
    data = uneven()
    con.execute(f"CREATE TABLE patients AS FROM {rows_of(data)}")
    assert line(con, "k_anonymity('patients', qi=['a'], k=3)") == alike(anonymity(data, ["a"], 3))
    assert MACRO.signature == "k_anonymity(tbl, qi, k := NULL)"


def test_a_masked_release_can_be_asked(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"CREATE TABLE patients AS SELECT row_number() OVER () AS id, * FROM {rows_of(uneven())}")
    released = "(FROM rr_mask('patients', p={'s': 0.9}, key='id', seed=1))"
    before, after = (line(con, f"k_anonymity({text(source)}, ['a', 'b'])") for source in ("patients", released))
    assert before == after


@pytest.mark.parametrize(("call", "message"), REFUSED)
@pytest.mark.parametrize("wanted", ["*", "count(*)"])
def test_what_is_refused(loaded: duckdb.DuckDBPyConnection, wanted: str, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        loaded.execute(f"SELECT {wanted} FROM {call}").fetchall()


def test_a_missing_column_is_named(plain: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.BinderException, match='"absent" not found'):
        plain.execute(f"FROM k_anonymity('{TWO}', ['a', 'absent'])")


def test_the_shell_counts_alike(tmp_path: Path) -> None:
    data = uneven()
    data.to_csv(tmp_path / "my data.csv", index=False)
    found = shell("FROM k_anonymity('my data.csv', ['a', 'b'], k := 3);", tmp_path)
    assert found == [alike(anonymity(data, ["a", "b"], 3))]


def test_the_shell_says_what_is_wrong(tmp_path: Path) -> None:
    assert unsaid_by_the_shell(REFUSED, tmp_path) == []
