"""loglinear_fit(): how well a hierarchical loglinear model fits a table, randomized or not.

On randomized rows a model can be fitted as if they were the original where it is preserved (Guo
2010, Theorem 2: no randomized column in two generators); every fit says whether it is. Where p or
matrix is known, ``reconstruct`` fits the table before randomization: 'mle' maximises the likelihood
of the published table through its matrices, and its test rejects at its level, or less often where
the reconstructed table has negative cells; 'clipped' fits the moment estimate with its negative
cells set to zero, which describes but does not test (such a table scatters more than counts), so
that it has no p-value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppduck.association.loglinear_table import (
    Fitter,
    LoglinearCall,
    LoglinearSpec,
    count_cells,
    read_loglinear,
)
from ppduck.association.model_notation import generators, model
from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import row_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import listed
from ppduck.estimators import cells, count_column
from ppduck.estimators.cells import CellCounts, Cells
from ppduck.frozen import frozen
from ppduck.kernels.loglinear import Generators
from ppduck.query import tree as sql
from ppduck.values import folded

NAME = "loglinear_fit"
RESULTS = (
    Result("model", "VARCHAR", "the model, by its highest interactions; with cells := true each row is a cell: the "
           "levels of columns, and its counts observed and fitted and the Pearson residual"),
    Result("p_value", "DOUBLE", "the chance of such a χ² or a larger one where the model holds"),
    Result("chi2", "DOUBLE", "Pearson's χ²"),
    Result("g2", "DOUBLE", "the likelihood ratio G²"),
    Result("df", "BIGINT", "the degrees of freedom of both"),
    Result("p_value_g2", "DOUBLE", "the chance of such a G² or a larger one"),
    Result("rows", "DOUBLE", "the rows of the table"),
    Result("fitted_to", "VARCHAR", "what the model was fitted to"),
    Result("preserved", "BOOLEAN", "whether the model holds on randomized rows if it holds on the original"),
    Result("note", "VARCHAR", "what that means for this fit"),
)  # fmt: skip
CELL_PARTS = ("observed", "fitted", "residual")


@parameters
class LoglinearFitCall(LoglinearCall):
    model: str | list[list[str]] = parameter(
        model, "the highest interactions, such as 'AD,G' or 'age*sex, region'"
    )
    cells: bool = parameter(
        arguments.flag,
        "give the cells with their fitted counts and residuals instead",
        False,
        last=True,
    )


@frozen
class LoglinearFitSpec(LoglinearSpec):
    model: Generators
    cells: bool


def plan(catalog: Catalog, call: LoglinearFitCall) -> sql.Expr:
    table = read_loglinear(NAME, catalog, call)
    names = [column.name for column in table.release.columns]
    fitted = generators(table.release.faults(), call.model, names)
    counted = count_cells(catalog, table, call)
    spec = counted.spec(
        LoglinearFitSpec,
        reconstruct=call.reconstruct,
        randomized=tuple(table.places),
        model=fitted,
        cells=call.cells,
    )
    statement = counted.solve(SOLVE, spec)
    if call.cells:
        return statement.query(_cells_of(counted))
    answer = sql.column(cells.ANSWER)
    shown = [sql.named(sql.part(answer.copy(), each.name), each.name) for each in RESULTS]
    return statement.query(sql.query(shown, sql.table(cells.SOLVED)))


def _cells_of(counted: Cells) -> sql.Expr:
    """A row for each cell, its levels before its counts."""
    taken = [column.name for column in counted.release.columns if folded(column.name) in CELL_PARTS]
    if taken:
        raise counted.release.faults().refuse(
            f"column {listed(taken)} is called like a column of the result; rename it in tbl."
        )
    lists = {part: sql.part(sql.column(cells.ANSWER), part) for part in CELL_PARTS}
    numbers = sql.call("range", sql.call("len", lists["fitted"].copy()))
    unnested = [
        sql.named(sql.call("unnest", numbers), cells.CELL),
        *(sql.named(sql.call("unnest", values), f"_pp_{part}") for part, values in lists.items()),
    ]
    rows = sql.derived(sql.query(unnested, sql.table(cells.SOLVED)), "_pp_fitted_cells")
    levels = [sql.named(level, name) for name, level in counted.levels_at(cells.CELL).items()]
    shown = [sql.named(sql.column(f"_pp_{part}"), part) for part in CELL_PARTS]
    return sql.query(
        [*levels, *shown],
        rows.cross(sql.table(cells.LEVELS_STEP)),
        order=[sql.column(cells.CELL)],
    )


def solve(spec: LoglinearFitSpec, told: CellCounts) -> dict[str, Any]:
    fitter = Fitter(spec, cells.table_of(spec, told, "population"))
    fitted = fitter.fit(spec.model)
    observed = fitter.table
    scale = np.sqrt(np.maximum(fitted.fitted, 0))
    residual = np.divide(observed - fitted.fitted, scale, out=np.zeros_like(scale), where=scale > 0)
    lists = zip(CELL_PARTS, (observed, fitted.fitted, residual), strict=True)
    cell_parts: dict[str, Any] = {
        part: values.ravel() if spec.cells else [] for part, values in lists
    }
    return fitter.row(spec.model, fitted) | cell_parts


_LISTS = tuple(Result(part, "DOUBLE[]", "of all cells") for part in CELL_PARTS)
SOLVE = told_udf(
    "ppduck_loglinear_fit", solve, LoglinearFitSpec, CellCounts, row_type((*RESULTS, *_LISTS))
)
FUNCTION = register(
    Function(
        NAME,
        LoglinearFitCall,
        plan,
        "A hierarchical loglinear model fitted to a table of counts; says whether randomization preserves it.",
        "Guo (2010), section 4.3; Bishop, Fienberg & Holland (1975); Korn (1981), JASA 76",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM loglinear_fit('survey_rr', ['gender','disease','smoker'], 'gender*disease, smoker')",
        udfs=(SOLVE, count_column.UDF),
    )
)
