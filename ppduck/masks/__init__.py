"""The masks: one file a method, holding its parameters, its solve, its promises and its reference."""

from collections.abc import Callable
from typing import Any

from ppduck.masks import (
    anatomy,
    cgadp,
    egadp,
    egadp_plain,
    gadp,
    generalize,
    ipso,
    kim,
    microaggregate,
    nm_egadp,
    noise,
    onn,
    rank_swap,
    shuffle,
    sufficiency,
)

# What DuckDB is taught to call, row by row: name, function, types of arguments and of the result, also for Arrow.
UDFS: list[tuple[str, Callable[..., Any], list[str], str, Any]] = [
    *anatomy.UDFS,
    generalize.UDF,
    microaggregate.UDF,
    onn.UDF,
    rank_swap.UDF,
]

__all__ = [
    "UDFS",
    "cgadp",
    "egadp",
    "egadp_plain",
    "gadp",
    "ipso",
    "kim",
    "nm_egadp",
    "noise",
    "shuffle",
    "sufficiency",
]
