"""A function that tells of a release beside its original, by itself or as a rule of the gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from sqlglot import exp

from ppduck.call.parameters import Call
from ppduck.call.registry import Function, Kind, Result
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.frozen import frozen
from ppduck.pairs.columns import Compared
from ppduck.pairs.one_to_one import CHECK, MATCH
from ppduck.pairs.rows import Pairs
from ppduck.query import tree as sql


@frozen
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
        answered = answer(Pairs(columns), call)
        if not any(table.name == CHECK for table in answered.find_all(exp.Table)):
            raise TypeError(f"{name} does not read {CHECK}: DuckDB would not check that keys match")
        return answered

    return Measure(
        name, takes, plan, summary, reference,
        kind=kind, results=results, example=example, udfs=(*udfs, MATCH), choose=choose, answer=answer,
    )  # fmt: skip
