"""A table far beyond the memory limit, masked in a process of its own so that its peak memory is its own."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb

import ppduck
from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import NARROW, SECRET, make, mask_call, scratch
from tests.benchmarks.timing import COPY, created, once

TIMES_ROWS = 25
LIMIT = "2GB"
EXACT = 1e-9
NAME = "benchmark.db"


def large(report: Report, rows: int) -> None:
    """EGADP of 25 times --rows under the memory limit, checked afterwards."""
    rows *= TIMES_ROWS
    report.section(f"{rows:,} rows of {NARROW}, file database, memory_limit {LIMIT}")
    needed = 4 * rows * NARROW.columns * 8  # original, result, what is spilled, and room
    with scratch() as folder:
        free = shutil.disk_usage(folder).free
        if free < needed:
            report.add(Line("not run", note=f"needs {needed / 2**30:.1f} GiB of disk, {free / 2**30:.1f} GiB are free"))
            return
        _child("make", folder, rows)
        copy, masked = _child("copy", folder, rows), _child("mask", folder, rows)
        checked = _child("check", folder, rows)
    report.add(_line(COPY, copy, copy))
    report.add(_line("egadp_mask", masked, copy))
    difference = checked["difference"]
    target = f"< {EXACT:g}"
    report.add(Line("moments_check", checked["seconds"], None, target, difference < EXACT, f"largest {difference:.1e}"))


def _line(what: str, found: dict[str, Any], copy: dict[str, Any]) -> Line:
    note = f"peak {found['peak'] / 2**30:.2f} GiB resident"
    return Line(what, found["seconds"], found["seconds"] / copy["seconds"], note=note)


def _child(step: str, folder: Path, rows: int) -> dict[str, Any]:
    return child("tests.benchmarks.large", step, str(folder / NAME), str(rows))


def child(module: str, *arguments: str) -> dict[str, Any]:
    """What a module tells that is run in a process of its own."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _step(step: str, path: str, rows: int) -> dict[str, Any]:
    """What a child does, and what it tells."""
    with ppduck.connect(path, secret=SECRET) as con:
        con.execute(f"SET memory_limit = '{LIMIT}'")
        match step:
            case "make":
                return {"seconds": once(lambda: make(con, "original", rows, NARROW))}
            case "copy":
                return {"seconds": created(con, "SELECT * FROM original"), "peak": peak()}
            case "mask":
                seconds = created(con, mask_call("egadp_mask", "original", NARROW.x_names))
                return {"seconds": seconds, "peak": peak()}
            case _:
                return _checked(con)


def _checked(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    found: list[float] = []

    def work() -> None:
        row = con.execute("SELECT max(abs(difference)) FROM moments_check('original', 'result')").fetchone()
        found.append(row[0] if row else float("nan"))

    return {"seconds": once(work), "difference": found[0]}


def peak() -> int:
    """The most bytes this process had resident.

    A child's ru_maxrss may still hold its parent's from before the program was loaded, so that
    the kernel's own high-water mark is asked first where there is one.
    """
    status = Path("/proc/self/status")
    mark = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    if mark:
        return int(mark[1]) * 2**10
    unit = 1 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    print(json.dumps(_step(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
