"""rr_conclusions(): what measures on randomized rows say of the original where p is not known.

Randomization lessens association (Guo 2010, chapter 4). For some measures that is certain (vertical
monotonicity, Results 4, 5, 8): the original is at least as strong as the published one. For some
the order of two pairs of columns is kept where both were randomized alike (horizontal, Results 6,
7). All of it is about expected tables: a published value scatters about its expectation by about
``std_error`` (NULL near independence for χ² and its kin, where it is not known).

Two of the results are stated more narrowly here than there. Result 8 gives mutual information, τ
and U for columns of any number of levels and any matrix. With three levels or more and a matrix
that favours some levels they can rise: where B tells only whether A is its first level, publishing
the third level as the second raises U from 0.67 to 1. They are certain where every level has the
same p. And with |AV| the order of pairs (Guo 2010, Result 7) is kept where it is the column of the
consequent, b, that was randomized; with |D| where it is a: the other margin must not move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ppduck.association.rr_association import (
    RrAssociationCall,
    known,
    measure_error,
    refuse_single_levels,
)
from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import DesignWords
from ppduck.estimators import cells, count_column, count_table
from ppduck.estimators.cells import CellCounts, CellsSpec
from ppduck.frozen import frozen
from ppduck.kernels import association
from ppduck.kernels.independence import conditional
from ppduck.query import tree as sql
from ppduck.query.answer import each_row
from ppduck.values import Array

NAME = "rr_conclusions"
MOST_CELLS = 2_500  # the slopes of a measure take a table for every cell
# Conditions on the matrices; all but the first want both columns to have had the levels they show.
ANY, SAME = "any matrices", "any matrices, no level lost"
HALF, UNIFORM = "every level kept with p >= 0.5", "one p for all levels of a column, no level lost"
RESULTS = (
    Result(
        "measure", "VARCHAR", "the name of the measure, or p_value for the test of independence"
    ),
    Result("says", "VARCHAR", "what the value says of the original"),
    Result("value", "DOUBLE", "the measure on the rows as they are"),
    Result(
        "at_least",
        "DOUBLE",
        "the strength that the original has at least, in expectation; NULL for none",
    ),
    Result(
        "std_error",
        "DOUBLE",
        "by how much the value scatters about its expectation; NULL where not known",
    ),
    Result("condition", "VARCHAR", "what must hold of the matrices that randomized the columns"),
    Result(
        "order_of_pairs",
        "VARCHAR",
        "whether the order of two pairs of columns by this measure is kept",
    ),
    Result("reference", "VARCHAR", "where it is proved, or why nothing is said"),
)


@frozen
class Law:
    """How far a measure on randomized rows bounds that of the original."""

    condition: str
    reference: str
    independent: float = 0.0  # the value of independence, from which strength is counted


_SIGNED = {
    "phi",
    "risk_difference",
    "piatetsky_shapiro",
    "certainty",
    "added_value",
    "kappa",
    "standardized_residual",
}
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
    **{
        name: Law(HALF, "Result 5", 1.0)
        for name in ("odds_ratio", "interest", "conviction", "collective_strength")
    },
    "standardized_residual": Law(
        HALF, "as Result 5: |PS| falls faster than the root of the margins"
    ),
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
    "piatetsky_shapiro": {
        "both": f"{_SAME} (Guo 2010, Result 6)",
        "a": f"{_SAME} (Guo 2010, Result 6)",
        "b": f"{_SAME} (Guo 2010, Result 6)",
    },
    "risk_difference": {"a": f"{_SAME} (Guo 2010, Result 7)"},
    "added_value": {"b": f"{_SAME} (Guo 2010, Result 7)"},
}


def laws_of(shape: Sequence[int]) -> dict[str, Law]:
    return {**ALWAYS, **FROM_HALF} if tuple(shape) == (2, 2) else MANY_LEVELS


@parameters
class RrConclusionsCall(Call):
    tbl: str = count_table.TBL
    a: str = parameter(arguments.column, "the column of the rows")
    b: str = parameter(
        arguments.column, "the column of the columns; of two levels each, the second is presence"
    )
    randomized: str = parameter(
        arguments.choice("both", "a", "b"), "which of the two columns were randomized", "both"
    )
    count: str | None = count_column.COUNT


@frozen
class RrConclusionsSpec(CellsSpec):
    randomized: str


def plan(catalog: Catalog, call: RrConclusionsCall) -> sql.Expr:
    # Nothing is read of how the rows came about: that is what this function does without.
    table = count_table.read_table(NAME, catalog, call.tbl, [call.a, call.b], DesignWords(), ())
    counted = count_table.cells_of(catalog, table, MOST_CELLS, count=call.count)
    spec = counted.spec(RrConclusionsSpec, randomized=call.randomized)
    return counted.solve(SOLVE, spec).query(each_row(cells.SOLVED, cells.ANSWER))


def solve(spec: RrConclusionsSpec, told: CellCounts) -> list[dict[str, Any]]:
    found = cells.table_of(spec, told, "population")
    refuse_single_levels(spec, found)
    laws, rows = laws_of(found.counts.shape), []
    for name, measure in association.measures_for(found.counts.shape).items():
        value = association.value(measure, found.observed, found.n)
        error = measure_error(
            name, measure, found, found.observed, level=RrAssociationCall.confidence
        )
        said = _said(name, value, laws.get(name), spec.randomized)
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
    of = (
        f"|original - {law.independent:g}|"
        if law.independent
        else "|original|"
        if name in _SIGNED
        else "original"
    )
    return {
        "says": f"in expectation {of} >= {strength:.6g}",
        "at_least": strength,
        "condition": law.condition,
        "order_of_pairs": order,
        "reference": f"Guo (2010), {law.reference}",
    }


SOLVE = told_udf("ppduck_rr_conclusions", solve, RrConclusionsSpec, CellCounts, rows_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        RrConclusionsCall,
        plan,
        "What measures on randomized rows say of the original where p is not known, and on which condition.",
        "Guo (2010), Results 4 to 9",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM rr_conclusions('survey_rr', 'gender', 'disease')",
        udfs=(SOLVE, count_column.UDF),
    )
)
