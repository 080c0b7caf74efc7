"""Connections with ppduck loaded, and where the reference data lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import hypothesis
import pytest

from ppduck.call import registry
from tests.one_connection import SECRET, con, loaded

__all__ = ["SECRET", "con", "customers", "loaded"]

# How long an example takes is the machine's, which may be busy, and no law of ours.
hypothesis.settings.register_profile("house", deadline=None)
hypothesis.settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--discover", action="append", default=[], metavar="PACKAGE", help="a package of functions to test as ppduck's"
    )


def pytest_configure(config: pytest.Config) -> None:
    for package in config.getoption("--discover"):
        registry.discover(package)


@pytest.fixture(autouse=True)
def _no_secret_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PPDUCK_SECRET", raising=False)


@pytest.fixture
def customers(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """1,000 customers: an id, two numbers, a flag, a region, a name, and two confidential columns."""
    con.execute(
        """
        CREATE TABLE customers AS
        SELECT i AS id, sin(i * 12.9898) * 3 AS s1, cos(i * 78.233) * 2 AS s2, i % 3 = 0 AS member,
               ['east', 'north', 'south', 'west'][1 + i % 4] AS region, 'name ' || i AS name,
               50 + 2 * sin(i * 12.9898) + 5 * sin(i * 4.1414) AS x1,
               20 + cos(i * 78.233) + 3 * sin(i * 4.1414) + 2 * cos(i * 9.7) AS x2
        FROM range(1000) AS rows(i)
        """
    )
    return con


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of public data sets; where they come from stands in its README."""
    return Path(__file__).resolve().parent / "data"


@pytest.fixture
def survey(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A survey with a key, two categories that depend on each other, a flag and a number."""
    con.execute(
        """
        CREATE TABLE survey AS
        SELECT i AS id, ['female', 'male'][1 + (hash(i * 10) % 2)::INTEGER] AS gender,
               ['anemia', 'cancer', 'flu'][1 + least(hash(i * 10 + 1) % (2 + hash(i * 10) % 2), 2)::INTEGER] AS disease,
               hash(i * 10 + 2) % 4 = 0 AS smoker, 20 + (hash(i * 10 + 3) % 60)::INTEGER AS age
        FROM range(6000) AS rows(i)
        """
    )
    return con


Rows = list[dict[str, Any]]


def rows_of(con: duckdb.DuckDBPyConnection, query: str) -> Rows:
    found = con.execute(query)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.fixture
def ask(con: duckdb.DuckDBPyConnection) -> Callable[[str], Rows]:
    """Runs a query on the connection of the test."""
    return lambda query: rows_of(con, query)
