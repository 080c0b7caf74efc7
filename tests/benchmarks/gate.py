"""The gate: release_check beside the join of the two tables that it rests on, its planning, and its memory."""

from __future__ import annotations

import json
import sys
from time import process_time
from typing import Any

import ppduck
from tests.benchmarks.large import child, peak
from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import SECRET, normal
from tests.benchmarks.timing import once

MOST_ROWS = 1_000_000
COLUMNS = ((2, 2), (5, 5))  # in conf, and in nonconf
JOIN = "both tables joined by key"
PLANS = 4
VIEW_ROWS = 1_000


def gate(report: Report, rows: int) -> None:
    """Time and memory of the default rules, each number of columns in a process of its own, and CPU time to plan."""
    rows = min(rows, MOST_ROWS)
    for columns, open_columns in COLUMNS:
        report.section(f"{rows:,} rows, {columns} columns in conf and {open_columns} in nonconf, in memory; x the join")
        found = child("tests.benchmarks.gate", "check", str(rows), str(columns), str(open_columns))
        report.add(Line(JOIN, found["join"], 1.0))
        note = f"peak {found['peak'] / 2**30:.2f} GiB resident, {found['before'] / 2**30:.2f} before"
        report.add(Line("release_check", found["seconds"], found["seconds"] / found["join"], note=note))
    report.section(f"planning alone, CPU, {VIEW_ROWS:,} rows; x the plan of the mask")
    plans = child("tests.benchmarks.gate", "plan", str(VIEW_ROWS), *map(str, COLUMNS[0]))
    for what, seconds in plans.items():
        report.add(Line(what, seconds, seconds / plans["egadp_mask"]))


def _connection(rows: int, columns: int, open_columns: int) -> tuple[Any, str]:
    """A connection with a table, its release and a view of its release; and what a call says of its columns."""
    con = ppduck.connect(secret=SECRET)
    s = ", ".join(f"{normal(j)} AS s{j}" for j in range(1, open_columns + 1))
    x = ", ".join(f"0.5 * s1 + {normal(20 + j)} AS x{j}" for j in range(1, columns + 1))
    con.execute(f"CREATE TABLE original AS SELECT i AS id, {s}, {x} FROM range({rows}) AS r(i)")
    conf = ", ".join(f"'x{j}'" for j in range(1, columns + 1))
    known = ", ".join(f"'s{j}'" for j in range(1, open_columns + 1))
    told = f"conf=[{conf}], nonconf=[{known}], key='id'"
    for kind, name in (("TABLE", "release"), ("VIEW", "release_view")):
        con.execute(f"CREATE {kind} {name} AS FROM egadp_mask('original', {told})")
    return con, told


def _check(rows: int, columns: int, open_columns: int) -> dict[str, float]:
    con, told = _connection(rows, columns, open_columns)
    with con:
        join = once(lambda: con.execute("CREATE TABLE joined AS FROM original JOIN release USING (id)"))
        con.execute("DROP TABLE joined")
        before = peak()
        seconds = once(lambda: con.execute(f"FROM release_check('original', 'release', {told})").fetchall())
        return {"join": join, "seconds": seconds, "peak": peak(), "before": before}


def _plan(rows: int, columns: int, open_columns: int) -> dict[str, float]:
    con, told = _connection(rows, columns, open_columns)
    calls = {
        "egadp_mask": f"egadp_mask('original', {told})",
        "release_check of a table": f"release_check('original', 'release', {told})",
        "release_check of a view, read ten times": f"release_check('original', 'release_view', {told})",
    }
    with con:
        return {what: min(_planned(con, call) for _ in range(PLANS)) for what, call in calls.items()}


def _planned(con: Any, call: str) -> float:
    begin = process_time()
    con.execute(f"PREPARE planned AS FROM {call}")
    return process_time() - begin


if __name__ == "__main__":
    work = {"check": _check, "plan": _plan}[sys.argv[1]]
    print(json.dumps(work(*map(int, sys.argv[2:5]))))
