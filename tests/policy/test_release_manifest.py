"""release_manifest: what a release says of itself, in rows."""

from __future__ import annotations

import duckdb
import pytest

import ppduck

pytestmark = pytest.mark.core


def test_a_table_that_was_released(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, i % 2 AS g, sin(i) AS x FROM range(500) r(i)")
    policy = {"from": "t", "key": "id", "columns": {"id": "drop", "g": {"randomize": 0.75}, "x": {"mask": "egadp"}}}
    ppduck.release(con, policy, to="public")
    rows = con.execute("FROM release_manifest('public')").fetchall()
    assert rows[0] == ("g", "randomized", 'mask rr_mask; levels ["0", "1"]; p 0.75')
    assert rows[1] == ("x", "masked", "mask egadp_mask")
    roles = [role for name, role, _ in rows if name is None]
    assert roles[-6:] == ["ppduck", "duckdb", "policy", "rows", "gate", "manifest"]


def test_what_is_no_release(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT 1 AS a; COMMENT ON TABLE t IS 'mine'")
    with pytest.raises(duckdb.Error, match=r'"t" has no manifest: ppduck release writes one'):
        con.execute("FROM release_manifest('t')")
    with pytest.raises(duckdb.Error, match=r"the planner cannot see \"nothing\""):
        con.execute("FROM release_manifest('nothing')")
