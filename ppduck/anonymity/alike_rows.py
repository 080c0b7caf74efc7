"""What is asked of alike rows: by which columns they are, and which must not be learned."""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Result

SENSITIVE = parameter(
    arguments.column, "the column that must not be learned; NULL is a value like others"
)
ROWS = Result("rows", "BIGINT", "the rows of the table")
GROUPS = Result("groups", "BIGINT", "the groups of rows that are equal in all of qi")


@parameters
class AlikeRowsCall(Call):
    tbl: str = arguments.TABLE
    qi: Sequence[str] = parameter(
        arguments.column_list, "the columns by which a person could be recognized"
    )
