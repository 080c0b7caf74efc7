"""One loaded connection for all tests of a file, with a table, people who are not in it, and how an attack is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from ppduck.attacks import _record_attacks

Attack = Callable[..., list[dict[str, Any]]]
ROWS = 3_000
NORMAL = (
    "sqrt(-2 * ln((hash(i, '{0}') % 1000000 + 0.5) / 1000000)) * cos(2 * pi() * (hash(i, '{0}b') % 1000000) / 1000000)"
)


@pytest.fixture
def people(con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> duckdb.DuckDBPyConnection:
    """``t`` and ``others``, people of one kind: income rises with age; key order says nothing."""
    con.execute(
        f"""CREATE OR REPLACE TABLE everybody AS
        SELECT i AS id, CAST(20 + hash(i, 'age') % 60 AS INTEGER) AS age, CAST(hash(i, 'zip') % 40 AS INTEGER) AS zip,
               ['a', 'b', 'c'][CAST(1 + hash(i, 's') % 3 AS INTEGER)] AS segment,
               10 * age + 100 * ({NORMAL.format("x")}) AS income, {NORMAL.format("d")} AS debt
        FROM range({2 * ROWS}) r(i)"""
    )
    con.execute(f"CREATE OR REPLACE TABLE t AS FROM everybody WHERE id < {ROWS}")
    con.execute(f"CREATE OR REPLACE TABLE others AS FROM everybody WHERE id >= {ROWS}")
    for size in ("MOST_PROBABILISTIC", "PROBABILISTIC_BLOCK", "MOST_MATCHED"):
        monkeypatch.setattr(_record_attacks, size, 0)  # which takes seconds
    return con


@pytest.fixture
def attack(people: duckdb.DuckDBPyConnection) -> Attack:
    """The rows of release_attack(), by default of t with income in conf."""

    def asked(release: str, attacks: str = "", more: str = "", conf: str = "['income']") -> list[dict[str, Any]]:
        listed = f", attacks=['{attacks}']" if attacks else ""
        answer = people.execute(f"FROM release_attack('t', '{release}', conf={conf}, key='id'{listed}{more})")
        names = [each[0] for each in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    return asked
