"""The little that the planner asks of a DuckDB cursor."""

from __future__ import annotations

from typing import Any, Protocol


class Reader(Protocol):
    def execute(self, query: str, parameters: object = ...) -> Any: ...

    def extract_statements(self, query: str) -> list[Any]: ...
