"""k_anonymity(): how many rows are alike and so hide each other; a plain macro.

Rows that are equal in all of qi form a group; k is the size of the smallest. Who knows the
quasi-identifiers of somebody in a group of n rows finds the right one with a chance of 1/n.
"""

from __future__ import annotations

from ppduck.anonymity.alike_rows import GROUPS, ROWS, AlikeRowsCall
from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.plain_macros import plain_macro
from ppduck.call.registry import Kind, Result


@parameters
class KAnonymityCall(AlikeRowsCall):
    k: int | None = parameter(arguments.whole(1), "the size that no group may fall below", None)


MACRO = plain_macro(
    "k_anonymity",
    KAnonymityCall,
    "How many rows are alike in all quasi-identifiers: smallest group, rows alone, risk of being found; plain SQL.",
    "Samarati & Sweeney (1998), SRI-CSL-98-04; Sweeney (2002), Int. J. Uncertain. Fuzz. 10",
    kind=Kind.MEASURE,
    results=(
        Result("k", "BIGINT", "the size of the smallest group"),
        Result(
            "passed",
            "BOOLEAN",
            "whether no group is smaller than the k that was given; NULL without one",
        ),
        ROWS,
        GROUPS,
        Result("mean_size", "DOUBLE", "the mean size of a group"),
        Result("unique_rows", "BIGINT", "rows that are alone in their group"),
        Result("highest_risk", "DOUBLE", "the chance to find a row of the smallest group: 1/k"),
        Result("mean_risk", "DOUBLE", "the chance to find a row, on average over all rows"),
        Result(
            "rows_below",
            "BIGINT",
            "rows in groups smaller than the k that was given; NULL without one",
        ),
        Result("direction", "VARCHAR", "which way k is good"),
    ),
    example="FROM k_anonymity('survey', ['gender','smoker'], k := 5)",
)
