"""chi2_independence(): χ² and G² of the mutual independence of some columns; a plain macro."""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.plain_macros import plain_macro
from ppduck.call.registry import Kind, Result


@parameters
class Chi2IndependenceCall(Call):
    tbl: str = arguments.TABLE
    columns: Sequence[str] = parameter(arguments.column_list, "two or more columns")


MACRO = plain_macro(
    "chi2_independence",
    Chi2IndependenceCall,
    "Chi-square and G² of the mutual independence of two or more categories, with degrees of freedom; plain SQL.",
    "Guo (2010), equation 3.6",
    kind=Kind.MEASURE,
    results=(
        Result("measure", "VARCHAR", "rows, chi2, g2 or their degrees of freedom, df"),
        Result("value", "DOUBLE", "its value"),
    ),
    example="FROM chi2_independence('survey', ['gender','disease','smoker'])",
)
