"""Categories of conf: how often the released ones tell the original, against chance or the declared design.

An intruder takes a released category for what it says, or for what those who have it mostly are: so recoded levels are
found, whatever they are called. With π the shares of the original's levels and P the design, P[i, j] = Pr(level j is
published as i), the best guess is right with Σ_i max_j π_j P_ij; without a design, as often as the most frequent level.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call.registry import Result
from ppduck.call.udf import row_type, told_udf
from ppduck.frozen import frozen
from ppduck.gate._parts import Parts
from ppduck.gate.rules import Limits, arm
from ppduck.kernels import distortion
from ppduck.kernels.category_guess import guessed_from
from ppduck.pairs.one_to_one import CHECK, MATCHED, MatchSpec
from ppduck.pairs.rows import HASH, SHARED, Told
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

NAME = "agreement"
_PLACE = 50_000
MOST_CELLS = 100_000
# A design that tells more than this of what the most frequent level leaves open hides nothing.
MOST_TOLD = 0.95
SPREAD = 5.0  # standard errors
ALLOWED = 0.01
RESULTS = (
    Result("column_name", "VARCHAR", ""),
    Result("value", "DOUBLE", ""),
    Result("at_most", "DOUBLE", ""),
    Result("why", "VARCHAR", ""),
)


@frozen
class AgreementSpec(MatchSpec):
    """A category, and its design where one is declared: levels, and p or the matrix by rows."""

    column: str
    levels: list[str | None] | None
    p: float | None
    matrix: list[list[float]] | None
    limit: float | None


@frozen
class AgreementTold(Told):
    """Cells of both tables, of each half of the rows, and how many rows each has."""

    before: list[str | None] | None
    after: list[str | None] | None
    halves: Array | None
    counts: Array | None


def _row(spec: AgreementSpec, place: int) -> sql.Expr:
    """A SELECT of one row: what is judged of category ``place``."""
    a, b = sql.column(f"_pp_a{place}"), sql.column(f"_pp_b{place}")
    half = sql.call("mod", sql.column(HASH), sql.number(2))
    cells = {"_pp_before": a, "_pp_after": b, "_pp_half": half, "_pp_rows": aggregates.rows()}
    size = sql.column("_pp_rows")
    counted = sql.query(
        sql.columns(cells),
        sql.table(SHARED),
        group=[a.copy(), b.copy(), half.copy()],
        order=[exp.Ordered(this=aggregates.rows(), desc=True, nulls_first=False), a.copy(), b.copy(), half.copy()],
        limit=sql.number(MOST_CELLS),
    )  # fmt: skip
    lists = {
        "before": sql.call("list", sql.column("_pp_before")),
        "after": sql.call("list", sql.column("_pp_after")),
        "halves": sql.call("list", sql.double(sql.column("_pp_half"))),
        "counts": sql.call("list", sql.double(size)),
    }
    whole = sql.query(
        sql.columns({f"_pp_told_{name}": each for name, each in lists.items()}),
        sql.derived(counted, "_pp_cells"),
    )
    fields = {"pairs": sql.column(MATCHED)} | {
        name: sql.column(f"_pp_told_{name}") for name in lists
    }
    asked = sql.named(JUDGE.in_sql(spec, fields), "_pp_row")
    made = sql.query([asked], sql.table(CHECK).cross(sql.derived(whole, "_pp_whole_cells")))
    own = [
        sql.named(sql.part(sql.column("_pp_row"), result.name), result.name) for result in RESULTS
    ]
    return sql.query(own, sql.derived(made, "_pp_agreement"))


def rows(parts: Parts, limits: Limits) -> Iterator[sql.Expr]:
    """A SELECT for each category of conf."""
    columns = parts.columns
    for place, column in enumerate(columns.categories):
        if limits.asks(NAME):
            design = parts.designs.get(column.name)
            told: dict[str, Any] = {"levels": None, "p": None, "matrix": None}
            if design is not None:
                told["p"] = design.p
                told["levels"] = None if design.levels is None else list(design.levels)
                told["matrix"] = (
                    None if design.rows is None else [list(each) for each in design.rows]
                )
            spec = AgreementSpec(
                columns.function,
                columns.original.label,
                columns.masked.label,
                [key.name for key in columns.key],
                column=column.name,
                limit=limits.numbers.get(NAME),
                **told,
            )
            own = arm(
                sql.number(_PLACE + place),
                sql.text(NAME),
                column=sql.column("column_name"),
                value=sql.column("value"),
                at_most=sql.column("at_most"),
                why=sql.column("why"),
            )
            yield sql.query(own, sql.derived(_row(spec, place), "_pp_agreed"))


def judge(spec: AgreementSpec, told: AgreementTold) -> dict[str, Any]:
    before, after = list(told.before or []), list(told.after or [])
    if not before or told.counts is None or told.halves is None:
        return {
            "column_name": spec.column,
            "value": None,
            "at_most": 0.0,
            "why": "there are no rows",
        }
    counts, halves = told.counts, told.halves.astype(int)
    levels = list(dict.fromkeys([*before, *after]))
    places = {level: i for i, level in enumerate(levels)}
    a, b = (np.array([places[level] for level in side]) for side in (before, after))
    n = float(counts.sum())
    as_it_is = float(counts[a == b].sum()) / n
    right = max(as_it_is, guessed_from(halves, b, a, counts))
    shares = np.bincount(a, counts, minlength=len(levels)) / n
    masked = np.bincount(b, counts, minlength=len(levels)) / n
    by_chance = max(float(shares.max()), float(shares @ masked))
    expected, how = by_chance, "chance makes right"
    if spec.p is not None or spec.matrix is not None:
        expected, how = (
            _by_design(spec, dict(zip(levels, shares, strict=True))),
            "the declared design makes right",
        )
        expected = max(expected, by_chance)
    most = expected + ALLOWED + SPREAD * np.sqrt(expected * (1 - expected) / n)
    most = min(most, by_chance + MOST_TOLD * (1 - by_chance))
    why = (
        "share of rows whose category is guessed right from the released one, as it is or by what it mostly is: "
        f"at most what {how}. Mask it by rr_mask, and declare its design by p := {{…}}"
    )
    at_most = float(most) if spec.limit is None else spec.limit
    return {"column_name": spec.column, "value": right, "at_most": at_most, "why": why}


def _by_design(spec: AgreementSpec, shares: dict[str | None, float]) -> float:
    """Σ_i max_j π_j P_ij."""
    levels = spec.levels if spec.levels is not None else [*shares]
    pi = np.array([shares.get(level, 0.0) for level in levels])
    size = len(levels)
    matrix = (
        distortion.uniform(1.0 if spec.p is None else spec.p, size)
        if spec.matrix is None
        else np.array(spec.matrix)
    )
    if matrix.shape != (size, size):
        return 0.0
    return float((matrix * pi).max(axis=1).sum())


JUDGE = told_udf("ppduck_release_agreement", judge, AgreementSpec, AgreementTold, row_type(RESULTS))
