"""Categories: rare levels become one that there is not yet."""

from __future__ import annotations

import duckdb
import pytest

from tests.policy.proposals import Ask, proposal, treatments

pytestmark = pytest.mark.core


def test_a_level_that_is_called_other_already(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 90 = 0 THEN 'r' || i % 7 WHEN i % 2 = 0 THEN 'other' ELSE 'b' END AS kind "
        "FROM range(1000) r(i)"
    )
    assert treatments(ask, "t")["kind"] == "{recode: {rare_below: 50, as: rare}}"
    con.execute("FROM release_table('t', ?)", [proposal(con, "'t'")]).fetchall()
