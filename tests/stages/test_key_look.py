"""What is counted of keys: by what is written, by what DuckDB counts, and by parts of a table."""

from __future__ import annotations

import dataclasses
from typing import Any

import duckdb
import pytest

from ppduck.query import tree as sql
from ppduck.runtime.key_check import KeysSeen, ReleaseSeen, Uniqueness
from ppduck.stages.aggregates import Aggregate, told
from ppduck.stages.key_look import keys_seen, release_seen
from ppduck.stages.keys import told_apart

pytestmark = pytest.mark.core
KEY = [sql.column("id"), sql.column("name")]
# one row without a key, one key twice
ROWS = "(VALUES (1, 'a', 1), (1, 'b', 2), (2, 'a', 3), (2, 'a', 4), (3, NULL, 5)) AS t(id, name, n)"


def counted(figures: list[Aggregate]) -> KeysSeen:
    columns = ", ".join(f'{sql.render(each.whole)} AS "{each.name}"' for each in figures)
    with duckdb.connect() as con:
        found = con.execute(f"SELECT {columns} FROM {ROWS}").fetchone()
    assert found is not None
    return KeysSeen(**dict(zip(told(figures), found, strict=True)))


def test_the_figures_are_the_fields_that_the_check_reads() -> None:
    for figures, fields in (
        (keys_seen(KEY, told_apart(KEY), Uniqueness.EVERY), KeysSeen),
        (release_seen(KEY, told_apart(KEY), Uniqueness.MOST), ReleaseSeen),
    ):
        assert list(told(figures)) == [each.name for each in dataclasses.fields(fields)]


def test_keys_are_counted() -> None:
    assert counted(keys_seen(KEY, told_apart(KEY), Uniqueness.EVERY)) == KeysSeen(5, 1, 5, 4)
    assert counted(keys_seen([], None, Uniqueness.EVERY)) == KeysSeen(5, 0, 5, 5)


def test_keys_of_some_rows_are_counted() -> None:
    some = sql.column("n") > 2
    assert counted(keys_seen(KEY, told_apart(KEY), Uniqueness.EVERY, looked_at=some)) == KeysSeen(5, 1, 3, 2)
    assert counted(keys_seen(KEY, None, Uniqueness.EVERY, looked_at=some)) == KeysSeen(5, 1, 3, 3)


@pytest.mark.parametrize(("wanted", "merged_by"), [("EVERY", "distinct keys"), ("MOST", "smallest hashes")])
def test_keys_are_counted_as_exactly_as_the_rule_needs(wanted: str, merged_by: str) -> None:
    *_, distinct = keys_seen(KEY, told_apart(KEY), Uniqueness[wanted])
    assert distinct.merged_by == merged_by


@pytest.mark.parametrize("wanted", Uniqueness)
def test_a_key_that_two_parts_have_is_one_key(wanted: Uniqueness) -> None:
    *_, distinct = keys_seen(KEY, told_apart(KEY), wanted)
    [partial] = distinct.partials
    found: list[tuple[Any, ...]] = []
    with duckdb.connect() as con:
        for part in ("n % 2 = 0", "n % 2 = 1"):
            found += con.execute(f"SELECT {sql.render(partial)} FROM {ROWS} WHERE {part}").fetchall()
    assert distinct.merge(found) == 4
