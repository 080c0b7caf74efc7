"""Times of statements, interleaved so that whatever else the machine does falls on all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter

import duckdb

REPEATS = 5
COPY = "copy"


def once(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


def created(con: duckdb.DuckDBPyConnection, select: str) -> float:
    """Seconds for CREATE TABLE AS; what came before is cleared away and written out first."""
    con.execute("DROP TABLE IF EXISTS result")
    con.execute("CHECKPOINT")
    return once(lambda: con.execute(f"CREATE TABLE result AS {select}"))


def interleaved(works: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """The median of what each work returns, taken in turns after a first round that does not count."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeats + 1):
        for name, work in works.items():
            seconds = work()
            if turn:
                found[name].append(seconds)
    return {name: median(values) for name, values in found.items()}


def beside_copy(
    con: duckdb.DuckDBPyConnection, table: str, selects: Mapping[str, str], repeats: int = REPEATS
) -> dict[str, float]:
    """Seconds of some selects and, under COPY, of a copy of the table."""
    everything = {COPY: f"SELECT * FROM {table}", **selects}
    return interleaved({name: _creating(con, select) for name, select in everything.items()}, repeats)


def _creating(con: duckdb.DuckDBPyConnection, select: str) -> Callable[[], float]:
    return lambda: created(con, select)
