"""relationships(): what kind of relation each conf column has with the others, and the evidence for it.

Judged on a bounded sample from the least-squares line, Spearman's correlation and the left-out R² of a kernel fit
(000, Appendix A, where scatter plots are the judges).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults
from ppduck.kernels.relation_kinds import Evidence, evidence
from ppduck.kernels.threads import one_thread
from ppduck.measures.relation_frame import PARAMETERS, frame_of, row_types
from ppduck.query import tree as sql
from ppduck.stages.relation import FEWEST_ROWS, training_rows
from ppduck.values import Array

NAME = "relationships"
SOLVE = "ppduck_relationships"
ALL = "(all nonconf)"
COLUMNS = {
    "column_name": "VARCHAR",
    "other": "VARCHAR",
    "relation": "VARCHAR",
    "linear_r2": "DOUBLE",
    "spearman": "DOUBLE",
    "kernel_r2": "DOUBLE",
    "role": "VARCHAR",
    "rows": "BIGINT",
    "evidence": "VARCHAR",
}
TAKES, GIVES = ["VARCHAR", "VARCHAR", "DOUBLE[]"], row_types(COLUMNS)
SAMPLE = 5_000
_SAID = {
    "none": "neither a line nor ranks nor a curve tell more than chance",
    "linear": "a curve tells no more than a line",
    "monotonic": "a curve tells more than a line, but no more than the order of the values",
    "non-monotonic": "a curve tells more than the order of the values: the relation turns, or columns act together",
}


@dataclass(frozen=True)
class Pair:
    """A conf column and what it was held against: a nonconf column, all of them, or another conf column."""

    column: str
    other: str
    role: str
    found: Evidence


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    frame = frame_of(NAME, catalog, given, SAMPLE)
    told = [sql.column("_pp_sample", "_pp_training")]
    return frame.answer(frame.sampling(), SOLVE, ["_pp_training"], told, COLUMNS)


def pairs(spec: dict[str, Any], group: str | None, sample: Array | None) -> Iterator[Pair]:
    """Every conf column against each nonconf column, against all of them, and against the other conf columns."""
    s, x = training_rows(spec, sample)
    if len(s) < FEWEST_ROWS:
        where = f" in the group {group}" if group else ""
        raise Faults(spec["function"], spec["table"]).refuse(
            f"{len(s)} complete rows{where} are too few to tell a relation; at least {FEWEST_ROWS} are needed."
        )
    indicators, names = np.array(spec["indicators"], dtype=bool), np.array(spec["inputs"])
    with one_thread():
        for j, column in enumerate(spec["conf"]):
            for other in dict.fromkeys(spec["inputs"]):
                own = names == other
                yield Pair(column, other, "nonconf", evidence(s[:, own], x[:, j], indicators[own]))
            if len(set(spec["inputs"])) > 1:
                yield Pair(column, ALL, "nonconf", evidence(s, x[:, j], indicators))
        for i, j in combinations(range(len(spec["conf"])), 2):
            # A curve one way round may be no function the other way: the way that tells more counts.
            ways = [(i, j), (j, i)]
            found = {way: evidence(x[:, [way[1]]], x[:, way[0]]) for way in ways}
            a, b = max(ways, key=lambda way: found[way].kernel_r2)
            yield Pair(spec["conf"][a], spec["conf"][b], "conf", found[(a, b)])


def solve(specification: str, group: str | None, sample: Array | None) -> list[dict[str, Any]]:
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
        for pair in pairs(json.loads(specification), group, sample)
    ]


FUNCTION = register(
    Function(
        NAME,
        PARAMETERS,
        plan,
        "The kind of relation of each pair of columns (none, linear, monotonic, non-monotonic), with the evidence.",
        "Al-Ahmadi 2006, Appendix A",
        udfs=(Udf(SOLVE, solve, TAKES, GIVES),),
    )
)
