"""The planner's cursor: it stands where the caller stands, and knows the functions that the caller knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb

from ppduck.plan import sqlbuild as sql
from ppduck.plan.registry import Function, functions

Teach = Callable[[duckdb.DuckDBPyConnection, Function], None]


class Taught:
    """A cursor for the planner that learns a function of ppduck's once it meets a view that uses it."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, teach: Teach) -> None:
        self._cursor = cursor
        self._teach = teach
        self._known: set[str] = set()

    def execute(self, query: str, parameters: object = None) -> duckdb.DuckDBPyConnection:
        while True:
            try:
                return self._cursor.execute(query, parameters)
            except duckdb.CatalogException as error:
                missing = next((each for each in functions() if f"{each.name} does not exist" in str(error)), None)
                # All macros would take longer than most plans do.
                if missing is None or missing.name in self._known:
                    raise
            self._known.add(missing.name)
            self._teach(self._cursor, missing)

    def extract_statements(self, query: str) -> list[Any]:
        return list(self._cursor.extract_statements(query))


def move(cursor: duckdb.DuckDBPyConnection, database: str, schema: str, search_path: str) -> None:
    """Names are to mean to the cursor what they mean to the caller."""
    if search_path:
        cursor.execute(f"SET search_path = {sql.render(sql.text(search_path))}")
    else:
        cursor.execute(f"USE {sql.render(sql.name(database))}.{sql.render(sql.name(schema))}")
