"""What was done, and whether it held: the catalogue, the explanation of a call, the certificate; and what to do."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ppduck.assess import (
    assert_release,
    averaging_attack,
    canonical_security,
    catalogue,
    equivalence_test,
    explain,
    explain_relations,
    help,
    information_loss,
    interval_disclosure,
    moments_check,
    mse_security,
    protection_score,
    recommend_mask,
    record_linkage,
    relationships,
    release_check,
    security_index,
    unchanged_values,
    utility_check,
    value_disclosure,
)
from ppduck.assess.moments_check import COMPARE, COMPARE_TYPES, compare
from ppduck.plan import matching

# What DuckDB is taught to call, row by row: name, function, types of arguments and of the result, also for Arrow.
UDFS: list[tuple[str, Callable[..., Any], list[str], str, Any]] = [
    (matching.MATCH, matching.matched, *matching.MATCH_TYPES, pa.int64()),
    averaging_attack.UDF,
    canonical_security.UDF,
    equivalence_test.UDF,
    explain_relations.UDF,
    information_loss.UDF,
    interval_disclosure.UDF,
    mse_security.UDF,
    recommend_mask.UDF,
    record_linkage.UDF,
    record_linkage.UDF_RECORDS,
    relationships.UDF,
    security_index.UDF,
    utility_check.UDF,
    value_disclosure.UDF,
]

__all__ = [
    "COMPARE",
    "COMPARE_TYPES",
    "UDFS",
    "assert_release",
    "catalogue",
    "compare",
    "explain",
    "help",
    "moments_check",
    "protection_score",
    "release_check",
    "unchanged_values",
]
