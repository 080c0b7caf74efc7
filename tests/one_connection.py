"""One loaded connection for all tests of a file: loading takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import ppduck

SECRET = "correct horse battery staple"


@pytest.fixture(scope="module")
def loaded() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield ppduck.load(connection, SECRET)


@pytest.fixture
def con(loaded: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    yield loaded
    forget(loaded)


def forget(con: duckdb.DuckDBPyConnection) -> None:
    """Takes back what a test has made, so that the connection can serve the next one."""
    con.execute("USE memory.main")
    for setting in ("threads", "search_path"):
        con.execute(f"RESET {setting}")
    beside = "SELECT database_name FROM duckdb_databases() WHERE NOT internal AND database_name <> 'memory'"
    for (database,) in con.execute(beside).fetchall():
        con.execute(f"DETACH {quoted(database)}")
    for kind in ("view", "table"):
        query = f"SELECT database_name, schema_name, {kind}_name FROM duckdb_{kind}s() WHERE NOT internal"
        for place in con.execute(query).fetchall():
            con.execute(f"DROP {kind} {'.'.join(quoted(part) for part in place)}")
    query = (
        "SELECT DISTINCT database_name, schema_name, function_name, function_type FROM duckdb_functions() "
        "WHERE NOT internal AND database_name = 'memory'"  # ppduck's own are in temp
    )
    for *place, kind in con.execute(query).fetchall():
        kind = "MACRO TABLE" if kind == "table_macro" else "MACRO"
        con.execute(f"DROP {kind} {'.'.join(quoted(part) for part in place)}")
    query = "SELECT schema_name FROM duckdb_schemas() WHERE NOT internal AND schema_name <> 'main'"
    for (schema,) in con.execute(query).fetchall():
        con.execute(f"DROP SCHEMA {quoted(schema)} CASCADE")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
