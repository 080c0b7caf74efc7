"""A query that is cancelled, whatever it was at: in DuckDB, in a function of ppduck's, or still being planned."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from ppduck.libraries import Later
from ppduck.shell.dots import understood
from ppduck.shell.running import Cancelled, Run
from ppduck.shell.session import Session
from ppduck.shell.statements import ShellError

pytestmark = pytest.mark.core

ENDLESS = "(SELECT count(*) FROM range(10000000) a(i), range(10000000) b(j) WHERE i + j < 0)"


@pytest.fixture
def big(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute(
        "CREATE TABLE big AS SELECT i AS id, sin(i) AS s, sin(i) + cos(i * 3) AS x1, cos(i) AS x2 FROM range(200000) r(i)"
    )
    con.execute(f"CREATE VIEW slow AS SELECT i AS id, 'a' AS c FROM range(9) r(i) WHERE i <> {ENDLESS}")
    return con


def cancelled(con: duckdb.DuckDBPyConnection, work: Callable[[Run], object]) -> float:
    """The seconds that it took to stop, after a while at work."""
    at = 0.0

    def ctrl_c() -> None:
        nonlocal at
        at = time.monotonic()
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.5, ctrl_c)
    timer.start()
    try:
        with pytest.raises(Cancelled, match=r"^$"):
            Run(con, lambda run: (work(run), None)[1]).finish()
    finally:
        timer.cancel()
        timer.join()
    return time.monotonic() - at


@pytest.mark.skipif(sys.platform == "win32", reason="has no signals to send")
@pytest.mark.parametrize(
    "query",
    [
        f"FROM {ENDLESS}",
        "FROM onn_mask('big', conf=['x1','x2'], key='id')",
        "FROM microaggregate_mask('(FROM big LIMIT 90000)', conf=['s','x1','x2'], k=3, key='id')",
        "FROM rr_mask('slow', p={'c': 0.8}, key='id')",
    ],
    ids=["DuckDB", "networks", "groups", "planning"],
)
def test_a_cancelled_statement_leaves_no_table_and_a_connection_of_use(
    query: str, big: duckdb.DuckDBPyConnection
) -> None:
    before = signal.getsignal(signal.SIGINT)  # a suite that runs in the background ignores it
    assert cancelled(big, lambda _: big.execute(f"CREATE TABLE release AS {query}")) < 20
    assert big.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'release'").fetchall() == [(0,)]
    count = "SELECT count(*) FROM egadp_mask('big', conf=['x1','x2'], key='id')"
    assert big.execute(count).fetchall() == [(200000,)]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform == "win32", reason="has no signals to send")
def test_work_that_asks_is_stopped_between_queries(con: duckdb.DuckDBPyConnection) -> None:
    def asks(run: Run) -> None:
        while True:
            run.check()
            con.execute("SELECT 1")

    assert cancelled(con, asks) < 20


@pytest.mark.skipif(sys.platform == "win32", reason="has no signals to send")
def test_a_library_that_is_being_imported_is_imported_whole(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would else lack what comes after the interrupt, for as long as the process lives."""
    whole = tmp_path / "whole"
    slow = f"import time\nfor _ in range(100):\n    time.sleep(0.01)\nopen({str(whole)!r}, 'a').close()"
    (tmp_path / "slow_library.py").write_text(slow)
    monkeypatch.syspath_prepend(str(tmp_path))
    library = Later("slow_library")

    def work(run: Run) -> None:
        library.load()
        while True:
            run.check()
            time.sleep(0.01)

    assert cancelled(con, work) < 20
    assert whole.exists()
    assert library.load() is sys.modules["slow_library"]


def test_errors_and_ends_are_handed_on(con: duckdb.DuckDBPyConnection) -> None:
    done: list[int] = []
    Run(con, lambda _: done.append(1)).finish()
    assert done == [1]
    with pytest.raises(duckdb.CatalogException, match="nowhere"):
        Run(con, lambda _: con.execute("FROM nowhere") and None).finish()


def test_a_ctrl_c_that_comes_too_late_for_one_statement_stops_before_the_next(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(":memory:", understood)
    check = Run.check

    def check_late(run: Run) -> None:
        check(run)
        run.unwanted = True

    monkeypatch.setattr(Run, "check", check_late)
    with pytest.raises(ShellError, match=r"^stopped after a statement that was done(.|\n)*in script, line 1$"):
        session.run([("script", "SELECT 1 AS a;\nCREATE TABLE never AS SELECT 1")])
    assert "│     1 │" in capsys.readouterr().out
    assert session.con.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
    session.close()
