"""The measures of a release: canonical correlations beside the sums they rest on, and linkage of all with all."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import duckdb

import ppduck
from tests.benchmarks.large import NAME, child, peak
from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import SECRET, Shape, database, normal, scratch
from tests.benchmarks.timing import interleaved, once

SHAPE = Shape(2, 2)
TIMES_ROWS, MOST_GRAMS = 5, 2.0
LINKED = ["x1", "x2", "x3"]
LINKAGE = {100_000: 20.0, 1_000_000: None}
LEVEL = 0.01
OTHERS = 1_000_000


def security(report: Report, rows: int) -> None:
    """canonical_security at 5 times --rows, in units of one aggregate of sums and products over the joined table."""
    rows *= TIMES_ROWS
    report.section(f"{rows:,} rows of {SHAPE} and their release, in memory; x the Gram aggregate")
    with database("memory") as con:
        _make_release(con, rows)
        con.execute(
            "CREATE TABLE joined AS SELECT o.*, r.x1 AS y1, r.x2 AS y2 FROM original o JOIN release r USING (id)"
        )
        con.execute("CREATE TABLE shuffled AS FROM release ORDER BY hash(id)")
        call = "FROM canonical_security('original', '{}', conf=['x1','x2'], nonconf=['s1','s2'], key='id')"
        statements = {
            "Gram": _gram(["s1", "s2", "x1", "x2", "y1", "y2"]),
            "canonical_security": call.format("release"),
            "canonical_security, rows in another order": call.format("shuffled"),
        }
        found = interleaved({name: _fetching(con, text) for name, text in statements.items()}, repeats=3)
    for name, seconds in found.items():
        report.add(Line.against(name, seconds, found["Gram"], MOST_GRAMS if name != "Gram" else None))


def _gram(names: list[str]) -> str:
    """Sums and products of deviations from values near the means, as the masks take them."""
    values = [f"({name} - 0.5)" for name in names]
    sums = [f"sum({value})" for value in values]
    products = [f"sum({a} * {b})" for i, a in enumerate(values) for b in values[: i + 1]]
    return f"SELECT count(*), {', '.join(sums + products)} FROM joined"


def _fetching(con: duckdb.DuckDBPyConnection, text: str) -> Any:
    return lambda: once(lambda: con.execute(text).fetchall())


def _make_release(con: duckdb.DuckDBPyConnection, rows: int) -> None:
    columns = f"{normal(0)} AS s1, {normal(1)} AS s2, s1 + {normal(2)} AS x1, s2 - s1 + {normal(3)} AS x2"
    con.execute(f"CREATE TABLE original AS SELECT i AS id, {columns} FROM range({rows}) AS r(i)")
    con.execute(
        "CREATE TABLE release AS FROM egadp_mask('original', conf=['x1','x2'], nonconf=['s1','s2'], key='id', seed=1)"
    )


def linkage(report: Report, rows: int) -> None:
    """Distance linkage of three columns, all masked records against all originals, each run in a process of its own."""
    for size, most in LINKAGE.items():
        report.section(f"{size:,} x {size:,} records of {len(LINKED)} columns, noise of {LEVEL:.0%} of the variance")
        with scratch() as folder:
            for method in ("distance", "mahalanobis"):
                found = child("tests.benchmarks.assessment", method, str(folder / f"{method}-{NAME}"), str(size))
                target = "" if most is None else f"<= {most:g} s"
                ok = None if most is None else found["seconds"] <= most
                note = f"{found['share']:.3f} linked, peak {found['peak'] / 2**30:.2f} GiB resident"
                report.add(Line(f"record_linkage, {method}", found["seconds"], None, target, ok, note))


def others(report: Report, rows: int) -> None:
    """The rest of the functions, by time."""
    rows = min(rows, OTHERS)
    report.section(f"{rows:,} rows of {SHAPE} and their release, in memory")
    conf, columns = "conf=['x1','x2'], nonconf=['s1','s2']", "conf=['x1','x2']"
    calls = {
        "value_disclosure": f"value_disclosure('original', 'release', {conf}, key='id')",
        "mse_security, kernel": f"mse_security('original', 'release', {conf}, key='id', model='kernel')",
        "interval_disclosure": f"interval_disclosure('original', 'release', {columns}, key='id')",
        "information_loss": f"information_loss('original', 'release', {columns}, key='id')",
        "protection_score": f"protection_score('original', 'release', {columns}, key='id')",
        "equivalence_test": "equivalence_test('original', 'release', y='x1', x=['s1','s2'], key='id')",
        "utility_check": f"utility_check('original', 'release', {conf}, key='id')",
        "averaging_attack": "averaging_attack('original', 'release', conf=['x1','x2'], key='id')",
        "release_check": f"release_check('original', 'release', {conf}, key='id')",
    }
    with database("memory") as con:
        _make_release(con, rows)
        for name, call in calls.items():
            report.add(Line(name, once(lambda call=call: con.execute(f"FROM {call}").fetchall())))


def _step(method: str, path: Path, rows: int) -> dict[str, Any]:
    """What a child does: a table, its noisy release, and the linkage of one with the other."""
    with ppduck.connect(path, secret=SECRET) as con:
        columns = ", ".join(f"{normal(0)} * 0.6 + {normal(j)} * 0.8 AS {name}" for j, name in enumerate(LINKED, 1))
        con.execute(f"CREATE TABLE original AS SELECT i AS id, {columns} FROM range({rows}) AS r(i)")
        names = ", ".join(f"'{name}'" for name in LINKED)
        con.execute(
            f"CREATE TABLE release AS FROM noise_mask('original', conf=[{names}], level={LEVEL}, key='id', seed=1)"
        )
        call = f"SELECT linked_share FROM record_linkage('original', 'release', key='id', method='{method}')"
        found: list[Any] = []
        seconds = once(lambda: found.extend(con.execute(call).fetchall()))
        return {"seconds": seconds, "share": found[0][0], "peak": peak()}


if __name__ == "__main__":
    print(json.dumps(_step(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
