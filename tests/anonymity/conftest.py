"""Connections that know the plain macros only, and one with ppduck loaded, for a whole file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import ppduck
from tests.test_plain_sql import connection


@pytest.fixture(scope="module", params=["MACRO", "TEMP MACRO"])
def plain(request: pytest.FixtureRequest) -> Iterator[duckdb.DuckDBPyConnection]:
    with connection(request.param) as con:
        yield con


@pytest.fixture(scope="module")
def loaded() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        yield ppduck.load(con, "a secret of these tests")
