"""A survey with a key, two categories, a flag and a number, of which the categories depend on each other."""

from __future__ import annotations

import duckdb
import pytest

ROWS = 6000


@pytest.fixture
def survey(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute(
        f"""
        CREATE TABLE survey AS
        SELECT i AS id, ['female', 'male'][1 + (hash(i * 10) % 2)::INTEGER] AS gender,
               ['anemia', 'cancer', 'flu'][1 + least(hash(i * 10 + 1) % (2 + hash(i * 10) % 2), 2)::INTEGER] AS disease,
               hash(i * 10 + 2) % 4 = 0 AS smoker, 20 + (hash(i * 10 + 3) % 60)::INTEGER AS age
        FROM range({ROWS}) AS rows(i)
        """
    )
    return con
