"""Attacks on a release: time and memory of all of them together, with people who are not in it, in a process of its own."""

from __future__ import annotations

import json
import sys
from typing import Any

import ppduck
from tests.benchmarks.large import child, peak
from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import SECRET, normal
from tests.benchmarks.timing import once

ROWS, MOST_ROWS = 1_000_000, 10_000_000
CONTROL = 5_000
MASKS = {"egadp_mask": "", "noise_mask": ", level=0.1"}


def attacks(report: Report, rows: int) -> None:
    """Of a million rows; of as many as --rows says, up to ten million, where these are more than the default."""
    _measured(report, min(rows, ROWS))
    if rows > 2 * ROWS:
        _measured(report, min(rows, MOST_ROWS))


def _measured(report: Report, rows: int) -> None:
    report.section(f"{rows:,} rows, 2 columns in conf and 4 known, {CONTROL:,} control people; x the join")
    for mask in MASKS:
        found = child("tests.benchmarks.attacks", str(rows), mask)
        note = f"peak {found['peak'] / 2**30:.2f} GiB resident, {found['before'] / 2**30:.2f} before"
        report.add(Line(f"release_attack of {mask}", found["seconds"], found["seconds"] / found["join"], note=note))


def _connection(rows: int, mask: str) -> tuple[Any, str]:
    con = ppduck.connect(secret=SECRET)
    con.execute(
        f"CREATE TABLE original AS SELECT i AS id, CAST(20 + hash(i) % 60 AS INTEGER) AS age, CAST(hash(i + 1) % 5000 AS "
        f"INTEGER) AS zip, ['a', 'b', 'c'][CAST(1 + hash(i + 2) % 3 AS INTEGER)] AS segment, {normal(0)} AS s, "
        f"0.5 * s + {normal(1)} AS x1, {normal(2)} AS x2 FROM range({rows + CONTROL}) AS r(i)"
    )
    con.execute(f"CREATE TABLE control AS FROM original WHERE id >= {rows}")
    con.execute(f"DELETE FROM original WHERE id >= {rows}")
    con.execute(f"CREATE TABLE release AS FROM {mask}('original', conf=['x1','x2'], key='id'{MASKS[mask]})")
    return con, "'original', 'release', conf=['x1','x2'], key='id', control='control'"


def _attack(rows: int, mask: str) -> dict[str, float]:
    con, told = _connection(rows, mask)
    with con:
        join = once(lambda: con.execute("CREATE TABLE joined AS FROM original JOIN release USING (id)"))
        con.execute("DROP TABLE joined")
        before = peak()
        seconds = once(lambda: con.execute(f"FROM release_attack({told})").fetchall())
        return {"join": join, "seconds": seconds, "peak": peak(), "before": before}


if __name__ == "__main__":
    print(json.dumps(_attack(int(sys.argv[1]), sys.argv[2])))
