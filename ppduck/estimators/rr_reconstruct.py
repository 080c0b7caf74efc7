"""rr_reconstruct(): the table before randomization, cell by cell, with its uncertainty.

π̂ = (P_1⁻¹ ⊗ … ⊗ P_k⁻¹) λ̂ (Guo 2010, 2.2), cov(π̂) = Σ1 + Σ2 (section 3.2.2, after Chaudhuri &
Mukerjee 1988), ranges π̂ ± z·se (Guo 2010, Result 1). The moment estimate may leave [0, 1]; ``method := 'mle'``
then maximises the likelihood inside the simplex. Its standard errors are those of the moment
estimate at the fitted table, which are wider than its own: ranges are cut to [0, 1] and err on the
safe side. All ranges are Wald's, and too narrow for cells of which only a few rows were published.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import LEVELS, MATRIX, DesignCall, Matrix, P, Probability
from ppduck.errors import listed
from ppduck.estimators import cells
from ppduck.estimators.cells import CellCounts, Cells, CellsSpec
from ppduck.estimators.design_source import read_release
from ppduck.frozen import frozen
from ppduck.kernels.distortion import Spread, Target, half_width
from ppduck.query import tree as sql
from ppduck.values import folded

NAME = "rr_reconstruct"
MOST_CELLS = 1_000_000
NO_SCATTER = 1e-12
COLUMNS: Any = parameter(
    arguments.columns, "the columns of the table, such as ['gender', 'disease']"
)
RESULTS = (
    Result(
        "estimate",
        "DOUBLE",
        "the share of the cell before randomization; the levels of the cell come before it",
    ),
    Result(
        "std_error",
        "DOUBLE",
        "the standard error of the estimate; NULL where nothing scatters in so few rows",
    ),
    Result("lower", "DOUBLE", "the lower end of the range of the estimate"),
    Result("upper", "DOUBLE", "the upper end of it"),
    Result("observed", "DOUBLE", "the share that was published"),
    Result("count", "DOUBLE", "the estimate as a number of rows"),
)
PARTS = tuple(result.name for result in RESULTS)


@parameters
class RrReconstructCall(DesignCall):
    tbl: str = cells.TBL
    columns: Sequence[str] = COLUMNS
    p: Probability | None = P
    matrix: Mapping[str, Matrix] | None = MATRIX
    levels: Mapping[str, list[Any]] | None = LEVELS
    on_null: str = cells.ON_NULL
    confidence: float = cells.CONFIDENCE
    range: Spread = cells.RANGE
    target: Target = cells.TARGET
    method: str = cells.METHOD


@frozen
class ReconstructSpec(CellsSpec):
    confidence: float
    range: Spread
    target: Target
    method: str


def plan(catalog: Catalog, call: RrReconstructCall) -> sql.Expr:
    release = read_release(NAME, catalog, call.tbl, call.columns, call.words)
    taken = [column.name for column in release.columns if folded(column.name) in PARTS]
    if taken:
        raise release.faults().refuse(
            f"column {listed(taken)} is called like a column of the result; rename it in tbl, such as "
            f"'(SELECT {taken[0]} AS its_{taken[0]}, … FROM …)'."
        )
    table = Cells(release, MOST_CELLS, call.words.null_is_level)
    table.refuse_too_many(catalog)
    spec = table.spec(
        ReconstructSpec,
        confidence=call.confidence,
        range=call.range,
        target=call.target,
        method=call.method,
    )
    statement = table.solve(UDF, spec)
    lists = {part: sql.part(sql.column(cells.ANSWER), part) for part in PARTS}
    parts = [sql.named(sql.call("unnest", values), f"_pp_{part}") for part, values in lists.items()]
    numbers = sql.call("range", sql.call("len", lists["estimate"].copy()))
    rows = sql.query(
        [sql.named(sql.call("unnest", numbers), cells.CELL), *parts], sql.table(cells.SOLVED)
    )
    levels = [sql.named(level, name) for name, level in table.levels_at(cells.CELL).items()]
    shown = [sql.named(sql.column(f"_pp_{part}"), part) for part in PARTS]
    beside = sql.derived(rows, "_pp_estimates").cross(sql.table(cells.LEVELS_STEP))
    return statement.query(sql.query([*levels, *shown], beside, order=[sql.column(cells.CELL)]))


def solve(spec: ReconstructSpec, told: CellCounts) -> dict[str, list[float | None]]:
    """Estimates, errors and ranges of all cells in C order."""
    found = cells.table_of(spec, told, spec.target)
    estimate = cells.estimate_by(spec.method, found, spec.faults())
    error = np.sqrt(found.variance(estimate))
    if not found.is_certain:
        # No scatter at all is an accident of few rows: it is not known how far off the estimate may be.
        error = np.where(error > NO_SCATTER, error, np.nan)
    reach = half_width(spec.confidence, spec.range) * error
    lower, upper = estimate - reach, estimate + reach
    if spec.method == "mle":
        lower, upper = np.maximum(lower, 0.0), np.minimum(upper, 1.0)
    parts = (estimate, error, lower, upper, found.observed, found.n * estimate)
    return {
        name: [None if math.isnan(value) else value for value in part.ravel().tolist()]
        for name, part in zip(PARTS, parts, strict=True)
    }


_LISTS = ", ".join(f'"{result.name}" {result.type}[]' for result in RESULTS)
UDF = told_udf("ppduck_rr_reconstruct", solve, ReconstructSpec, CellCounts, f"STRUCT({_LISTS})")

FUNCTION = register(
    Function(
        NAME,
        RrReconstructCall,
        plan,
        "The contingency table before randomization: estimate, standard error and range of every cell.",
        "Guo (2010), sections 2.2 and 3.2.2; Chaudhuri & Mukerjee (1988), Randomized Response",
        kind=Kind.ESTIMATOR,
        results=RESULTS,
        example="FROM rr_reconstruct('survey_rr', ['gender','disease'])",
        udfs=(UDF,),
    )
)
