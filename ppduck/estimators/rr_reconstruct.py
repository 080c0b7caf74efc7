"""rr_reconstruct(): the table before randomization, cell by cell, with its uncertainty.

π̂ = (P_1⁻¹ ⊗ … ⊗ P_k⁻¹) λ̂ (Guo 2010, 2.2), cov(π̂) = Σ1 + Σ2 (section 3.2.2, after Chaudhuri &
Mukerjee 1988), ranges π̂ ± z·se (Result 1). The moment estimate may leave [0, 1]; ``method := 'mle'``
then maximises the likelihood inside the simplex. Its standard errors are those of the moment
estimate at the fitted table, which are wider than its own: ranges are cut to [0, 1] and err on the
safe side. All ranges are Wald's, and too narrow for cells of which only a few rows were published.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import listed
from ppduck.estimators import cells
from ppduck.estimators.cells import Cells
from ppduck.estimators.design_source import read_published
from ppduck.kernels.randomized import half_width
from ppduck.query import tree as sql
from ppduck.values import folded

NAME = "rr_reconstruct"
SOLVE = "ppduck_rr_reconstruct"
MOST_CELLS = 1_000_000
NO_SCATTER = 1e-12
PARTS = ("estimate", "std_error", "lower", "upper", "observed", "count")
SOLVE_TYPES = (cells.ARGUMENTS, "STRUCT(" + ", ".join(f'"{part}" DOUBLE[]' for part in PARTS) + ")")

COLUMNS = Parameter("columns", arguments.columns, "the columns of the table, such as ['gender', 'disease']")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    published = read_published(NAME, catalog, given, given["columns"])
    taken = [column.name for column in published.columns if folded(column.name) in PARTS]
    if taken:
        raise published.faults().refuse(
            f"column {listed(taken)} is called like a column of the result; rename it in tbl, such as "
            f"'(SELECT {taken[0]} AS its_{taken[0]}, … FROM …)'."
        )
    table = Cells(published, MOST_CELLS, given.get("on_null", "drop"))
    table.refuse_too_many(catalog)
    statement = table.statement(SOLVE, cells.chosen(given))
    parts = [
        sql.named(sql.raw(f'unnest(struct_extract("_pp_r", {sql.render(sql.text(part))}))'), f"_pp_{part}")
        for part in PARTS
    ]
    number = sql.named(sql.raw("unnest(range(len(struct_extract(\"_pp_r\", 'estimate'))))"), "_pp_cell")
    rows = sql.select([number, *parts], '"_pp_solved"')
    shown = [sql.named(sql.column(f"_pp_{part}"), part) for part in PARTS]
    found = sql.select([*table.decoded("_pp_cell"), *shown], f'({rows}) CROSS JOIN "_pp_levels"')
    return statement.finish(f'{found} ORDER BY "_pp_cell"')


def solve(
    specification: str, sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int,
) -> dict[str, list[float | None]]:  # fmt: skip
    """Estimates, errors and ranges of all cells in C order."""
    spec = json.loads(specification)
    found = cells.reconstruction(spec, sizes, numbers, counts, strangers)
    method = spec.get("method", "moment")
    estimate = cells.estimated(spec, found, method)
    error = np.sqrt(found.variance(estimate))
    if not found.is_certain:
        # No scatter at all is an accident of few rows: it is not known how far off the estimate may be.
        error = np.where(error > NO_SCATTER, error, np.nan)
    reach = half_width(spec.get("confidence", 0.95), spec.get("range", "normal")) * error
    lower, upper = estimate - reach, estimate + reach
    if method == "mle":
        lower, upper = np.maximum(lower, 0.0), np.minimum(upper, 1.0)
    parts = (estimate, error, lower, upper, found.observed, found.n * estimate)
    return {
        name: [None if math.isnan(value) else value for value in part.ravel().tolist()]
        for name, part in zip(PARTS, parts, strict=True)
    }


FUNCTION = register(
    Function(
        NAME,
        (cells.TBL, COLUMNS, *cells.DESIGN, cells.CONFIDENCE, cells.RANGE, cells.TARGET, cells.METHOD),
        plan,
        "The contingency table before randomization: estimate, standard error and range of every cell.",
        "Guo (2010), sections 2.2 and 3.2.2; Chaudhuri & Mukerjee (1988), Randomized Response",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"),),
    )
)
