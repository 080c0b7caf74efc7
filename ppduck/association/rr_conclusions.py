"""rr_conclusions(): what measures on randomized rows say of the original where p is not known (Guo 2010, chapter 4).

Randomization lessens association. For some measures that is certain (vertical monotonicity, Results 4, 5, 8): the
original is at least as strong as the published one. For some the order of two pairs of columns is kept where both
were randomized alike (horizontal, Results 6, 7). All of it is about expected tables: a published value scatters about
its expectation by about ``std_error`` (NULL near independence for χ² and its kin, where it is not known).

Two of the results are stated more narrowly here than there. Result 8 gives mutual information, τ and U for columns
of any number of levels and any matrix. With three levels or more and a matrix that favours some levels they can rise:
where B tells only whether A is its first level, publishing the third level as the second raises U from 0.67 to 1. They
are certain where every level has the same p. And with |AV| the order of pairs (Result 7) is kept where it is the column
of the consequent, b, that was randomized; with |D| where it is a: the other margin must not move.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ppduck.association.rr_association import known, measure_error
from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import DesignWords
from ppduck.errors import Faults, quoted
from ppduck.estimators import cells, count_column, count_table
from ppduck.kernels import association
from ppduck.kernels.independence import conditional
from ppduck.values import Array

NAME = "rr_conclusions"
SOLVE = "ppduck_rr_conclusions"
MOST_CELLS = 2_500  # the slopes of a measure take a table for every cell
# Under which conditions on the matrices; all but the first want both columns to have had the levels that they show.
ANY, SAME = "any matrices", "any matrices, no level lost"
HALF, UNIFORM = "every level kept with p >= 0.5", "one p for all levels of a column, no level lost"
_ROW = (
    "STRUCT(measure VARCHAR, says VARCHAR, value DOUBLE, at_least DOUBLE, std_error DOUBLE, condition VARCHAR, "
    "order_of_pairs VARCHAR, reference VARCHAR)"
)
SOLVE_TYPES = (cells.ARGUMENTS, f"{_ROW}[]")


@dataclass(frozen=True)
class Law:
    """How far a measure on randomized rows bounds that of the original."""

    condition: str
    reference: str
    independent: float = 0.0  # the value of independence, from which strength is counted


_SIGNED = {"phi", "risk_difference", "piatetsky_shapiro", "certainty", "added_value", "kappa", "standardized_residual"}
ALWAYS = {
    **{name: Law(ANY, "Result 4") for name in ("chi2", "g2")},
    **{
        name: Law(SAME, "Result 4")
        for name in ("mutual_information", "concentration", "uncertainty", "cramers_v", "phi", "risk_difference",
                     "piatetsky_shapiro")
    },
}  # fmt: skip
FROM_HALF = {
    **{name: Law(HALF, "Result 5") for name in ("certainty", "added_value", "kappa")},
    **{name: Law(HALF, "Result 5", 1.0) for name in ("odds_ratio", "interest", "conviction", "collective_strength")},
    "standardized_residual": Law(HALF, "as Result 5: |PS| falls faster than the root of the margins"),
}
MANY_LEVELS = {
    **{name: Law(ANY, "Result 8") for name in ("chi2", "g2")},
    "cramers_v": Law(SAME, "Result 8"),
    **{
        name: Law(UNIFORM, "Result 8, narrowed")
        for name in ("mutual_information", "concentration", "uncertainty")
    },
}  # fmt: skip
_SAME = "kept between pairs that were randomized by the same matrices"
ORDER = {
    "piatetsky_shapiro": {"both": f"{_SAME} (Result 6)", "a": f"{_SAME} (Result 6)", "b": f"{_SAME} (Result 6)"},
    "risk_difference": {"a": f"{_SAME} (Result 7)"},
    "added_value": {"b": f"{_SAME} (Result 7)"},
}


def laws_of(shape: Sequence[int]) -> dict[str, Law]:
    return {**ALWAYS, **FROM_HALF} if tuple(shape) == (2, 2) else MANY_LEVELS


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    # Nothing is read of how the rows came about: that is what this function does without.
    table = count_table.read_table(NAME, catalog, given["tbl"], [given["a"], given["b"]], DesignWords(), ())
    counted = count_table.cells_of(
        catalog, table, MOST_CELLS, null_is_level=given.get("on_null") == "level", count=given.get("count")
    )
    statement = counted.statement(SOLVE, {"who": given.get("randomized", "both")})
    return statement.finish('SELECT unnest("_pp_row") FROM (SELECT unnest("_pp_r") AS "_pp_row" FROM "_pp_solved")')


def solve(
    specification: str, sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int,
) -> list[dict[str, Any]]:  # fmt: skip
    spec = json.loads(specification)
    found = cells.reconstruction(spec, sizes, numbers, counts, strangers)
    for column, size in zip(spec["columns"], sizes, strict=True):
        if size < 2:
            raise Faults(NAME, spec["table"]).refuse(
                f"column {quoted(column['column'])} has a single level; association needs two."
            )
    laws, rows = laws_of(sizes), []
    for name, measure in association.measures_for(tuple(sizes)).items():
        value = association.value(measure, found.observed, found.n)
        error = measure_error(name, measure, found, found.observed)
        said = _said(name, value, laws.get(name), spec["who"])
        rows.append({"measure": name, "value": known(value), "std_error": known(error), **said})
    return [*rows, _test(found.counts)]


def _test(counts: Array) -> dict[str, Any]:
    """The test of independence, which randomization leaves at its level."""
    return {
        "measure": "p_value",
        "value": conditional(counts).p_value,
        "std_error": None,
        "says": "where it rejects independence the originals depend; where it does not, they may",
        "at_least": None,
        "condition": ANY,
        "order_of_pairs": "not kept",
        "reference": "Guo (2010), Result 9",
    }


def _said(name: str, value: float, law: Law | None, who: str) -> dict[str, Any]:
    order = ORDER.get(name, {}).get(who, "not kept")
    if law is None or not math.isfinite(value):
        why = "neither monotone nor kept in order" if law is None else "not defined on these rows"
        return {
            "says": "nothing", "at_least": None, "condition": None, "order_of_pairs": order, "reference": why,
        }  # fmt: skip
    strength = abs(value - law.independent)
    of = f"|original - {law.independent:g}|" if law.independent else "|original|" if name in _SIGNED else "original"
    return {
        "says": f"in expectation {of} >= {strength:.6g}",
        "at_least": strength,
        "condition": law.condition,
        "order_of_pairs": order,
        "reference": f"Guo (2010), {law.reference}",
    }


FUNCTION = register(
    Function(
        NAME,
        (
            count_table.TBL,
            Parameter("a", arguments.words, "the column of the rows"),
            Parameter("b", arguments.words, "the column of the columns; of two levels each, the second is presence"),
            Parameter(
                "randomized", arguments.choice("both", "a", "b"), "which of the two columns were randomized", "'both'"
            ),
            count_column.COUNT,
        ),
        plan,
        "What measures on randomized rows say of the original where p is not known, and on which condition.",
        "Guo (2010), Results 4 to 9",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"), count_column.UDF),
    )
)
