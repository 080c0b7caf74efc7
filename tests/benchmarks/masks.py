"""Every mask against a copy of its table, in a file and in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import NARROW, WIDE, Shape, database, make, mask_call
from tests.benchmarks.timing import COPY, REPEATS, beside_copy


@dataclass(frozen=True)
class Case:
    """One masking call: its options beside conf, and how many copies it may take."""

    mask: str
    options: str = ""
    most: float | None = None
    aim: float | None = None


EGADP = {"egadp_mask": Case("egadp_mask", most=10, aim=6)}
NOISE = {
    "noise_mask, level 0.1": Case("noise_mask", ", level := 0.1", most=5),
    "kim_mask, level 0.1": Case("kim_mask", ", level := 0.1", most=5),
}
OTHERS = {
    "ipso_mask": Case("ipso_mask"),
    "gadp_mask": Case("gadp_mask"),
    "sufficiency_mask, alpha 0.9": Case("sufficiency_mask", ", alpha := 0.9"),
}


def egadp(report: Report, rows: int) -> None:
    in_both(report, rows, NARROW, EGADP)


def noise(report: Report, rows: int) -> None:
    in_both(report, rows, NARROW, NOISE)


def others(report: Report, rows: int) -> None:
    in_both(report, rows, NARROW, OTHERS, repeats=3)


def wide(report: Report, rows: int) -> None:
    in_both(report, rows, WIDE, {"egadp_mask": Case("egadp_mask")}, repeats=3)


def in_both(
    report: Report, rows: int, shape: Shape, cases: Mapping[str, Case], repeats: int = REPEATS, remark: str = ""
) -> dict[str, dict[str, float]]:
    """Reports the cases beside a copy, and returns their seconds by database and case."""
    seconds: dict[str, dict[str, float]] = {}
    for where in ("file", "memory"):
        report.section(f"{rows:,} rows of {shape}{remark}, {where} database")
        with database(where) as con:
            make(con, "original", rows, shape)
            selects = {
                name: mask_call(case.mask, "original", shape.x_names, case.options) for name, case in cases.items()
            }
            seconds[where] = found = beside_copy(con, "original", selects, repeats)
        report.add(Line("copy", found[COPY], 1.0))
        for name, case in cases.items():
            report.add(Line.against(name, found[name], found[COPY], case.most, case.aim))
    return seconds
