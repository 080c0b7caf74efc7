"""t_closeness(): how far sensitive values of alike rows are from the table's; a plain macro.

t is the largest distance of a group's distribution p from that of all rows, q: Σ|p - q|/2, or with
an order among the m levels, the earth mover's distance Σ|Σ_{j ≤ i} (p_j - q_j)|/(m - 1).
"""

from __future__ import annotations

from ppduck.anonymity.alike_rows import GROUPS, ROWS, SENSITIVE, AlikeRowsCall
from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.plain_macros import plain_macro
from ppduck.call.registry import Kind, Result


@parameters
class TClosenessCall(AlikeRowsCall):
    sensitive: str = SENSITIVE
    ordered: bool = parameter(
        arguments.flag, "whether the levels have an order, so that near ones differ less", False
    )


MACRO = plain_macro(
    "t_closeness",
    TClosenessCall,
    "How far a sensitive column's distribution among alike rows is from that of the whole table; plain SQL.",
    "Li, Li & Venkatasubramanian (2007), ICDE",
    kind=Kind.MEASURE,
    results=(
        Result(
            "t",
            "DOUBLE",
            "the distance of the group that is farthest from the whole table, from 0 to 1",
        ),
        Result("mean_t", "DOUBLE", "the distance of a row's group, on average over all rows"),
        ROWS,
        GROUPS,
        Result(
            "measure",
            "VARCHAR",
            "the distance: variational, or ordered where the levels have an order",
        ),
        Result("direction", "VARCHAR", "which way t is good"),
    ),
    example="FROM t_closeness('survey', ['gender','smoker'], 'disease')",
)
