"""k_anonymity(), l_diversity() and t_closeness(): how well groups of alike rows hide a person; plain macros."""

from __future__ import annotations

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.plain_macros import plain_macro
from ppduck.call.ranges import Range

_QUASI = Parameter("qi", arguments.column_list, "the columns by which a person could be recognized")
_SENSITIVE = Parameter("sensitive", arguments.words, "the column that must not be learned; NULL is a value like others")

ANONYMITY = plain_macro(
    "k_anonymity",
    (
        arguments.TBL,
        _QUASI,
        Parameter("k", arguments.whole(1), "the size that no group may fall below", "NULL"),
    ),
    "How many rows are alike in all quasi-identifiers: smallest group, rows alone, risk of being found; plain SQL.",
    "Samarati & Sweeney (1998), SRI-CSL-98-04; Sweeney (2002), Int. J. Uncertain. Fuzz. 10",
)
DIVERSITY = plain_macro(
    "l_diversity",
    (
        arguments.TBL,
        _QUASI,
        _SENSITIVE,
        Parameter("l", arguments.whole(1), "how many values every group should have", "2"),
        Parameter(
            "c",
            arguments.number(Range(0, above=True)),
            "recursive (c, l)-diversity: a group's most frequent value stays below c times its rare ones together",
            "NULL",
        ),
    ),
    "How diverse a sensitive column is among alike rows: distinct, entropy and recursive l-diversity; plain SQL.",
    "Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam (2007), ACM TKDD 1(1)",
)
CLOSENESS = plain_macro(
    "t_closeness",
    (
        arguments.TBL,
        _QUASI,
        _SENSITIVE,
        Parameter(
            "ordered", arguments.flag, "whether the levels have an order, so that near ones differ less", "false"
        ),
    ),
    "How far a sensitive column's distribution among alike rows is from that of the whole table; plain SQL.",
    "Li, Li & Venkatasubramanian (2007), ICDE",
)
