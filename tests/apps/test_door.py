"""The door of examples/app.py: what it says of queries that DuckDB cannot read."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pytest
from ppduck.examples import app_door


class Answering:
    """A connection on which DuckDB answers so."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer

    def execute(self, *_: object) -> Answering:
        return self

    def fetchall(self) -> list[tuple[str]]:
        return [(json.dumps(self.answer),)]


@pytest.mark.parametrize("kind", ["parser", "interrupt"])
def test_what_cannot_be_read_is_told_as_it_is(kind: str) -> None:
    con: Any = Answering(error=True, error_type=kind, error_message="nested too deeply")
    with pytest.raises(app_door.Refused, match="nested too deeply") as found:
        app_door.check(con, "SELECT 1", set(), set())
    assert (found.value.status, found.value.kind) == (400, "syntax")


@pytest.mark.parametrize("query", ["CREATE TABLE t (a INTEGER)", "SELECT 1; SELECT 2", "", "PRAGMA version"])
def test_what_is_no_select_is_told_so(query: str) -> None:
    with duckdb.connect() as con, pytest.raises(app_door.Refused, match="exactly one SELECT") as found:
        app_door.check(con, query, set(), set())
    assert (found.value.status, found.value.kind) == (403, "not_a_select")


def test_a_query_that_finds_no_memory_has_not_been_read() -> None:
    con: Any = Answering(error=True, error_type="out of memory", error_message="Allocation failure")
    with pytest.raises(MemoryError, match=r"^$"):
        app_door.check(con, "SELECT 1", set(), set())
