"""Whether time grows with the rows and no faster."""

from __future__ import annotations

from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import NARROW, database, make, mask_call
from tests.benchmarks.timing import COPY, beside_copy

# Sizes as shares of --rows, and how many rounds count.
SIZES = ((0.5, 4), (2.5, 2), (10.0, 1))


def linearity(report: Report, rows: int) -> None:
    """EGADP of three sizes in a file."""
    report.section(f"linearity: egadp_mask of {NARROW}, file database")
    first: float | None = None
    for share, repeats in SIZES:
        size = int(rows * share)
        with database("file") as con:
            make(con, "original", size, NARROW)
            select = mask_call("egadp_mask", "original", NARROW.x_names)
            found = beside_copy(con, "original", {"egadp": select}, repeats)
        per_million, copy = (found[name] / size * 1e6 for name in ("egadp", COPY))
        first = per_million if first is None else first
        note = f"{per_million:.3f} s per million rows (copy {copy:.3f}), {per_million / first:.2f} times that of the smallest"
        report.add(Line(f"{size:,} rows", found["egadp"], found["egadp"] / found[COPY], note=note))
