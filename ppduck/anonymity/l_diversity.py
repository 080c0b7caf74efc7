"""l_diversity(): how many values of a sensitive column hide behind alike rows; a plain macro.

With r1 ≥ r2 ≥ … the counts of the values in a group, a group is distinct l-diverse if it has l
values, entropy l-diverse if its entropy is ln l or more, and recursive (c, l)-diverse if r1 < c (rl
+ … + rm). The table is so if all of its groups are.
"""

from __future__ import annotations

from ppduck.anonymity.alike_rows import GROUPS, ROWS, SENSITIVE, AlikeRowsCall
from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.plain_macros import plain_macro
from ppduck.call.ranges import Range
from ppduck.call.registry import Kind, Result


@parameters
class LDiversityCall(AlikeRowsCall):
    sensitive: str = SENSITIVE
    l: int = parameter(arguments.whole(1), "how many values every group should have", 2)  # noqa: E741
    c: float | None = parameter(
        arguments.number(Range(0, above=True)),
        "recursive (c, l)-diversity: a group's most frequent value stays below c times its rare ones together",
        None,
    )


MACRO = plain_macro(
    "l_diversity",
    LDiversityCall,
    "How diverse a sensitive column is among alike rows: distinct, entropy and recursive l-diversity; plain SQL.",
    "Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam (2007), ACM TKDD 1(1)",
    kind=Kind.MEASURE,
    results=(
        Result("passed_distinct", "BOOLEAN", "whether every group has l values or more"),
        Result("distinct_l", "BIGINT", "the fewest values that a group has"),
        Result("passed_entropy", "BOOLEAN", "whether the entropy of every group is ln l or more"),
        Result("entropy_l", "DOUBLE", "exp of the least entropy of a group"),
        Result("passed_frequency", "BOOLEAN", "whether no value has more than 1/l of a group"),
        Result("frequency_l", "DOUBLE", "1 over the largest share of a value in a group"),
        Result("passed_recursive", "BOOLEAN", "whether recursive_c is below the c that was given; NULL without one"),
        Result("recursive_c", "DOUBLE", "the c that recursive (c, l)-diversity must be above; infinite where a "
               "group has fewer than l values"),
        ROWS,
        GROUPS,
        Result("homogeneous_rows", "BIGINT", "rows in groups of a single value, which is known with the group"),
    ),
    example="FROM l_diversity('survey', ['gender','smoker'], 'disease', l := 2)",
)  # fmt: skip
