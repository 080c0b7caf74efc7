"""Batches: gathered in order until there are enough rows, the rest waits; nothing depends on what comes later."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.catalogue.source import Column
from ppduck.catalogue.tables import Catalog
from ppduck.errors import PpduckError
from ppduck.policy import batches
from tests.catalogue.reading import Reader

pytestmark = pytest.mark.core


def of(
    con: duckdb.DuckDBPyConnection, sizes: list[int], after: str | None = None, smallest: int = 10
) -> batches.Batches:
    con.execute("CREATE OR REPLACE TABLE t (id BIGINT, day INTEGER)")
    for day, size in enumerate(sizes, 1):
        con.execute(f"INSERT INTO t SELECT i, {day} FROM range({size}) r(i)")
    catalog = Catalog(Reader(con))
    source = catalog.source("test", "t")
    return batches.found("test", catalog, source, Column("day", "INTEGER"), after, smallest)


def test_small_ones_wait_for_the_next(con: duckdb.DuckDBPyConnection) -> None:
    found = of(con, [10, 3, 4, 5, 12, 2])
    assert (list(found.groups), found.waiting) == (["1", "4", "5"], 2)
    rows = con.execute(f"SELECT day, ppduck_batch FROM {found.rows_of(Catalog(Reader(con)).source('test', 't'))}")
    assert sorted(set(rows.fetchall())) == [(1, "1"), (2, "4"), (3, "4"), (4, "4"), (5, "5")]


def test_only_what_comes_after(con: duckdb.DuckDBPyConnection) -> None:
    found = of(con, [10, 3, 4, 5, 12, 2], after="4")
    assert (list(found.groups), found.waiting) == (["5"], 2)
    rows = con.execute(f"SELECT DISTINCT day FROM {found.rows_of(Catalog(Reader(con)).source('test', 't'))}")
    assert rows.fetchall() == [(5,)]
    assert of(con, [10, 3], after="1").groups == []


@settings(max_examples=30)
@given(st.lists(st.integers(1, 15), max_size=12), st.integers(0, 12))
def test_what_comes_later_changes_nothing(sizes: list[int], place: int) -> None:
    with duckdb.connect() as own:
        before, after = of(own, sizes[:place]), of(own, sizes)
        assert list(after.groups)[: len(before.groups)] == list(before.groups)
        if before.groups:
            rest = of(own, sizes, after=before.groups[-1])
            assert [*before.groups, *rest.groups] == list(after.groups)


def test_rows_without_a_batch_and_values_that_are_none(con: duckdb.DuckDBPyConnection) -> None:
    of(con, [10])
    con.execute("INSERT INTO t VALUES (99, NULL), (100, NULL)")
    catalog = Catalog(Reader(con))
    source = catalog.source("test", "t")
    column = Column("day", "INTEGER")
    for after in (None, "1"):
        with pytest.raises(PpduckError, match=r'the batch column "day" is NULL in 2 rows'):
            batches.found("test", catalog, source, column, after, 10)
    with pytest.raises(PpduckError, match=r'after is to be a value of the batch column "day", of type INTEGER'):
        batches.found("test", catalog, source, column, "today", 10)
