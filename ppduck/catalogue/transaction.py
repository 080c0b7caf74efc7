"""What a transaction sees of a database."""

from __future__ import annotations

from typing import Any, Protocol

from ppduck.query import tree as sql
from ppduck.query.whole_names import qualified


class Asked(Protocol):
    """A connection, or what stands for one."""

    def execute(self, query: str) -> Any: ...


def sees_function(asked: Asked, name: str) -> bool:
    """Whether its transaction sees a function that was added to the database; a call that fails would abort it."""
    query = (
        "SELECT count(*) > 0 FROM duckdb_functions() "
        f"WHERE database_name = 'system' AND function_name = {sql.render(sql.text(name))}"
    )
    return bool(asked.execute(qualified(query)).fetchone()[0])


def in_transaction(asked: Asked) -> bool:
    """Whether it has begun a transaction: without one, each statement has its own."""
    first, second = (asked.execute("SELECT system.main.txid_current()").fetchone() for _ in range(2))
    return bool(first == second)
