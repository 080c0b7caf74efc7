"""What DuckDB's catalogue tells of a function."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from ppduck.query import tree as sql
from ppduck.query.whole_names import qualified


class Connection(Protocol):
    """A connection, or what stands for one."""

    def execute(self, query: str) -> Any: ...


def sees_function(con: Connection, name: str, database: Literal["system", "temp"]) -> bool:
    """Whether a connection's transaction sees a function; to call one that it does not see would abort it."""
    query = (
        "SELECT count(*) > 0 FROM duckdb_functions() "
        f"WHERE database_name = '{database}' AND function_name = {sql.render(sql.text(name))}"
    )
    [(seen,)] = con.execute(qualified(query)).fetchall()  # to the end: DuckDB 2.0 waits for it
    return bool(seen)


def kind_of_function(con: Connection, name: str) -> str | None:
    """macro where a user's own goes by this name, volatile, or what DuckDB calls it; None for one it does not know."""
    query = (
        "SELECT function_type, stability, internal FROM duckdb_functions() "
        f"WHERE function_name = lower({sql.render(sql.text(name))})"
    )
    found = con.execute(query).fetchall()
    if any(kind == "macro" and not internal for kind, _, internal in found):
        return "macro"
    if any(stability == "VOLATILE" for _, stability, _ in found):
        return "volatile"
    kinds = {kind for kind, _, _ in found}
    return next((kind for kind in ("scalar", "macro", "aggregate", "table") if kind in kinds), None)
