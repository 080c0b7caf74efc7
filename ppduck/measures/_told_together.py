"""The answer of what two releases tell together: a row for each attack on each column."""

from __future__ import annotations

from typing import Any

from ppduck.call.registry import Result

RESULTS = (
    Result(
        "attack",
        "VARCHAR",
        "differencing, averaging, randomized, certain, intersection, homogeneity or composition",
    ),
    Result("column_name", "VARCHAR", "the column that is told of; of an intersection those of qi"),
    Result("success", "DOUBLE", "the share that both releases tell; NULL where it is not known"),
    Result("baseline", "DOUBLE", "the share that the better one of them tells alone"),
    Result("gain", "DOUBLE", "success less baseline: what the second release adds"),
    Result("lower", "DOUBLE", "the lower end of the 95 % range of the gain"),
    Result("upper", "DOUBLE", "the upper end of it"),
    Result("rows", "BIGINT", "the rows that it is of"),
    Result("says", "VARCHAR", "the figures in words"),
)
NO_RANGE = (None, None)


def row(
    attack: str,
    column: str,
    figures: tuple[float, float] | None,
    ends: tuple[float | None, float | None],
    rows: int,
    says: str,
) -> dict[str, Any]:
    """One row; ``figures`` are success and baseline, None where they are not known."""
    success, baseline = figures or (None, None)
    gain = None if success is None or baseline is None else success - baseline
    lower, upper = ends
    return {
        "attack": attack, "column_name": column, "success": success, "baseline": baseline, "gain": gain,
        "lower": lower, "upper": upper, "rows": rows, "says": says,
    }  # fmt: skip


def nothing(attack: str, column: str, rows: int, says: str) -> dict[str, Any]:
    """A row that says that nothing is gained, whatever one release tells."""
    return row(attack, column, None, (0.0, 0.0), rows, says) | {"gain": 0.0}


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
