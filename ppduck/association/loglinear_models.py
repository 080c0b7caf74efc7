"""loglinear_models(): every hierarchical loglinear model of some columns, or those on the way to the best one.

All models with all main effects: 2, 9, 114 and 6,894 of two to five columns. Of more, a search goes from one model to
the neighbour with the lowest BIC = G² - df·ln n: forward from independence, or backward from the largest one. A model
that randomization preserves (Theorem 2) holds on randomized rows if it holds on the original; which of several
is best may change all the same, because weak interactions vanish.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from ppduck.association.loglinear_fit import COLUMNS, SHARED, Fitter, planned
from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults
from ppduck.estimators import cells, count_table
from ppduck.kernels import loglinear
from ppduck.kernels.loglinear import Fit, Generators

NAME = "loglinear_models"
SOLVE = "ppduck_loglinear_models"
MOST_FOR_ALL, MOST_COLUMNS = 5, 10
MOST_WORK = 20_000_000  # cells times models
_WORTH = 1e-6  # by which BIC must fall, beyond rounding
_LARGEST = 5  # columns up to which a backward search starts with the saturated model
_ROW = (
    "STRUCT(model VARCHAR, p_value DOUBLE, chi2 DOUBLE, g2 DOUBLE, df BIGINT, aic DOUBLE, bic DOUBLE, "
    "preserved BOOLEAN, best BOOLEAN, fitted_to VARCHAR)"
)
_RANKS = ("aic", "bic", "best")
SOLVE_TYPES = (cells.ARGUMENTS, f"{_ROW}[]")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    search = given.get("search", "all")
    most = MOST_FOR_ALL if search == "all" else MOST_COLUMNS
    if len(given["columns"]) > most:
        remedy = "say search := 'forward' or 'backward'" if len(given["columns"]) <= MOST_COLUMNS else "name fewer"
        raise Faults(NAME, given["tbl"]).refuse(
            f"{len(given['columns'])} columns have too many models; up to {most} can be looked at so. Please {remedy}."
        )
    if search != "all" and given.get("reconstruct") == "clipped":
        raise Faults(NAME, given["tbl"]).refuse(
            "a clipped table has no likelihood to search by; say reconstruct := 'mle', or search := 'all'."
        )
    statement, _ = planned(NAME, SOLVE, catalog, given, {"search": search})
    return statement.finish('SELECT unnest("_pp_row") FROM (SELECT unnest("_pp_r") AS "_pp_row" FROM "_pp_solved")')


def solve(
    specification: str, sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int,
) -> list[dict[str, Any]]:  # fmt: skip
    spec = json.loads(specification)
    fitter = Fitter(spec, cells.reconstruction(spec, sizes, numbers, counts, strangers))
    columns = len(sizes)
    if spec["search"] == "all":
        every = loglinear.all_models(columns)
        if len(every) * fitter.table.size > MOST_WORK:
            raise fitter.faults.refuse(
                f"{len(every):,} models of {fitter.table.size:,} cells take too long; merge levels, name fewer "
                "columns, or say search := 'forward'."
            )
        found = [(model, fitter.fit(model)) for model in every]
    else:
        found = _walk(fitter, columns, forward=spec["search"] == "forward")
    least = min(_bic(fitted) for _, fitted in found)
    best, _ = min((each for each in found if _bic(each[1]) <= least + _WORTH), key=lambda each: _terms(each[0]))
    wanted = ("model", "chi2", "g2", "df", "p_value", "preserved", "fitted_to")
    ranked = spec["reconstruct"] != "clipped"  # whose G² is no likelihood
    rows = []
    for model, fitted in found:
        row = fitter.row(model, fitted)
        own = {"aic": fitted.aic, "bic": fitted.bic, "best": model == best} if ranked else dict.fromkeys(_RANKS)
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
        tried = [(model, fitter.fit(model)) for model in loglinear.neighbours(path[-1][0], columns, forward=forward)]
        # A simpler model is as good where empty cells leave nothing for an interaction to say.
        limit = _bic(path[-1][1]) - (_WORTH if forward else -_WORTH)
        better = [each for each in tried if _bic(each[1]) < limit]
        if not better:
            return path
        path.append(min(better, key=lambda each: _bic(each[1])))


def _bic(fitted: Fit) -> float:
    return float("inf") if fitted.bic is None else fitted.bic


FUNCTION = register(
    Function(
        NAME,
        (
            count_table.TBL,
            COLUMNS,
            *SHARED,
            Parameter(
                "search",
                arguments.choice("all", "forward", "backward"),
                "every model, or those on the way to the lowest BIC",
                "'all'",
            ),
        ),
        plan,
        "Every hierarchical loglinear model of some columns, or a search among them: fit, AIC, BIC, preserved or not.",
        "Guo (2010), Theorem 2; Korn (1981), JASA 76; Bishop, Fienberg & Holland (1975)",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"),),
    )
)
