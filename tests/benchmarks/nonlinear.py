"""The masks that sort and those that learn: rank-based ones beside a copy and sdcMicro, kernel ones by time and memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
from scipy.stats import spearmanr

import ppduck
from ppduck.values import Array
from tests.benchmarks.large import EXACT, NAME, child, peak
from tests.benchmarks.masks import Case, in_both
from tests.benchmarks.report import Line, Report
from tests.benchmarks.sdcmicro import r_seconds
from tests.benchmarks.tables import NARROW, SECRET, Shape, database, make, mask_call, normal, scratch, uniform
from tests.benchmarks.timing import COPY, created

MOST_ROWS = 1_000_000
AT_MOST = f"{MOST_ROWS:,} at most"

SHUFFLES = {"shuffle_mask": Case("shuffle_mask", most=20), "cgadp_mask": Case("cgadp_mask", most=20)}
SDCMICRO_SECONDS, FASTER = 21.8, 10  # sdcMicro's shuffle of a million rows as published, and how far to be ahead of it
SDCMICRO_SCRIPT = """
if (!requireNamespace("sdcMicro", quietly = TRUE)) quit(status = 3)
suppressPackageStartupMessages(library(sdcMicro))
set.seed(1)
n <- {rows}
z <- rnorm(n)
d <- as.data.frame(sapply(1:6, function(k) 0.6 * z + 0.8 * rnorm(n)))
names(d) <- c("s1", "s2", "s3", "x1", "x2", "x3")
shuffled <- function() shuffle(d, x1 + x2 + x3 ~ s1 + s2 + s3, method = "ds", covmethod = "spearman", gadp = FALSE)
cat(median(replicate(3, system.time(shuffled())[["elapsed"]])))
"""
SMALL, DRAWS, SDCMICRO_ERROR = 1_000, 20, "0.02 to 0.04"

STORE = Shape(2, 2)
VARIANTS, EXACT_VARIANT = (1, 4), 1  # of which one keeps moments exactly
SMALL_SECONDS, LARGE_SECONDS, MOST_MEMORY = 2.0, 60.0, 2 * 10**9


def shuffle(report: Report, rows: int) -> None:
    """Shuffling and C-GADP, in a file and in memory; then the seconds beside sdcMicro's, and the error of a small table."""
    rows = min(rows, MOST_ROWS)
    in_memory = in_both(report, rows, NARROW, SHUFFLES, repeats=3, remark=f" ({AT_MOST})")["memory"]
    _beside_sdcmicro(report, rows, in_memory)
    _errors(report)


def _beside_sdcmicro(report: Report, rows: int, in_memory: dict[str, float]) -> None:
    report.section(f"{rows:,} rows of {NARROW} ({AT_MOST}), sdcMicro beside ppduck, in memory")
    published = SDCMICRO_SECONDS * rows / MOST_ROWS
    measured = r_seconds(SDCMICRO_SCRIPT.format(rows=rows))
    reference = f"published: {SDCMICRO_SECONDS} s per {MOST_ROWS:,} rows"
    if isinstance(measured, str):
        report.add(Line("sdcMicro shuffle", note=f"{measured}; {reference}"))
    else:
        report.add(Line("sdcMicro shuffle", measured, measured / in_memory[COPY], note=reference))
    other = published if isinstance(measured, str) else measured
    for name in SHUFFLES:
        times = other / in_memory[name]
        note = f"{times:.1f} times as fast as sdcMicro {'published' if other is published else 'here'}"
        report.add(Line(name, in_memory[name], None, f">= {FASTER} x sdcMicro", times >= FASTER, note))


def _errors(report: Report) -> None:
    """No target: whether sdcMicro's figures are of the mean or of the largest error is not known."""
    report.section(f"{SMALL:,} rows of {NARROW}: errors of correlations with an X, over {DRAWS} tables")
    with database("memory") as con:
        make(con, "everything", SMALL * DRAWS, NARROW)
        for name, case in SHUFFLES.items():
            errors = np.array(list(_errors_of(con, case)))
            for kind, of_kind in zip(("correlations", "rank correlations"), errors.swapaxes(0, 1), strict=True):
                largest = of_kind.max(axis=1).mean()
                note = f"{of_kind.mean():.4f}, largest of a table {largest:.4f}; sdcMicro: {SDCMICRO_ERROR}"
                report.add(Line(f"{name}, {kind}", note=note))


def _errors_of(con: duckdb.DuckDBPyConnection, case: Case) -> Iterator[tuple[Array, Array]]:
    """(of correlations, of rank correlations), table by table."""
    rows, columns = np.triu_indices(NARROW.columns, 1)
    with_x = rows[columns >= NARROW.s], columns[columns >= NARROW.s]  # X stand after S
    for draw in range(DRAWS):
        con.execute(f"CREATE OR REPLACE TABLE original AS FROM everything LIMIT {SMALL} OFFSET {draw * SMALL}")
        original = _columns(con, "FROM original")
        masked = _columns(con, mask_call(case.mask, "original", NARROW.x_names, f", seed := {draw}"))
        yield (
            np.abs(np.corrcoef(masked.T) - np.corrcoef(original.T))[with_x],
            np.abs(spearmanr(masked).statistic - spearmanr(original).statistic)[with_x],
        )


def _columns(con: duckdb.DuckDBPyConnection, query: str) -> Array:
    return np.column_stack(list(con.execute(query).fetchnumpy().values()))


def relations(report: Report, rows: int) -> None:
    """NM-EGADP of a small table and of a large one, each call in a process of its own.

    A process that has learnt a relation remembers it, and would be timed without its dearest step.
    """
    _relations(report, SMALL, SMALL_SECONDS, repeats=3)
    _relations(report, min(rows, MOST_ROWS), LARGE_SECONDS, repeats=1, remark=f" ({AT_MOST})")


def _relations(report: Report, rows: int, most: float, repeats: int, remark: str = "") -> None:
    report.section(f"{rows:,} rows of {STORE}{remark}, up and down again, file database")
    with scratch() as folder:
        _step_of("make", folder, rows)
        copies = [_step_of("copy", folder) for _ in range(repeats)]
        report.add(Line(COPY, median(found["seconds"] for found in copies), 1.0, note=f"R² {copies[0]['r2']:.3f}"))
        for variant in VARIANTS:
            runs = [_step_of("mask", folder, variant) for _ in range(repeats)]
            seconds, memory = (median(found[part] for found in runs) for part in ("seconds", "peak"))
            target = f"<= {most:g} s, {MOST_MEMORY / 1e9:g} GB"
            note = f"{seconds:.2f} s, peak {memory / 1e9:.2f} GB resident, R² {runs[0]['r2']:.3f}"
            ok = seconds <= most and memory <= MOST_MEMORY
            report.add(Line(f"nm_egadp_mask, variant {variant}", seconds, None, target, ok, note))
            if variant == EXACT_VARIANT:
                difference = max(found["difference"] for found in runs)
                note = f"largest {difference:.1e}"
                report.add(Line("moments_check", target=f"< {EXACT:g}", ok=difference < EXACT, note=note))


def _step_of(step: str, folder: Path, number: int = 0) -> dict[str, Any]:
    return child("tests.benchmarks.nonlinear", step, str(folder / NAME), str(number))


def _step(step: str, path: str, number: int) -> dict[str, Any]:
    """What a child does, and what it tells; ``number`` is of rows or of the variant."""
    with ppduck.connect(path, secret=SECRET) as con:
        if step == "make":
            _make_store(con, number)
            return {}
        call = mask_call("nm_egadp_mask", "original", STORE.x_names, f", variant := {number}")
        found: dict[str, Any] = {"seconds": created(con, "FROM original" if step == "copy" else call), "peak": peak()}
        found["r2"] = _only(con, "SELECT regr_r2(x1, abs(s1 - 40)) FROM result")
        if step == "mask" and number == EXACT_VARIANT:
            found["difference"] = _only(con, "SELECT max(abs(difference)) FROM moments_check('original', 'result')")
        return found


def _only(con: duckdb.DuckDBPyConnection, query: str) -> float:
    [(value,)] = con.execute(query).fetchall()
    return float(value)


def _make_store(con: duckdb.DuckDBPyConnection, rows: int) -> None:
    """X1 rises with S1 up to 40 and falls again, X2 the other way round, with noise enough to be released."""
    con.execute(
        f"""
        CREATE TABLE original AS
        SELECT 20 + 40 * {uniform(1)} AS s1, ({uniform(2)} < 0.468)::INTEGER AS s2,
               200 + 10 * (20 - abs(s1 - 40)) + 100.5 * {normal(2)} AS x1,
               600 - 10 * (20 - abs(s1 - 40)) + 76.9 * {normal(3)} AS x2
        FROM range({rows}) AS r(i)
        """
    )


if __name__ == "__main__":
    print(json.dumps(_step(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
