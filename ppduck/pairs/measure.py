"""A function that tells of a release beside its original, by itself or as a rule of the gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ppduck.call.parameters import Call
from ppduck.call.registry import Function, Kind, Result
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.pairs.columns import Compared
from ppduck.pairs.rows import MATCH, Pairs
from ppduck.query import tree as sql


@dataclass(frozen=True)
class Measure(Function):
    """Which columns a call compares, and the SELECT of its rows over the pairs of them.

    Both are apart, so that another function can have several answers over pairs that are matched once.
    """

    choose: Callable[[Compared, Any], None] = field(kw_only=True)
    answer: Callable[[Pairs, Any], sql.Expr] = field(kw_only=True)


def measure(
    name: str,
    takes: type[Call],
    summary: str,
    reference: str,
    *,
    choose: Callable[[Compared, Any], None],
    answer: Callable[[Pairs, Any], sql.Expr],
    results: tuple[Result, ...],
    example: str,
    kind: Kind = Kind.MEASURE,
    udfs: tuple[Udf, ...] = (),
) -> Measure:
    """A measure whose plan matches the pairs and answers over them."""

    def plan(catalog: Catalog, call: Any) -> sql.Expr:
        columns = Compared(name, catalog, call)
        choose(columns, call)
        columns.faults.raise_if_any()
        return answer(Pairs(columns), call)

    return Measure(
        name, takes, plan, summary, reference,
        kind=kind, results=results, example=example, udfs=(*udfs, MATCH), choose=choose, answer=answer,
    )  # fmt: skip
