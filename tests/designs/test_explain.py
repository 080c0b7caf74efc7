"""What is said of a randomizing call: each column's design, and what the published rows tell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from ppduck.call.registry import function_named
from ppduck.catalogue.tables import Catalog
from ppduck.designs.explain import explained
from ppduck.designs.randomizing_mask import RandomizingMask
from ppduck.query import tree as sql
from tests.catalogue.reading import Reader

pytestmark = pytest.mark.core
Rows = list[tuple[str | None, str, str]]


@pytest.fixture
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT i // 2 AS pair, ['a', 'b', 'c'][1 + i % 3] AS x, i % 2 = 0 AS y FROM range(60) r(i)"
        )
        yield con


def told(con: duckdb.DuckDBPyConnection, mask: str = "rr_mask", tbl: str = "t", **given: Any) -> Rows:
    function = function_named(mask)
    assert isinstance(function, RandomizingMask)
    takes: Any = function.takes
    reader = Reader(con)
    found: Rows = reader.execute(sql.render(explained(function, Catalog(reader), takes(tbl=tbl, **given)))).fetchall()
    return found


@pytest.mark.parametrize("p", [0.5, 0.75, 0.9])
def test_epsilon_is_the_logarithm_of_the_largest_ratio(plain: duckdb.DuckDBPyConnection, p: float) -> None:
    notes = {name: note for name, role, note in told(plain, p={"x": p, "y": p}) if role == "randomized"}
    x, y = math.log(p / ((1 - p) / 2)), abs(math.log(p / (1 - p)))
    assert notes["x"] == f"kept with probability {p:g}, else one of its 2 other levels; epsilon {x:.3g}"
    assert notes["y"] == f"kept with probability {p:g}, else its other level; epsilon {y:.3g}"
    bounds = [
        note for name, role, note in told(plain, p={"x": p, "y": p}) if role == "guaranteed" and "epsilon" in note
    ]
    assert len(bounds) == 1
    assert f"epsilon {x + y:.3g}" in bounds[0]  # both columns together


def test_roles_of_all_columns(plain: duckdb.DuckDBPyConnection) -> None:
    rows = told(plain, p={"x": 0.8, "y": 1.0}, drop=["pair"])
    assert [(name, role) for name, role, _ in rows if name and role != "key"] == [
        ("pair", "dropped"), ("x", "randomized"), ("y", "randomized"),
    ]  # fmt: skip
    assert {name: note for name, role, note in rows if role == "randomized"}["y"] == "p = 1: released as it is"


@pytest.mark.parametrize(
    ("tbl", "key", "name", "note"),
    [
        ("t", ["pair"], "pair", "30 values in 60 rows: NOT unique; rr_mask and pram_mask refuse it"),
        ("t", [], "rowid", "60 values in 60 rows: unique"),
        (
            "(SELECT x, y FROM t)",
            [],
            "the whole row, and which of equal rows it is",
            "NOT unique; equal rows are numbered",
        ),
    ],
)
def test_whether_the_key_is_unique_is_counted(
    plain: duckdb.DuckDBPyConnection, tbl: str, key: list[str], name: str, note: str
) -> None:
    [(found, said)] = [
        (name, note) for name, role, note in told(plain, tbl=tbl, p={"x": 0.8}, key=key) if role == "key"
    ]
    assert found == name
    assert said.endswith(note)


def test_an_invariant_matrix_is_told_by_its_size_and_what_it_keeps(plain: duckdb.DuckDBPyConnection) -> None:
    rows = told(plain, "pram_mask", conf=["x"], p=0.8, invariant=True)
    [note] = [note for _, role, note in rows if role == "randomized"]
    assert note.startswith("published by its 3×3 matrix, kept with 0.")
