"""The texts of boxes: each says which values it stands for, and no two can be taken for each other."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppduck.masks._boxes import box_text, is_category, is_range, unambiguous, unfit
from ppduck.query import tree as sql

pytestmark = pytest.mark.core
LEVELS = ["a", "b", "c|d", "e"]
TEXT = sql.render(box_text(0))


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        yield con


def text_of(
    con: duckdb.DuckDBPyConnection, low: int, high: int, first: str, last: str, levels: list[str] | None
) -> str:
    query = f"SELECT {TEXT} FROM (SELECT $1 AS _pp_low0, $2 AS _pp_high0, $3 AS _pp_from0, $4 AS _pp_to0, $5::VARCHAR[] AS _pp_levels0)"
    [(found,)] = con.execute(query, [low, high, first, last, levels]).fetchall()
    return str(found)


@pytest.mark.parametrize(
    ("low", "high", "first", "last", "levels", "expected"),
    [
        (2, 5, "18", "25", None, "18..25"),
        (2, 2, "18", "18", None, "18"),
        (1, 1, "a", "a", LEVELS, "a"),
        (1, 2, "a", "b", LEVELS, "a|b"),
        (3, 3, "c|d", "c|d", LEVELS, '"c|d"'),  # else it would be the set of c and d
        (1, 4, "a", "e", LEVELS, "*"),
    ],
)
def test_what_stands_for_a_group(
    plain: duckdb.DuckDBPyConnection,
    low: int,
    high: int,
    first: str,
    last: str,
    levels: list[str] | None,
    expected: str,
) -> None:
    assert text_of(plain, low, high, first, last, levels) == expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(level=st.text("ab|*", min_size=1, max_size=4))
def test_a_level_is_never_taken_for_a_set(plain: duckdb.DuckDBPyConnection, level: str) -> None:
    [(found,)] = plain.execute(
        f"SELECT {sql.render(unambiguous(sql.column('x')))} FROM (SELECT $1 AS x)", [level]
    ).fetchall()
    assert found == (f'"{level}"' if "|" in level or level == "*" else level)


@pytest.mark.parametrize("type_", ["INTEGER", "DECIMAL(9,2)", "DOUBLE", "DATE", "TIMESTAMP WITH TIME ZONE"])
def test_what_has_an_order_makes_ranges(type_: str) -> None:
    assert is_range(type_)
    assert not is_category(type_)


@pytest.mark.parametrize("type_", ["VARCHAR", "BOOLEAN", "ENUM('a', 'b')"])
def test_what_has_levels_makes_sets(type_: str) -> None:
    assert is_category(type_)
    assert not is_range(type_)


def test_what_is_neither_is_named_with_its_type() -> None:
    assert not is_range("BLOB")
    assert not is_category("BLOB")
    assert unfit("x", "BLOB").startswith('qi names column "x" of type BLOB; only numbers, dates')
