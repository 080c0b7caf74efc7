"""How long it takes before the first statement: importing ppduck, and loading a connection."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from tests.benchmarks.report import Line, Report

RUNS = 5
TARGETS = {"import ppduck": 0.4, "ppduck.load": 0.1}
_CODE = """
from time import process_time
begin = process_time()
import ppduck
imported = process_time()
import duckdb
con = duckdb.connect()
opened = process_time()
ppduck.load(con)
print(imported - begin, process_time() - opened)
"""


def start(report: Report, rows: int) -> None:
    """Processor seconds in fresh interpreters, the least of some runs: what else the machine does is not ours."""
    report.section("before the first statement, processor time")
    with tempfile.TemporaryDirectory() as compiled:
        _measured(compiled)
        runs = [_measured(compiled) for _ in range(RUNS)]
    for (name, target), seconds in zip(TARGETS.items(), map(min, zip(*runs, strict=True)), strict=True):
        report.add(Line(name, seconds, None, f"<= {target:g} s", seconds <= target, f"least of {RUNS} runs"))


def _measured(compiled: str) -> tuple[float, ...]:
    """With bytecode kept in a folder, whatever the machine's settings say: an installed package has it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = compiled
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True, env=environment)
    return tuple(map(float, done.stdout.split()))
