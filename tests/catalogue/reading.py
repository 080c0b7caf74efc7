"""A catalogue over a connection that knows none of ppduck's functions."""

from __future__ import annotations

from typing import Any

import duckdb

from ppduck.errors import UnreadError
from ppduck.query.whole_names import qualified


class Reader:
    """A connection that counts what it is asked, and says what it cannot see."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con, self.queries = con, 0

    def execute(self, query: str, parameters: object = None) -> Any:
        self.queries += 1
        try:
            return self.con.execute(qualified(query), parameters)
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            raise UnreadError(f"DuckDB says: {str(error).splitlines()[0]}", unseen=True) from None

    def extract_statements(self, query: str) -> list[Any]:
        return list(self.con.extract_statements(query))
