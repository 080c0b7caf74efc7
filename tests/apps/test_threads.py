"""Several threads with a cursor each; a mask that is interrupted."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ppduck
from tests.conftest import SECRET

pytestmark = pytest.mark.core

THREADS = 4
Interrupt = Callable[[duckdb.DuckDBPyConnection], None]
MASKS = {
    "egadp_mask": "FROM egadp_mask('customers', conf=['x1','x2'], nonconf=['s1','region'], key='id')",
    "shuffle_mask": "FROM shuffle_mask('customers', conf=['x1','x2'], nonconf=['s1'], key='id')",
    "rr_mask": "FROM rr_mask('customers', p={'region': 0.7}, key='id')",
    "microaggregate_mask": "FROM microaggregate_mask('customers', conf=['x1','x2'], k=5, key='id')",
}
# A product that would take hours: what stops it is the interruption.
ENDLESS = "SELECT m.* FROM egadp_mask('customers', conf=['x1'], nonconf=['s1'], key='id') AS m, range(100_000_000)"
# Nobody says what the columns are: the planner looks, and does not find an end.
ENDLESS_PLAN = "FROM rr_mask('(SELECT i AS id, i % 3 AS g FROM range(100_000_000_000) r(i))', p={'g': 0.7}, key='id')"
ENDLESS_SOURCE = "FROM egadp_mask('(SELECT i AS id, sin(i) AS s, cos(i) AS x FROM range(100_000_000_000) r(i))', conf=['x'], nonconf=['s'], key='id')"


def same(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> bool:
    """Sums run in another order on another thread, so that the last bits may differ."""
    return len(found) == len(expected) and all(
        math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) if isinstance(a, float) else a == b
        for one, other in zip(found, expected, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """What THREADS threads return that start together."""
    start = threading.Barrier(THREADS)

    def begin(number: int) -> Any:
        start.wait(30)
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


@pytest.mark.parametrize("mask", MASKS)
def test_four_cursors_mask_at_once_what_one_would(customers: duckdb.DuckDBPyConnection, mask: str) -> None:
    query = MASKS[mask] + " ORDER BY id"
    expected = customers.execute(query).fetchall()
    assert not same(expected, customers.execute("FROM customers ORDER BY id").fetchall())

    def work(_: int) -> list[list[tuple[Any, ...]]]:
        with customers.cursor() as cursor:
            ppduck.load(cursor)
            return [cursor.execute(query).fetchall() for _ in range(2)]

    found = [rows for per_thread in at_once(work) for rows in per_thread]
    assert len(found) == 2 * THREADS
    assert all(same(rows, expected) for rows in found)


def test_four_cursors_write_their_own_releases(customers: duckdb.DuckDBPyConnection) -> None:
    def work(number: int) -> None:
        with customers.cursor() as cursor:
            ppduck.load(cursor).execute(f"CREATE TABLE release{number} AS {MASKS['egadp_mask']}")

    at_once(work)
    expected = customers.execute(MASKS["egadp_mask"] + " ORDER BY id").fetchall()
    for number in range(THREADS):
        assert same(customers.execute(f"FROM release{number} ORDER BY id").fetchall(), expected)


def test_threads_that_load_a_new_database_at_once_share_one_secret(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "new.db")) as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 2) AS x FROM range(500) r(i)")

        def work(_: int) -> list[tuple[Any, ...]]:
            with con.cursor() as cursor:
                query = "FROM egadp_mask('t', conf=['x'], nonconf=['s'], key='id') ORDER BY id"
                return ppduck.load(cursor).execute(query).fetchall()

        first, *others = at_once(work)
        assert all(same(rows, first) for rows in others)


@pytest.fixture
def cursor(customers: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    with customers.cursor() as cursor:
        yield ppduck.load(cursor)


def interrupted(con: duckdb.DuckDBPyConnection, statement: str, interrupt: Interrupt = ppduck.interrupt) -> Exception:
    """What a statement raises that another thread interrupts while it runs."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(con.execute, statement)
        # Again and again: an interruption that comes before the statement has begun is forgotten.
        deadline = time.monotonic() + 30
        while not running.done() and time.monotonic() < deadline:
            time.sleep(0.05)
            interrupt(con)
        error = running.exception(30)
    assert isinstance(error, Exception)
    return error


@pytest.mark.parametrize(
    ("query", "interrupt"),
    [
        (ENDLESS, duckdb.DuckDBPyConnection.interrupt),
        (ENDLESS_SOURCE, duckdb.DuckDBPyConnection.interrupt),
        (ENDLESS_PLAN, ppduck.interrupt),
    ],
    ids=["while rows are written", "while sums are made", "while it is planned"],
)
def test_an_interrupted_mask_leaves_no_table_and_a_usable_connection(
    customers: duckdb.DuckDBPyConnection, cursor: duckdb.DuckDBPyConnection, query: str, interrupt: Interrupt
) -> None:
    error = interrupted(cursor, f"CREATE TABLE cancelled AS {query}", interrupt)
    assert isinstance(error, (duckdb.Error, RuntimeError))
    assert "nterrupt" in str(error)
    for con in (cursor, customers):
        assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("customers",)]
        assert con.execute(f"SELECT count(*) FROM ({MASKS['egadp_mask']})").fetchall() == [(1000,)]
    cursor.execute(f"CREATE TABLE cancelled AS {MASKS['egadp_mask']}")
    assert customers.execute("SELECT count(*) FROM cancelled").fetchall() == [(1000,)]


def test_an_interrupted_mask_leaves_the_other_threads_alone(customers: duckdb.DuckDBPyConnection) -> None:
    query = MASKS["egadp_mask"] + " ORDER BY id"
    expected = customers.execute(query).fetchall()

    def work(number: int) -> list[tuple[Any, ...]] | Exception:
        with customers.cursor() as cursor:
            ppduck.load(cursor)
            if number == 0:
                return interrupted(cursor, f"CREATE TABLE cancelled AS {ENDLESS}")
            for _ in range(5):
                found = cursor.execute(query).fetchall()
            return found

    stopped, *others = at_once(work)
    assert "nterrupt" in str(stopped)
    assert all(same(rows, expected) for rows in others)


def test_an_interrupted_mask_inside_a_transaction_rolls_back(cursor: duckdb.DuckDBPyConnection) -> None:
    cursor.execute("BEGIN; CREATE TABLE before AS SELECT 1 AS a")
    assert "nterrupt" in str(interrupted(cursor, f"CREATE TABLE cancelled AS {ENDLESS}"))
    cursor.execute("ROLLBACK")
    assert cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("customers",)]
    assert cursor.execute(f"SELECT count(*) FROM ({MASKS['rr_mask']})").fetchall() == [(1000,)]


def test_a_cursor_that_was_not_loaded_does_not_know_the_masks(customers: duckdb.DuckDBPyConnection) -> None:
    with customers.cursor() as cursor:
        with pytest.raises(duckdb.CatalogException, match="egadp_mask does not exist"):
            cursor.execute(MASKS["egadp_mask"])
        assert ppduck.load(cursor, SECRET) is cursor
        assert len(cursor.execute(MASKS["egadp_mask"]).fetchall()) == 1000
