"""association_measures() and chi2_independence(): measures of a table as it stands, by plain macros of ``sql/``."""

from __future__ import annotations

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.plain_macros import plain_macro

MEASURES = plain_macro(
    "association_measures",
    (
        arguments.TBL,
        Parameter("a", arguments.words, "the column of the rows"),
        Parameter("b", arguments.words, "the column of the columns; of two levels each, the second counts as presence"),
    ),
    "Association measures of two categories: six for any table, fifteen more for 2×2; plain SQL.",
    "Tan, Kumar & Srivastava (2004), Information Systems 29; Guo (2010), Table 3.6",
)
INDEPENDENCE = plain_macro(
    "chi2_independence",
    (arguments.TBL, Parameter("columns", arguments.column_list, "two or more columns")),
    "Chi-square and G² of the mutual independence of two or more categories, with degrees of freedom; plain SQL.",
    "Guo (2010), equation 3.6",
)
