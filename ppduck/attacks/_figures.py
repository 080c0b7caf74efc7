"""What an attack answers: shares of success, beside what is had without the release or is true of anybody."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppduck.call.registry import Result
from ppduck.kernels import score_ranges
from ppduck.values import Array

RESULTS = (
    Result("attack", "VARCHAR", "what the intruder is after"),
    Result("method", "VARCHAR", "how"),
    Result("column_name", "VARCHAR", "the conf column; NULL of attacks on whole records"),
    Result("success", "DOUBLE", "the share of people that it succeeds with; of membership, the balanced accuracy"),
    Result("baseline", "DOUBLE", "the same without what the release adds: known columns, or chance"),
    Result("control", "DOUBLE", "the same with people who are not in the release; NULL without them"),
    Result("gain", "DOUBLE", "success - the larger of baseline and control: what the release gives away"),
    Result("lower", "DOUBLE", "the lower end of the 95 % range of gain"),
    Result("upper", "DOUBLE", "the upper end"),
    Result("rows", "BIGINT", "the people that were attacked"),
    Result("says", "VARCHAR", "the figures in words, or why there are none"),
)  # fmt: skip


def row(
    attack: str,
    method: str,
    says: str,
    *,
    column: str | None = None,
    success: float | None = None,
    baseline: float | None = None,
    control: float | None = None,
    between: score_ranges.Range | None = None,
    rows: int | None = None,
) -> dict[str, Any]:
    """A row of the answer; without figures, ``says`` tells why there are none."""
    gain = lower = upper = None
    if success is not None:
        gain = success - max(each for each in (baseline, control, -1.0) if each is not None)
        if between is not None:
            # A range that holds its own figure, whatever its last bits say.
            lower, upper = min(between[0], gain), max(between[1], gain)
    figures = {
        "success": success,
        "baseline": baseline,
        "control": control,
        "gain": gain,
        "lower": lower,
        "upper": upper,
    }
    told = {name: None if value is None else rounded(value) for name, value in figures.items()}
    return {
        "attack": attack,
        "method": method,
        "column_name": column,
        **told,
        "rows": rows,
        "says": says,
    }


def rounded(value: float) -> float:
    """Four digits: more would be of the sample and not of the release."""
    return float(f"{value:.4g}")


def judged(
    attack: str,
    method: str,
    says: str,
    mine: Array,
    without: Array | float,
    *,
    control: Array | None = None,
    column: str | None = None,
) -> dict[str, Any]:
    """The row of outcomes from 0 to 1, of the same people with and without the release, and of control people.

    ``without`` is a number where it is known and not estimated.
    """
    success, n = float(mine.mean()), len(mine)
    baseline = without if isinstance(without, float) else float(without.mean())
    of_control = None if control is None else float(control.mean())
    if of_control is not None and control is not None and of_control > baseline:
        between = score_ranges.of_two_groups(success, n, of_control, len(control))
    elif isinstance(without, float):
        between = score_ranges.difference(
            success, score_ranges.wilson(success, n), without, (without, without)
        )
    else:
        between = score_ranges.of_same_people(mine, without)
    told = row(
        attack,
        method,
        "",
        column=column,
        success=success,
        baseline=baseline,
        control=of_control,
        between=between,
        rows=n,
    )
    return told | {"says": f"{says}; {verdict(between[0])}"}


def verdict(lower: float) -> str:
    """What a range of gain means."""
    return (
        "the release gives this away"
        if lower > 0
        else "no more than without it, as far as can be told"
    )


def share(value: float) -> str:
    """A share for a sentence."""
    return f"{100 * value:.1f} %"


def rows_of(values: Array | None, width: int) -> Array:
    """Rows of a list that holds one after the other."""
    return np.empty((0, width)) if values is None or not width else values.reshape(-1, width)
