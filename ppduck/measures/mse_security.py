"""mse_security(): whether a release tells more of conf than what was open anyway, by mean squared errors.

E[X - E(X|S)]² = E[X - E(X|S,Y)]² and E[X - E(X|S)]² ≤ E[X - E(X|Y)]² (Al-Ahmadi 2006, 5.1 and 5.2), also as R² (5.5).
The conditional means are linear, piecewise linear, or learnt: a line and, by LS-SVM, a curve through what it leaves,
each row then predicted by a model of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.measures._measure import MODEL, PIECES, TAKES, TOLERANCE, pieces_of, planned
from ppduck.measures._prediction import BY, Predicted, predicted
from ppduck.measures.relation_frame import row_types
from ppduck.pairs import rows as row_pairs
from ppduck.pairs.moments import CONF, KEY, NONCONF, ORIGINAL, RELEASE
from ppduck.values import Array

NAME = "mse_security"
SOLVE = "ppduck_mse_security"
COLUMNS = {
    "column_name": "VARCHAR",
    "measure": "VARCHAR",
    "passed": "BOOLEAN",
    "tolerance": "DOUBLE",  # in the middle, which a narrow terminal leaves out
    "rows": "BIGINT",
    "mse": "DOUBLE",
    "r2": "DOUBLE",
    "meaning": "VARCHAR",
}
GIVES = row_types(COLUMNS)
_MEANING = {
    "s": "E[X - E(X|S)]²: what nonconf leaves unknown",
    "sy": "E[X - E(X|S,Y)]²: what nonconf and the release leave unknown",
    "y": "E[X - E(X|Y)]²: what the release alone leaves unknown",
}


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    return planned(NAME, catalog, given, SOLVE, COLUMNS)


def solve(specification: str, _: int, *told: Array | None) -> list[dict[str, Any]]:
    pieces = pieces_of(specification, *told)
    found = predicted(pieces)
    return [row for each in [*found, *_together(found)] for row in _conditions(each, pieces[0].spec["tolerance"])]


def _together(found: Sequence[Predicted]) -> Iterator[Predicted]:
    """The mean over several columns."""
    if len(found) > 1:
        mean = {by: sum(each.mse[by] for each in found) / len(found) for by in BY}
        variance, chance = (
            sum(values) / len(found) for values in zip(*((e.variance, e.chance) for e in found), strict=True)
        )
        yield Predicted("all, on average", found[0].n, variance, mean, chance)


def _conditions(found: Predicted, asked: float | None) -> Iterator[dict[str, Any]]:
    """Differences count as MSE, tolerances given by the user as R²."""
    tolerance = found.chance if asked is None else asked * found.variance
    share = 1 / found.variance if found.variance > 0 else 0.0
    for by in BY:
        yield _row(found, f"mse_x_{by}", found.mse[by], found.r2(by), _MEANING[by])
    for measure, by, meaning in (
        ("mse_gain", "sy", "E[X - E(X|S)]² - E[X - E(X|S,Y)]²: what the release adds to nonconf; should be 0"),
        ("mse_excess", "y", "E[X - E(X|S)]² - E[X - E(X|Y)]²: should not be above 0"),
    ):
        missed = found.mse["s"] - found.mse[by]
        yield _row(found, measure, missed, missed * share, meaning) | {
            "tolerance": tolerance * share,
            "passed": bool(missed <= tolerance),
        }


def _row(found: Predicted, measure: str, mse: float, r2: float, meaning: str) -> dict[str, Any]:
    return {
        "column_name": found.column, "measure": measure, "mse": mse, "r2": r2, "tolerance": None, "passed": None,
        "rows": found.n, "meaning": meaning,
    }  # fmt: skip


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, RELEASE, CONF, KEY, NONCONF, MODEL, PIECES, TOLERANCE),
        plan,
        "Errors and R² of predicting conf from nonconf, from the release and from both; whether the release adds any.",
        "Al-Ahmadi 2006, (5.1), (5.2), (5.5)",
        udfs=(Udf(SOLVE, solve, TAKES, GIVES), row_pairs.UDF),
    )
)
