"""The masks that are ranked by protection scores: swapping beside a copy, grouping and networks by time, and sdcMicro."""

from __future__ import annotations

from tests.benchmarks.masks import Case, in_both
from tests.benchmarks.report import Line, Report
from tests.benchmarks.sdcmicro import THREE_COLUMNS, r_seconds
from tests.benchmarks.tables import NARROW, Shape, database, make, mask_call
from tests.benchmarks.timing import REPEATS, created

MOST_ROWS = 1_000_000
SWAP = {"rank_swap_mask, reach 14": Case("rank_swap_mask", ", reach := 14", most=30)}
SDCMICRO_SWAP = 42.0  # seconds of sdcMicro's rankSwap for a million rows of three columns, as published
SWAP_SCRIPT = f"""{THREE_COLUMNS}
cat(system.time(rankSwap(d, variables = names(d), TopPercent = 0, BottomPercent = 0, P = 14))[["elapsed"]])
"""
# Rows, and the seconds of sdcMicro's compiled MDAV for three columns and k = 3, as published.
SDCMICRO_GROUP = {10_000: 0.26, 20_000: 1.1}
GROUP_SCRIPT = f"""{THREE_COLUMNS}
cat(system.time(microaggregation(d, variables = names(d), method = "mdav", aggr = 3))[["elapsed"]])
"""
LARGER = (100_000, 1_000_000)
CENSUS_ROWS, CENSUS_COLUMNS, NETWORK_SECONDS = 1_080, 13, 10.0


def swap(report: Report, rows: int) -> None:
    """Rank swapping in a file and in memory."""
    rows = min(rows, MOST_ROWS)
    found = in_both(report, rows, NARROW, SWAP, repeats=3)["memory"]["rank_swap_mask, reach 14"]
    measured = r_seconds(SWAP_SCRIPT.format(rows=rows))
    published = f"published: {SDCMICRO_SWAP:g} s per {MOST_ROWS:,} rows"
    if isinstance(measured, str):
        report.add(Line("sdcMicro rankSwap", note=f"{measured}; {published}"))
    else:
        report.add(Line("sdcMicro rankSwap", measured, note=f"{measured / found:.0f} times as long; {published}"))


def group(report: Report, rows: int) -> None:
    """MDAV of three columns, k = 3, in memory: where sdcMicro was timed, and of more rows."""
    for size in (*SDCMICRO_GROUP, *(each for each in LARGER if each <= rows)):
        report.section(f"{size:,} rows x {NARROW.x} columns, k = 3, in memory")
        seconds = _seconds("microaggregate_mask", size, NARROW, ", k := 3", REPEATS if size in SDCMICRO_GROUP else 1)
        published = SDCMICRO_GROUP.get(size)
        if published is None:
            report.add(Line("microaggregate_mask", seconds))
            continue
        measured = r_seconds(GROUP_SCRIPT.format(rows=size))
        most = published if isinstance(measured, str) else measured
        report.add(Line("microaggregate_mask", seconds, None, f"<= {most:g} s", seconds <= most))
        told = f"published: {published:g} s"
        if isinstance(measured, str):
            report.add(Line("sdcMicro mdav", note=f"{measured}; {told}"))
        else:
            report.add(Line("sdcMicro mdav", measured, note=told))


def networks(report: Report, rows: int) -> None:
    """ONN-A on a table of the size of Census."""
    shape = Shape(1, CENSUS_COLUMNS)
    report.section(f"{CENSUS_ROWS:,} rows x {CENSUS_COLUMNS} columns, in memory")
    seconds = _seconds("onn_mask", CENSUS_ROWS, shape, "", 3)
    report.add(Line("onn_mask", seconds, None, f"<= {NETWORK_SECONDS:g} s", seconds <= NETWORK_SECONDS))


def _seconds(mask: str, rows: int, shape: Shape, options: str, repeats: int) -> float:
    """The least of some runs: planning and compiling are the same in all, and others only disturb."""
    with database("memory") as con:
        make(con, "original", rows, shape)
        call = mask_call(mask, "original", shape.x_names, options)
        return min(created(con, call) for _ in range(repeats))
