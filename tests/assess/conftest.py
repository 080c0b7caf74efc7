"""Rows as dictionaries, for functions that answer with a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from tests.one_connection import con, loaded

__all__ = ["ask", "con", "loaded", "rows_of"]

Rows = list[dict[str, Any]]


def rows_of(con: duckdb.DuckDBPyConnection, query: str) -> Rows:
    found = con.execute(query)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.fixture
def ask(con: duckdb.DuckDBPyConnection) -> Callable[[str], Rows]:
    """Runs a query on the connection of the test."""
    return lambda query: rows_of(con, query)
