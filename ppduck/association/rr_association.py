"""rr_association(): association measures of the table before randomization, with errors and ranges.

Where the unbiased estimate has a negative cell, the measures are those of the maximum of the
likelihood. Standard errors are the delta method's, var g(π̂) = ∇gᵀ cov(π̂) ∇g (Guo 2010, section
3.3.1), the gradient by one complex step for every measure. χ² and its kin are zero at
independence and so is their gradient: they have no standard error unless the published table
rejects independence. That test is the naive χ² itself: columns that are randomized independently
of each other stay independent (Result 9). Ranges rest on the unbiased estimate and not on the
standard error (``kernels.association_ranges``); ``why`` says where there is none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import chi2

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import DesignWords
from ppduck.errors import Faults, quoted
from ppduck.estimators import cells
from ppduck.estimators.cells import Cells
from ppduck.estimators.design_source import read_release
from ppduck.kernels import association
from ppduck.kernels.association_ranges import UNDEFINED, ranges
from ppduck.kernels.randomized import Reconstruction, half_width
from ppduck.values import Array

NAME = "rr_association"
SOLVE = "ppduck_rr_association"
MOST_CELLS = 1_000
_ROUNDING = 1e-12
_FLAT_AT_INDEPENDENCE = {
    *("chi2", "g2", "mutual_information", "concentration", "uncertainty", "cramers_v", "j_measure"),
}
_ROW = (
    "STRUCT(measure VARCHAR, estimate DOUBLE, std_error DOUBLE, lower DOUBLE, upper DOUBLE, naive DOUBLE, why VARCHAR)"
)
SOLVE_TYPES = (cells.ARGUMENTS, f"{_ROW}[]")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    names = [*given["a"], *given.get("b", [])]
    published = read_release(NAME, catalog, given["tbl"], names, DesignWords.of(given))
    if len(names) < 2:
        raise published.faults().refuse("an association needs two columns, such as 'gender', 'disease'.")
    table = Cells(published, MOST_CELLS, given.get("on_null") == "level")
    table.refuse_too_many(catalog)
    statement = table.statement(SOLVE, cells.chosen(given))
    return statement.finish('SELECT unnest("_pp_row") FROM (SELECT unnest("_pp_r") AS "_pp_row" FROM "_pp_solved")')


def solve(
    specification: str, sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int,
) -> list[dict[str, Any]]:  # fmt: skip
    spec = json.loads(specification)
    found = cells.reconstruction(spec, sizes, numbers, counts, strangers)
    if min(sizes) < 2:
        name = spec["columns"][list(sizes).index(min(sizes))]["column"]
        raise Faults(NAME, spec["table"]).refuse(f"column {quoted(name)} has a single level; association needs two.")
    estimate = cells.estimated(spec, found, "mle")
    estimate = np.where(np.abs(estimate) < _ROUNDING, 0.0, estimate)
    covariance = found.covariance(estimate)
    unbiased = found.moment()
    unbiased = np.where(np.abs(unbiased) < _ROUNDING, 0.0, unbiased)
    spread = found.covariance(unbiased)
    level = spec.get("confidence", 0.95)
    reach = half_width(level, spec.get("range", "normal"))
    fewest = None if found.is_certain else np.array([found.counts.min()])
    rows = []
    for name, measure in association.measures_for(estimate.shape).items():
        value = association.value(measure, estimate, found.n)
        error = measure_error(name, measure, found, estimate, covariance, level)
        naive = association.value(measure, found.observed, found.n)
        within = ranges(name, unbiased[None], spread[None], found.n, reach, fewest)
        # An estimate at the border, or one that is too high near independence, belongs to its range.
        ends = (float(np.minimum(within.lower[0], value)), float(np.maximum(within.upper[0], value)))
        why = within.why[0]
        if math.isnan(ends[0]) and why is None:
            why = UNDEFINED
        row = (value, error, *ends, naive)
        rows.append({"measure": name, **dict(zip(_NUMBERS, map(known, row), strict=True)), "why": why})
    return rows


def measure_error(
    name: str, measure: association.Measure, found: Reconstruction, estimate: Array,
    covariance: Array | None = None, level: float = 0.95,
) -> float:  # fmt: skip
    """The delta method's standard error of a measure at an estimate; NaN where it has none."""
    slope = association.gradient(measure, estimate, found.n)
    if not np.all(np.isfinite(slope)) or (name in _FLAT_AT_INDEPENDENCE and not _rejects_independence(found, level)):
        return math.nan
    spread = found.variance_of(slope, estimate) if covariance is None else float(slope @ covariance @ slope)
    return math.sqrt(max(spread, 0.0))


def _rejects_independence(found: Reconstruction, level: float) -> bool:
    """Whether the published table, without levels that never occur, is far from the product of its margins."""
    table = found.observed
    for axis in range(table.ndim):
        margin = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
        table = np.compress(margin > 0, table, axis=axis)
    freedom = table.size - 1 - sum(size - 1 for size in table.shape)
    statistic = association.value(association.measures_for(table.shape)["chi2"], table, found.n)
    return freedom > 0 and bool(statistic > chi2.ppf(level, freedom))


_NUMBERS = ("estimate", "std_error", "lower", "upper", "naive")


def known(value: float) -> float | None:
    """NULL rather than NaN for what is not defined."""
    return None if math.isnan(value) else value


FUNCTION = register(
    Function(
        NAME,
        (
            cells.TBL,
            Parameter("a", arguments.columns, "the first column, or a list of columns"),
            Parameter("b", arguments.columns, "the second column", "NULL"),
            *cells.DESIGN,
            cells.CONFIDENCE,
            cells.RANGE,
            cells.TARGET,
        ),
        plan,
        "Association measures of the table before randomization, with errors and ranges; naive is as published.",
        "Guo (2010), section 3.3; Tan, Kumar & Srivastava (2004), Information Systems 29",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"),),
    )
)
