"""Python functions that DuckDB calls while a statement runs, as values that a function's registration holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Noise = Literal["keyed", "seeded"]


@dataclass(frozen=True)
class Udf:
    """A Python function, the types of its arguments and of its result as DuckDB writes them, and how it is called.

    ``rows``: with the plain values of one row at a time, lists of numbers as arrays; what it notes is said once for
    all rows, and it ends when its connection is interrupted. ``values``: the same with lists as lists. ``batches``:
    with whole columns, as Arrow has them. One with ``noise`` gets it first: that of the owner's secret, or the one
    that anybody can generate.
    """

    name: str
    call: Callable[..., Any]
    takes: Sequence[str]
    gives: str
    by: Literal["rows", "values", "batches"] = "rows"
    noise: Noise | None = None
