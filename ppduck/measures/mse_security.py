"""mse_security(): whether a release tells more of conf than what was open anyway, by mean squared errors.

E[X - E(X|S)]² = E[X - E(X|S,Y)]² and E[X - E(X|S)]² ≤ E[X - E(X|Y)]² (Al-Ahmadi 2006, 5.1 and 5.2), also as R² (5.5).
The conditional means are linear, piecewise linear, or learnt: a line and, by LS-SVM, a curve through what it leaves,
each row then predicted by a model of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ppduck.call.registry import Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.measures._pieces import (
    PiecesSpec,
    PiecesTold,
    ToleratedCall,
    answered,
    choose,
    pieces_of,
)
from ppduck.measures._prediction import BY, Predicted, predicted
from ppduck.pairs.measure import measure
from ppduck.pairs.rows import Pairs
from ppduck.query import tree as sql

NAME = "mse_security"
RESULTS = (
    Result("column_name", "VARCHAR", "a conf column, or all of them on average"),
    Result("measure", "VARCHAR", "which error, or which difference of two"),
    Result("passed", "BOOLEAN", "whether a difference is within its tolerance; NULL of an error"),
    # In the middle, which a narrow terminal leaves out.
    Result(
        "tolerance", "DOUBLE", "what chance makes of so many rows, or what the call allows, as R²"
    ),
    Result("rows", "BIGINT", "the pairs that it is of"),
    Result("mse", "DOUBLE", "the mean squared error, or the difference of two"),
    Result("r2", "DOUBLE", "the same as a share of the column's variance"),
    Result("meaning", "VARCHAR", "the measure in words"),
)
_MEANING = {
    "s": "E[X - E(X|S)]²: what nonconf leaves unknown",
    "sy": "E[X - E(X|S,Y)]²: what nonconf and the release leave unknown",
    "y": "E[X - E(X|Y)]²: what the release alone leaves unknown",
}


def answer(pairs: Pairs, call: ToleratedCall) -> sql.Expr:
    return answered(pairs, SOLVE, RESULTS, call.model, call.tolerance)


def solve(spec: PiecesSpec, told: PiecesTold) -> list[dict[str, Any]]:
    found = predicted(pieces_of(spec, told))
    return [
        row for each in [*found, *_together(found)] for row in _conditions(each, spec.tolerance)
    ]


def _together(found: Sequence[Predicted]) -> Iterator[Predicted]:
    """The mean over several columns."""
    if len(found) > 1:
        mean = {by: sum(each.mse[by] for each in found) / len(found) for by in BY}
        variance, chance = (
            sum(values) / len(found)
            for values in zip(*((e.variance, e.chance) for e in found), strict=True)
        )
        yield Predicted("all, on average", found[0].n, variance, mean, chance)


def _conditions(found: Predicted, asked: float | None) -> Iterator[dict[str, Any]]:
    """Differences count as MSE, tolerances given by the user as R²."""
    tolerance = found.chance if asked is None else asked * found.variance
    share = 1 / found.variance if found.variance > 0 else 0.0
    for by in BY:
        yield _row(found, f"mse_x_{by}", found.mse[by], found.r2(by), _MEANING[by])
    for difference, by, meaning in (
        (
            "mse_gain",
            "sy",
            "E[X - E(X|S)]² - E[X - E(X|S,Y)]²: what the release adds to nonconf; should be 0",
        ),
        ("mse_excess", "y", "E[X - E(X|S)]² - E[X - E(X|Y)]²: should not be above 0"),
    ):
        missed = found.mse["s"] - found.mse[by]
        yield _row(found, difference, missed, missed * share, meaning) | {
            "tolerance": tolerance * share,
            "passed": bool(missed <= tolerance),
        }


def _row(found: Predicted, measure: str, mse: float, r2: float, meaning: str) -> dict[str, Any]:
    return {
        "column_name": found.column, "measure": measure, "mse": mse, "r2": r2, "tolerance": None, "passed": None,
        "rows": found.n, "meaning": meaning,
    }  # fmt: skip


SOLVE = told_udf("ppduck_mse_security", solve, PiecesSpec, PiecesTold, rows_type(RESULTS))
FUNCTION = register(
    measure(
        NAME,
        ToleratedCall,
        "Errors and R² of predicting conf from nonconf, from the release and from both; whether the release adds any.",
        "Al-Ahmadi 2006, (5.1), (5.2), (5.5)",
        kind=Kind.CHECK,
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM mse_security('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
        udfs=(SOLVE,),
    )
)
