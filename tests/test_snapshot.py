"""One statement, one snapshot: writers cannot break exactness."""

from __future__ import annotations

import threading
from pathlib import Path

import duckdb
import pytest

import ppduck
from tests.conftest import SECRET

pytestmark = pytest.mark.core


def test_a_writer_that_commits_while_masks_run_never_breaks_exactness(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    con = ppduck.connect(path, secret=SECRET)
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, sin(i) + cos(i * 3) AS x FROM range(100000) r(i)")
    writer = con.cursor()
    stop = threading.Event()

    def write() -> None:
        first = 100_000
        while not stop.is_set():
            # Each batch moves the mean, so that two snapshots can never have the same moments.
            writer.execute(f"INSERT INTO t SELECT {first} + i, 5, 100 + i FROM range(50) r(i)")
            first += 50

    thread = threading.Thread(target=write)
    thread.start()
    counts = []
    try:
        for _ in range(15):
            found = con.execute(
                """
                SELECT count(*), avg(m.x - t.x), covar_samp(m.x, m.s) / covar_samp(t.x, t.s) - 1,
                       var_samp(m.x) / var_samp(t.x) - 1
                FROM egadp_mask('t', conf=['x'], key='id') m JOIN t USING (id)
                """
            ).fetchall()
            counts.append(found[0][0])
            assert found[0][1:] == pytest.approx((0, 0, 0), abs=1e-9)
    finally:
        stop.set()
        thread.join()
        writer.close()
        con.close()
    assert counts[-1] > counts[0], "the writer must have written meanwhile"


def test_planning_reads_catalogue_and_levels_only(customers: duckdb.DuckDBPyConnection) -> None:
    """Rows that arrive between planning and running belong to the result; a prepared plan holds no data."""
    customers.execute("PREPARE q AS SELECT count(*), avg(x1) FROM egadp_mask('customers', conf := ['x1'])")
    customers.execute("INSERT INTO customers SELECT * REPLACE (id + 1000 AS id, x1 + 100 AS x1) FROM customers")
    [(count, mean)] = customers.execute("EXECUTE q").fetchall()
    assert count == 2000
    assert mean == pytest.approx(customers.execute("SELECT avg(x1) FROM customers").fetchall()[0][0], rel=1e-12)
