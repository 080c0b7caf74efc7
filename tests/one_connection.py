"""One loaded connection for all tests of a file: loading takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import ppduck
from tests.conftest import SECRET


@pytest.fixture(scope="module")
def loaded() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield ppduck.load(connection, SECRET)


@pytest.fixture
def con(loaded: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    yield loaded
    forget(loaded)


def forget(con: duckdb.DuckDBPyConnection) -> None:
    """Drops all tables, views and schemas, so that the connection can serve the next test."""
    con.execute("RESET threads")
    for kind in ("view", "table"):
        query = f"SELECT database_name, schema_name, {kind}_name FROM duckdb_{kind}s() WHERE NOT internal"
        for place in con.execute(query).fetchall():
            con.execute(f"DROP {kind} {'.'.join(quoted(part) for part in place)}")
    query = "SELECT schema_name FROM duckdb_schemas() WHERE NOT internal AND schema_name <> 'main'"
    for (schema,) in con.execute(query).fetchall():
        con.execute(f"DROP SCHEMA {quoted(schema)} CASCADE")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
