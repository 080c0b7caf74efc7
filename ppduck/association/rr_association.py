"""rr_association(): association measures of the table before randomization, with errors and ranges.

Where the unbiased estimate has a negative cell, the measures are those of the maximum of the
likelihood. Standard errors are the delta method's, var g(π̂) = ∇gᵀ cov(π̂) ∇g (Guo 2010, section
3.3.1), the gradient by one complex step for every measure. χ² and its kin are zero at
independence and so is their gradient: they have no standard error unless the published table
rejects independence. That test is the naive χ² itself: columns that are randomized independently
of each other stay independent (Guo 2010, Result 9). Ranges rest on the unbiased estimate and not on the
standard error (``kernels.association_ranges``); ``why`` says where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ppduck.association.table_call import TableCall
from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import quoted
from ppduck.estimators import cells
from ppduck.estimators.cells import CellCounts, Cells, CellsSpec
from ppduck.estimators.design_source import read_release
from ppduck.frozen import frozen
from ppduck.kernels import association
from ppduck.kernels.association_ranges import UNDEFINED, ranges
from ppduck.kernels.distortion import Reconstruction, Spread, Target, half_width
from ppduck.libraries import stats
from ppduck.query import tree as sql
from ppduck.query.answer import each_row
from ppduck.values import Array

NAME = "rr_association"
MOST_CELLS = 1_000
_ROUNDING = 1e-12
_FLAT_AT_INDEPENDENCE = {
    *("chi2", "g2", "mutual_information", "concentration", "uncertainty", "cramers_v", "j_measure"),
}
RESULTS = (
    Result("measure", "VARCHAR", "the name of the measure, such as chi2 or odds_ratio"),
    Result("estimate", "DOUBLE", "its value on the table before randomization"),
    Result("std_error", "DOUBLE", "the standard error of the estimate; NULL where it has none"),
    Result("lower", "DOUBLE", "the lower end of its range; NULL where there is none"),
    Result("upper", "DOUBLE", "the upper end of its range; NULL where there is none"),
    Result("naive", "DOUBLE", "its value on the rows as published"),
    Result("why", "VARCHAR", "why there is no range; else NULL"),
)
_NUMBERS = ("estimate", "std_error", "lower", "upper", "naive")


@parameters
class RrAssociationCall(TableCall):
    tbl: str = cells.TBL
    a: Sequence[str] = parameter(arguments.columns, "the first column, or a list of columns")
    b: Sequence[str] = parameter(arguments.columns, "the second column", ())
    confidence: float = replace(cells.CONFIDENCE, last=True)
    range: Spread = replace(cells.RANGE, last=True)
    target: Target = replace(cells.TARGET, last=True)


@frozen
class RrAssociationSpec(CellsSpec):
    confidence: float
    range: Spread
    target: Target


def plan(catalog: Catalog, call: RrAssociationCall) -> sql.Expr:
    names = [*call.a, *call.b]
    release = read_release(NAME, catalog, call.tbl, names, call.words)
    if len(names) < 2:
        raise release.faults().refuse(
            "an association needs two columns, such as 'gender', 'disease'."
        )
    table = Cells(release, MOST_CELLS, call.null_is_level)
    table.refuse_too_many(catalog)
    spec = table.spec(
        RrAssociationSpec, confidence=call.confidence, range=call.range, target=call.target
    )
    return table.solve(SOLVE, spec).query(each_row(cells.SOLVED, cells.ANSWER))


def solve(spec: RrAssociationSpec, told: CellCounts) -> list[dict[str, Any]]:
    found = cells.table_of(spec, told, spec.target)
    refuse_single_levels(spec, found)
    estimate = _without_rounding(cells.estimate_by("mle", found, spec.faults()))
    covariance = found.covariance(estimate)
    unbiased = _without_rounding(found.moment())
    spread = found.covariance(unbiased)
    reach = half_width(spec.confidence, spec.range)
    fewest = None if found.is_certain else np.array([found.counts.min()])
    rows = []
    for name, measure in association.measures_for(estimate.shape).items():
        value = association.value(measure, estimate, found.n)
        error = measure_error(
            name, measure, found, estimate, level=spec.confidence, covariance=covariance
        )
        naive = association.value(measure, found.observed, found.n)
        within = ranges(name, unbiased[None], spread[None], found.n, reach, fewest)
        # An estimate at the border, or too high near independence, belongs to its range.
        ends = (
            float(np.minimum(within.lower[0], value)),
            float(np.maximum(within.upper[0], value)),
        )
        why = within.why[0]
        if math.isnan(ends[0]) and why is None:
            why = UNDEFINED
        row = (value, error, *ends, naive)
        rows.append(
            {"measure": name, **dict(zip(_NUMBERS, map(known, row), strict=True)), "why": why}
        )
    return rows


def refuse_single_levels(spec: CellsSpec, found: Reconstruction) -> None:
    """Where a column has a single level there is nothing that it could depend on."""
    for column, size in zip(spec.columns, found.counts.shape, strict=True):
        if size < 2:
            raise spec.refuse(
                f"column {quoted(column.name)} has a single level; association needs two."
            )


def _without_rounding(table: Array) -> Array:
    """With cells that are zero but for rounding at zero."""
    return np.where(np.abs(table) < _ROUNDING, 0.0, table)


def measure_error(
    name: str,
    measure: association.Measure,
    found: Reconstruction,
    estimate: Array,
    *,
    level: float,
    covariance: Array | None = None,
) -> float:
    """The delta method's standard error of a measure at an estimate; NaN where it has none, as independence is not
    rejected at this ``level`` of confidence.
    """
    slope = association.gradient(measure, estimate, found.n)
    if not np.all(np.isfinite(slope)) or (
        name in _FLAT_AT_INDEPENDENCE and not _rejects_independence(found, level)
    ):
        return math.nan
    spread = (
        found.variance_of(slope, estimate)
        if covariance is None
        else float(slope @ covariance @ slope)
    )
    return math.sqrt(max(spread, 0.0))


def _rejects_independence(found: Reconstruction, level: float) -> bool:
    """Whether the table as published, without empty levels, is far from independence."""
    table = found.observed
    for axis in range(table.ndim):
        margin = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
        table = np.compress(margin > 0, table, axis=axis)
    freedom = table.size - 1 - sum(size - 1 for size in table.shape)
    statistic = association.value(association.measures_for(table.shape)["chi2"], table, found.n)
    return freedom > 0 and bool(statistic > stats.chi2.ppf(level, freedom))


def known(value: float) -> float | None:
    """NULL rather than NaN for what is not defined."""
    return None if math.isnan(value) else value


SOLVE = told_udf("ppduck_rr_association", solve, RrAssociationSpec, CellCounts, rows_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        RrAssociationCall,
        plan,
        "Association measures of the table before randomization, with errors and ranges; naive is as published.",
        "Guo (2010), section 3.3; Tan, Kumar & Srivastava (2004), Information Systems 29",
        kind=Kind.ESTIMATOR,
        results=RESULTS,
        example="FROM rr_association('survey_rr', 'gender', 'disease')",
        udfs=(SOLVE,),
    )
)
