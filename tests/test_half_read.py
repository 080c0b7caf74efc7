"""A result of which only the first rows are read arrives as surely as a whole one, whoever reads it and how.

DuckDB 2.0.0 can wait for ever where a step of a statement is read twice; what that takes, and how statements are kept
from it, is said at ``_whole`` of query/tree.py. Everything here is asked in a process under watch: it is ended where no answer comes.
"""

from __future__ import annotations

import json
import queue
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator

import duckdb
import pytest

import ppduck
from ppduck.call.numeric_mask import NumericMask
from ppduck.call.registry import Function, PlainMacro, functions
from ppduck.designs.randomizing_mask import RandomizingMask
from ppduck.errors import PpduckWarning
from ppduck.guide.demo import DEMO
from ppduck.query import tree as sql
from tests.conftest import SECRET
from tests.half_read import READINGS

HANGING = ("2.0.0",)  # the versions of DuckDB that need what is done about it
ROWS = 300_000
MANY = {"limit": ROWS, "prompt": ROWS}  # as most people read
# What takes seconds a reading is read in two ways, of rows that would hang, too.
SLOW = {
    *("microaggregate_mask", "onn_mask", "recommend_mask", "relationships"),
    *("assert_release", "release_attack", "release_check"),
}
ENOUGH = 100_000  # some more than hang
PATIENCE, LITTLE_PATIENCE = 120.0, 8.0  # seconds
TWO_READERS = {"b": "SELECT *, x1 * 2 AS z FROM customers", "a": "SELECT avg(z) AS m FROM b"}
BOTH = "SELECT b.*, z - m AS d FROM b CROSS JOIN a"
MASKS = [each for each in functions() if isinstance(each, NumericMask | RandomizingMask)]


class Child:
    """A process that reads what it is told to, and is ended where it does not answer in time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def ask(self, rows: int, reading: str, statement: str, patience: float = PATIENCE) -> str:
        """What went wrong; empty where all is well."""
        if self._process is None:
            self._start()
            self.ask(rows, "limit", "FROM customers")  # the tables are made first
        process = self._process
        assert process is not None
        assert process.stdin is not None
        process.stdin.write(json.dumps([rows, reading, statement]) + "\n")
        process.stdin.flush()
        try:
            line = self._answers.get(timeout=patience)
        except queue.Empty:
            self.end()
            return "no answer"
        return str(json.loads(line)) if line else "ended"

    def _start(self) -> None:
        command = [sys.executable, "-m", "tests.half_read"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answers = queue.Queue()
        threading.Thread(target=_collect, args=(self._process, self._answers), daemon=True).start()

    def end(self) -> None:
        if self._process is not None:
            with self._process as process:
                process.kill()
            self._process = None


def _collect(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        answers.put(line)
    answers.put("")


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    started = Child()
    yield started
    started.end()


def call_of(function: Function) -> str:
    statement = function.example
    return statement[statement.index("FROM ") :]


def without_table(call: str) -> str:
    """The same call over a SELECT, which may be read once only."""
    found = re.sub(r"\('(customers|survey)'", r"('(SELECT * FROM \1)'", call)
    assert found != call
    return found


@pytest.mark.parametrize("function", functions(), ids=lambda function: function.name)
def test_every_reading_of_every_function_ends(child: Child, function: Function) -> None:
    rows = {"limit": ENOUGH, "arrow": ENOUGH} if function.name in SLOW else {**dict.fromkeys(READINGS, ENOUGH), **MANY}
    told = {reading: child.ask(some, reading, call_of(function)) for reading, some in rows.items()}
    assert told == dict.fromkeys(rows, "")


@pytest.mark.parametrize("function", MASKS, ids=lambda function: function.name)
def test_a_mask_of_a_select_is_read_in_part(child: Child, function: Function) -> None:
    call = without_table(call_of(function))
    rows, readings = (ENOUGH, ("exists",)) if function.name in SLOW else (ROWS, ("exists", "fetchone"))
    assert {reading: child.ask(rows, reading, call) for reading in readings} == dict.fromkeys(readings, "")


def test_what_statements_are_kept_from(child: Child) -> None:
    """A plain statement of two readers hangs in the versions that are said to, and in no others; a Statement never."""
    plain = "WITH " + ", ".join(f"{name} AS MATERIALIZED ({rows})" for name, rows in TWO_READERS.items())
    hangs = child.ask(ROWS, "limit", f"{plain} {BOTH}", LITTLE_PATIENCE) == "no answer"
    assert hangs == (duckdb.__version__ in HANGING)
    statement = sql.Statement()
    for name, rows in TWO_READERS.items():
        statement.step(name, sql.raw(rows), materialized=True)
    difference = sql.named(sql.minus(sql.column("z"), sql.column("m")), "d")
    both = sql.query([sql.star("b"), difference], sql.table("b").cross(sql.table("a")))
    assert child.ask(ROWS, "limit", sql.render(statement.query(both))) == ""


@pytest.fixture(scope="module")
def demo() -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect(secret=SECRET) as con:
        con.execute(DEMO)
        yield con


def steps(con: duckdb.DuckDBPyConnection, statement: str) -> list[tuple[str, str]]:
    """(name, mode) of the steps that DuckDB keeps or hands on; before 2.0 it tells no mode."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PpduckWarning)
        [(_, plan)] = con.execute(f"EXPLAIN {statement} LIMIT 1").fetchall()
    return re.findall(r"CTE Name: (\S+)[^╰]*?Execution Mode: (\S+)", plan)


@pytest.mark.skipif(duckdb.__version__ not in HANGING, reason="this DuckDB keeps every step whole")
@pytest.mark.parametrize(
    "function", [each for each in functions() if not isinstance(each, PlainMacro)], ids=lambda function: function.name
)
def test_no_step_is_handed_on_in_pieces(demo: duckdb.DuckDBPyConnection, function: Function) -> None:
    """Whatever the size of the tables: what DuckDB makes steps of by itself, it reads to the end."""
    calls = [call_of(function)]
    calls += [without_table(calls[0])] if function in MASKS else []
    found = [step for call in calls for step in steps(demo, call)]
    assert [name for name, mode in found if name.startswith("_pp_") and mode != "MATERIALIZED"] == []


@pytest.mark.skipif(duckdb.__version__ not in HANGING, reason="this DuckDB keeps every step whole")
def test_the_plan_tells(demo: duckdb.DuckDBPyConnection) -> None:
    """What the test above looks for is there where nothing is done about it."""
    plain = ", ".join(f"{name} AS MATERIALIZED ({rows})" for name, rows in TWO_READERS.items())
    assert ("b", "PIPELINE_DEPENDENT") in steps(demo, f"WITH {plain} {BOTH}")
