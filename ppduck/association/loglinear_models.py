"""loglinear_models(): every loglinear model of some columns, or those on the way to the best.

All models with all main effects: 2, 9, 114 and 6,894 of two to five columns. Of more, a search goes
from one model to the neighbour with the lowest BIC = G² - df·ln n: forward from independence, or
backward from the largest one. A model that randomization preserves (Guo 2010, Theorem 2) holds on randomized
rows if it holds on the original; which of several is best may change all the same, because weak
interactions vanish.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from ppduck.association.loglinear_table import (
    Fitter,
    LoglinearCall,
    LoglinearSpec,
    count_cells,
    read_loglinear,
)
from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults
from ppduck.estimators import cells, count_column
from ppduck.estimators.cells import CellCounts
from ppduck.frozen import frozen
from ppduck.kernels import loglinear
from ppduck.kernels.loglinear import Fit, Generators
from ppduck.query import tree as sql
from ppduck.query.answer import each_row

NAME = "loglinear_models"
MOST_FOR_ALL, MOST_COLUMNS = 5, 10
MOST_WORK = 20_000_000  # cells times models
_WORTH = 1e-6  # by which BIC must fall, beyond rounding
_LARGEST = 5  # columns up to which a backward search starts with the saturated model
RESULTS = (
    Result("model", "VARCHAR", "the model, by its highest interactions"),
    Result("p_value", "DOUBLE", "the chance of such a χ² or a larger one where the model holds"),
    Result("chi2", "DOUBLE", "Pearson's χ²"),
    Result("g2", "DOUBLE", "the likelihood ratio G²"),
    Result("df", "BIGINT", "the degrees of freedom of both"),
    Result("aic", "DOUBLE", "G² - 2 df; NULL of a clipped table, which has no likelihood"),
    Result("bic", "DOUBLE", "G² - df ln n; NULL of a clipped table"),
    Result(
        "preserved",
        "BOOLEAN",
        "whether the model holds on randomized rows if it holds on the original",
    ),
    Result("best", "BOOLEAN", "whether its BIC is the lowest; NULL of a clipped table"),
    Result("fitted_to", "VARCHAR", "what the models were fitted to"),
)
_RANKS = ("aic", "bic", "best")


@parameters
class LoglinearModelsCall(LoglinearCall):
    search: str = parameter(
        arguments.choice("all", "forward", "backward"),
        "every model, or those on the way to the lowest BIC",
        "all",
        last=True,
    )


@frozen
class LoglinearModelsSpec(LoglinearSpec):
    search: str


def plan(catalog: Catalog, call: LoglinearModelsCall) -> sql.Expr:
    most = MOST_FOR_ALL if call.search == "all" else MOST_COLUMNS
    if len(call.columns) > most:
        remedy = (
            "say search := 'forward' or 'backward'"
            if len(call.columns) <= MOST_COLUMNS
            else "name fewer"
        )
        raise Faults(NAME, call.tbl).refuse(
            f"{len(call.columns)} columns have too many models; up to {most} can be looked at so. Please {remedy}."
        )
    if call.search != "all" and call.reconstruct == "clipped":
        raise Faults(NAME, call.tbl).refuse(
            "a clipped table has no likelihood to search by; say reconstruct := 'mle', or search := 'all'."
        )
    table = read_loglinear(NAME, catalog, call)
    counted = count_cells(catalog, table, call)
    spec = counted.spec(
        LoglinearModelsSpec,
        reconstruct=call.reconstruct,
        randomized=tuple(table.places),
        search=call.search,
    )
    return counted.solve(SOLVE, spec).query(each_row(cells.SOLVED, cells.ANSWER))


def solve(spec: LoglinearModelsSpec, told: CellCounts) -> list[dict[str, Any]]:
    fitter = Fitter(spec, cells.table_of(spec, told, "population"))
    columns = len(spec.columns)
    if spec.search == "all":
        every = loglinear.all_models(columns)
        if len(every) * fitter.table.size > MOST_WORK:
            raise fitter.faults.refuse(
                f"{len(every):,} models of {fitter.table.size:,} cells take too long; merge levels, name fewer "
                "columns, or say search := 'forward'."
            )
        found = [(model, fitter.fit(model)) for model in every]
    else:
        found = _walk(fitter, columns, forward=spec.search == "forward")
    least = min(_bic(fitted) for _, fitted in found)
    best, _ = min(
        (each for each in found if _bic(each[1]) <= least + _WORTH),
        key=lambda each: _terms(each[0]),
    )
    wanted = ("model", "chi2", "g2", "df", "p_value", "preserved", "fitted_to")
    ranked = spec.reconstruct != "clipped"  # whose G² is no likelihood
    rows = []
    for model, fitted in found:
        row = fitter.row(model, fitted)
        own = (
            {"aic": fitted.aic, "bic": fitted.bic, "best": model == best}
            if ranked
            else dict.fromkeys(_RANKS)
        )
        rows.append({name: row[name] for name in wanted} | own)
    return rows


def _terms(model: Generators) -> int:
    return len(loglinear.terms_of(model))


def _walk(fitter: Fitter, columns: int, *, forward: bool) -> list[tuple[Generators, Fit]]:
    """From one model to the best of its neighbours, while BIC falls."""
    axes = range(columns)
    start: Generators = tuple((axis,) for axis in axes)
    if not forward:
        start = (tuple(axes),) if columns <= _LARGEST else tuple(combinations(axes, 2))
    path = [(start, fitter.fit(start))]
    while True:
        tried = [
            (model, fitter.fit(model))
            for model in loglinear.neighbours(path[-1][0], columns, forward=forward)
        ]
        # A simpler model is as good where empty cells leave nothing for an interaction to say.
        limit = _bic(path[-1][1]) - (_WORTH if forward else -_WORTH)
        better = [each for each in tried if _bic(each[1]) < limit]
        if not better:
            return path
        path.append(min(better, key=lambda each: _bic(each[1])))


def _bic(fitted: Fit) -> float:
    return float("inf") if fitted.bic is None else fitted.bic


SOLVE = told_udf(
    "ppduck_loglinear_models", solve, LoglinearModelsSpec, CellCounts, rows_type(RESULTS)
)
FUNCTION = register(
    Function(
        NAME,
        LoglinearModelsCall,
        plan,
        "Every hierarchical loglinear model of some columns, or a search among them: fit, AIC, BIC, preserved or not.",
        "Guo (2010), Theorem 2; Korn (1981), JASA 76; Bishop, Fienberg & Holland (1975)",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM loglinear_models('survey_rr', ['gender','disease','smoker'], reconstruct='mle')",
        udfs=(SOLVE, count_column.UDF),
    )
)
