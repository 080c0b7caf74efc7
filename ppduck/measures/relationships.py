"""relationships(): what kind of relation each conf column has with the others, and the evidence for it.

Judged on a bounded sample from the least-squares line, Spearman's correlation and the left-out R² of a kernel fit
(Al-Ahmadi 2006, Appendix A, where scatter plots are the judges).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.frozen import frozen
from ppduck.kernels.relation_kinds import Evidence, evidence
from ppduck.kernels.threads import one_thread
from ppduck.masks import nm_egadp
from ppduck.query import tree as sql
from ppduck.runtime.check import CHECK
from ppduck.runtime.relation import FEWEST_ROWS, Training
from ppduck.runtime.spec import MaskSpec
from ppduck.stages.relation import TRAINING
from ppduck.stages.relation_plan import LookCall, RelationPlan

NAME = "relationships"
ALL = "(all nonconf)"
RESULTS = (
    Result("column_name", "VARCHAR", "a conf column"),
    Result("other", "VARCHAR", "what it was held against: a column, or all of nonconf"),
    Result("relation", "VARCHAR", "none, linear, monotonic or non-monotonic"),
    Result("linear_r2", "DOUBLE", "share of its variance that a line tells"),
    Result("spearman", "DOUBLE", "rank correlation"),
    Result(
        "kernel_r2",
        "DOUBLE",
        "share of its variance that a curve tells of rows that it was not fitted to",
    ),
    Result("role", "VARCHAR", "whether the other is nonconf or conf"),
    Result("rows", "BIGINT", "rows that were looked at"),
    Result("evidence", "VARCHAR", "why it is called so"),
)
SAMPLE = 5_000
_SAID = {
    "none": "neither a line nor ranks nor a curve tell more than chance",
    "linear": "a curve tells no more than a line",
    "monotonic": "a curve tells more than a line, but no more than the order of the values",
    "non-monotonic": "a curve tells more than the order of the values: the relation turns, or columns act together",
}


@frozen
class Pair:
    """A conf column and what it was held against: a nonconf column, all of them, or another conf column."""

    column: str
    other: str
    role: str
    found: Evidence


def plan(catalog: Catalog, call: LookCall) -> sql.Expr:
    found = RelationPlan.of(NAME, nm_egadp.MASK, catalog, call, SAMPLE)
    told = {"sample": sql.column("_pp_sample", TRAINING)}
    return found.answer(found.sampling(), UDF, [TRAINING], told, RESULTS)


def pairs(spec: MaskSpec, training: Training) -> Iterator[Pair]:
    """Every conf column against each nonconf column, against all of them, and against the other conf columns."""
    s, x = training.rows(spec)
    if len(s) < FEWEST_ROWS:
        raise spec.refuse(
            f"{len(s)} complete rows{training.where} are too few to tell a relation; at least {FEWEST_ROWS} are needed."
        )
    indicators, names = np.array(spec.indicators, dtype=bool), np.array(spec.inputs)
    with one_thread():
        for j, column in enumerate(spec.conf):
            for other in dict.fromkeys(spec.inputs):
                own = names == other
                yield Pair(column, other, "nonconf", evidence(s[:, own], x[:, j], indicators[own]))
            if len(set(spec.inputs)) > 1:
                yield Pair(column, ALL, "nonconf", evidence(s, x[:, j], indicators))
        for i, j in combinations(range(len(spec.conf)), 2):
            # A curve one way round may be no function the other way: the way that tells more counts.
            ways = [(i, j), (j, i)]
            found = {way: evidence(x[:, [way[1]]], x[:, way[0]]) for way in ways}
            # A line tells the same both ways; last bits, which differ between machines, must not decide.
            a, b = max(ways, key=lambda way: round(found[way].kernel_r2, 9))
            yield Pair(spec.conf[a], spec.conf[b], "conf", found[(a, b)])


def solve(spec: MaskSpec, training: Training) -> list[dict[str, Any]]:
    return [
        {
            "column_name": pair.column,
            "other": pair.other,
            "role": pair.role,
            "relation": pair.found.kind,
            "linear_r2": pair.found.linear_r2,
            "spearman": pair.found.spearman,
            "kernel_r2": pair.found.kernel_r2,
            "rows": pair.found.n,
            "evidence": _SAID[pair.found.kind],
        }
        for pair in pairs(spec, training)
    ]


UDF = told_udf("ppduck_relationships", solve, MaskSpec, Training, rows_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        LookCall,
        plan,
        "The kind of relation of each pair of columns (none, linear, monotonic, non-monotonic), with the evidence.",
        "Al-Ahmadi 2006, Appendix A",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM relationships('customers', conf=['x1','x2'], nonconf=['s1','s2'])",
        udfs=(CHECK, UDF),
    )
)
