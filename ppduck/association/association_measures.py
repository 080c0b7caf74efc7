"""association_measures(): measures of two columns as they stand; a plain macro."""

from __future__ import annotations

from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.plain_macros import plain_macro
from ppduck.call.registry import Kind, Result


@parameters
class AssociationMeasuresCall(Call):
    tbl: str = arguments.TABLE
    a: str = parameter(arguments.column, "the column of the rows")
    b: str = parameter(
        arguments.column,
        "the column of the columns; of two levels each, the second counts as presence",
    )


MACRO = plain_macro(
    "association_measures",
    AssociationMeasuresCall,
    "Association measures of two categories: six for any table, fifteen more for 2×2; plain SQL.",
    "Tan, Kumar & Srivastava (2004), Information Systems 29; Guo (2010), Table 3.6",
    kind=Kind.MEASURE,
    results=(
        Result("measure", "VARCHAR", "the name of the measure, such as chi2 or odds_ratio"),
        Result("value", "DOUBLE", "its value; NULL where it is not defined"),
    ),
    example="FROM association_measures('survey', 'gender', 'smoker')",
)
