"""ppduck.interrupt ends what a query computes in Python, and only what its own connection asked for."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import duckdb
import numpy as np
import pytest

import ppduck
from ppduck import interrupts
from ppduck.call.linear_mask import flatten
from ppduck.errors import PpduckError
from ppduck.interrupts import at_work, check_interrupt, stop
from ppduck.kernels import (
    distortion,
    linkage,
    loglinear,
    loglinear_distortion,
    microaggregation,
    onn,
    optimal_design,
    relation,
)
from ppduck.kernels.noise import KeyedNoise
from ppduck.runtime import solve
from tests.conftest import SECRET

pytestmark = pytest.mark.core

ROWS = np.random.default_rng(1).normal(size=(300, 4))
COUNTS = np.arange(1.0, 9.0).reshape(2, 2, 2)
PAIRS = ((0, 1), (1, 2), (0, 2))
KEPT = [np.array([[0.8, 0.2], [0.2, 0.8]])] * 3
LOOPS: dict[str, Callable[[], object]] = {
    "networks": lambda: onn.masked(ROWS[:, 0].copy(), onn.Design(), KeyedNoise(b"sixteen bytes and more")),
    "groups": lambda: microaggregation.grouped(ROWS, 3),
    "model": lambda: relation.fit(ROWS[:, :2], ROWS[:, 2:]),
    "links": lambda: linkage.linked(ROWS, ROWS + 0.1),
    "scaling": lambda: loglinear.fit(COUNTS, PAIRS),
    "likelihood": lambda: distortion.most_likely(COUNTS / COUNTS.sum(), KEPT, COUNTS / COUNTS.sum()),
    "search": lambda: loglinear_distortion.fitted_through(COUNTS, KEPT, PAIRS, COUNTS / COUNTS.sum()),
}
OF_FUNCTIONS = {
    "microaggregate_mask('d', conf=['x', 'y'], k=3)": microaggregation,
    "nm_egadp_mask('d', conf=['x'], nonconf=['y'], key='id')": relation,
    "security_index('d', conf=['y'], nonconf=['x'], key='id')": relation,
    "record_linkage('d', 'd', key='id', conf=['x', 'y'])": linkage,
    "loglinear_fit('d', columns=['a', 'b', 'c'], model='AB,BC,AC')": loglinear,
    "rr_optimize('d', qi=['a', 'b'], sensitive='c', l=2)": optimal_design,
}
# The most that is allowed: 16,000 values and a thousand neurons, which learn for minutes.
LONG = "CREATE TABLE released AS FROM onn_mask('t', conf=['x'], hidden=1000, key='id')"


@pytest.mark.parametrize("name", LOOPS)
def test_a_long_loop_ends_when_it_is_stopped(name: str) -> None:
    LOOPS[name]()  # nobody stops it
    with at_work('{"asking": "me"}'):
        stop("another")
        LOOPS[name]()
        stop("me")
        with pytest.raises(PpduckError, match="Interrupted"):
            LOOPS[name]()
    LOOPS[name]()  # what was stopped is over


def test_a_stop_is_for_the_work_that_goes_on() -> None:
    stop("me")
    with at_work('{"asking": "me"}'):
        check_interrupt()
        with at_work('{"function": "one that names nobody"}'), at_work(None):
            stop("me")
            with pytest.raises(PpduckError, match="Interrupted"):
                check_interrupt()
    with at_work('{"asking": "me"}'):
        check_interrupt()
    assert not interrupts._at_work


def test_a_thread_of_another_connection_goes_on() -> None:
    stopped, checked = threading.Event(), threading.Event()

    def work() -> None:
        with at_work('{"asking": "other"}'):
            checked.set()
            assert stopped.wait(30)
            check_interrupt()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(work)
        assert checked.wait(30)
        with at_work('{"asking": "me"}'):
            stop("me")
            stopped.set()
            other.result(30)
            with pytest.raises(PpduckError, match="Interrupted"):
                check_interrupt()


@pytest.fixture
def t() -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect(secret=SECRET) as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, exp(2 * sin(i * 1.37)) AS x FROM range(16_000) r(i)")
        yield con


def learning(running: Future[duckdb.DuckDBPyConnection]) -> bool:
    """Waits until the networks learn."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not running.done():
        frames = [each for frame in sys._current_frames().values() for each in (frame, frame.f_back)]
        if any(frame is not None and frame.f_code is onn._Networks._epoch.__code__ for frame in frames):
            return True
        time.sleep(0.01)
    return False


def test_a_network_that_learns_ends_when_its_connection_is_interrupted(t: duckdb.DuckDBPyConnection) -> None:
    with t.cursor() as cursor, ThreadPoolExecutor(1) as pool:
        ppduck.load(cursor)
        running = pool.submit(cursor.execute, LONG)
        assert learning(running)
        ppduck.interrupt(t)  # another connection's
        time.sleep(0.3)
        assert learning(running)
        ppduck.interrupt(cursor)
        error = running.exception(20)
        assert isinstance(error, duckdb.Error)
        assert "nterrupted" in str(error)
        assert cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]
        cursor.execute("CREATE TABLE released AS FROM noise_mask('t', conf=['x'], level=0.5, nonconf=[], key='id')")


def test_a_batch_of_groups_ends_at_the_next_group(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    con.execute("CREATE TABLE d AS SELECT i AS id, sin(i * i) AS x, i % 50 AS g FROM range(1000) r(i)")
    solved = []

    def flattened(*told: Any) -> list[float]:
        solved.append(told)
        for name, _ in list(interrupts._at_work):
            stop(name)
        return flatten(*told)

    monkeypatch.setattr(solve, "flatten", flattened)
    with pytest.raises(duckdb.Error, match="Interrupted: the connection was"):
        con.execute("FROM noise_mask('d', conf=['x'], level=0.5, nonconf=[], key='id', strata='g')").fetchall()
    assert len(solved) <= 2  # one of each thread


@pytest.mark.parametrize("call", OF_FUNCTIONS)
def test_every_function_that_may_take_long_hears_of_it(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    con.execute(
        "CREATE TABLE d AS SELECT i AS id, sin(i) AS x, cos(i * 3) AS y, hash(i) % 3 AS a, hash(i + 1000) % 2 AS b, "
        "hash(i + 2000) % 4 AS c FROM range(500) r(i)"
    )

    def asked() -> None:
        for name, _ in list(interrupts._at_work):
            stop(name)
        check_interrupt()

    monkeypatch.setattr(OF_FUNCTIONS[call], "check_interrupt", asked)
    with pytest.raises(duckdb.Error, match="Interrupted: the connection was"):
        con.execute(f"FROM {call}").fetchall()
    monkeypatch.undo()
    assert con.execute(f"FROM {call}").fetchall()
