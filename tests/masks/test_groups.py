"""One name for the number of a group, in every mask that publishes it."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.masks.groups import GROUP_ID

pytestmark = pytest.mark.core


@pytest.mark.parametrize(
    "call",
    [
        "generalize_mask('t', qi=['age'], k=2, group_id=true)",
        "anatomy_mask('t', qi=['age'], sensitive='sex', l=2, part='qit')",
        "anatomy_mask('t', qi=['age'], sensitive='sex', l=2, part='st')",
    ],
)
def test_groups_are_published_under_one_name(con: duckdb.DuckDBPyConnection, call: str) -> None:
    con.execute("CREATE OR REPLACE TABLE t AS SELECT i % 7 AS age, i % 2 AS sex FROM range(20) r(i)")
    found = con.sql(f"FROM {call}")
    assert GROUP_ID in found.columns
    assert found.aggregate(f"min({GROUP_ID})").fetchall() == [(1,)]
