"""What was done, and whether it held: the catalogue, the explanation of a call, the certificate; and what to do."""

from collections.abc import Callable
from typing import Any

from ppduck.assess import (
    catalogue,
    explain,
    explain_relations,
    moments_check,
    recommend_mask,
    relationships,
    security_index,
)
from ppduck.assess.moments_check import COMPARE, COMPARE_TYPES, compare

# What DuckDB is taught to call, row by row: name, function, types of arguments and of the result, also for Arrow.
UDFS: list[tuple[str, Callable[..., Any], list[str], str, Any]] = [
    explain_relations.UDF,
    recommend_mask.UDF,
    relationships.UDF,
    security_index.UDF,
]

__all__ = ["COMPARE", "COMPARE_TYPES", "UDFS", "catalogue", "compare", "explain", "moments_check"]
