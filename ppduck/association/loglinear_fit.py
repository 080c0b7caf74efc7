"""loglinear_fit(): how well a hierarchical loglinear model fits a table of counts, randomized or not.

On randomized rows a model can be fitted as if they were the original where it is preserved (Guo 2010, Theorem 2: no
randomized column in two generators); every fit says whether it is. Where p or matrix is known, ``reconstruct`` fits the
table before randomization: 'mle' maximises the likelihood of the published table through its matrices, and its test
rejects at its level, or less often where the reconstructed table has negative cells; 'clipped' fits the moment estimate
with its negative cells set to zero, which describes but does not test (such a table scatters more than counts), so that
it has no p-value.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.association import models
from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.conditioning import warn
from ppduck.designs.design import DesignWords
from ppduck.errors import Faults, listed
from ppduck.estimators import cells, count_column, count_table
from ppduck.kernels import loglinear, loglinear_randomized
from ppduck.kernels.loglinear import Fit, Generators
from ppduck.kernels.randomized import Reconstruction
from ppduck.query import tree as sql
from ppduck.values import Array, folded

NAME = "loglinear_fit"
SOLVE = "ppduck_loglinear_fit"
MOST_CELLS = 1_000_000
CELL_PARTS = ("observed", "fitted", "residual")
_FITTED_TO = {
    "no": "rows as they are",
    "clipped": "moment estimate, clipped at zero",
    "mle": "rows through their matrices (maximum likelihood)",
}
_ROW = {
    "model": "VARCHAR", "p_value": "DOUBLE", "chi2": "DOUBLE", "g2": "DOUBLE", "df": "BIGINT", "p_value_g2": "DOUBLE",
    "rows": "DOUBLE", "fitted_to": "VARCHAR", "preserved": "BOOLEAN", "note": "VARCHAR",
}  # fmt: skip
_FIELDS = ", ".join(f'"{name}" {kind}' for name, kind in _ROW.items())
_LISTS = ", ".join(f'"{part}" DOUBLE[]' for part in CELL_PARTS)
SOLVE_TYPES = (cells.ARGUMENTS, f"STRUCT({_FIELDS}, {_LISTS})")

COLUMNS = Parameter("columns", arguments.columns, "the columns of the table, such as ['A', 'D', 'G']")
RECONSTRUCT = Parameter(
    "reconstruct",
    arguments.choice("no", "clipped", "mle"),
    "fit the rows as they are, or the table before randomization: clipped at zero, or by maximum likelihood",
    "'no'",
)
SHARED = (count_table.RANDOMIZED, count_column.COUNT, RECONSTRUCT, *cells.DESIGN)


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    statement, table = planned(NAME, SOLVE, catalog, given, {"cells": given.get("cells", False)})
    if not given.get("cells"):
        shown = ", ".join(f'struct_extract("_pp_r", \'{name}\') AS "{name}"' for name in _ROW)
        return statement.finish(f'SELECT {shown} FROM "_pp_solved"')
    taken = [column.name for column in table.release.columns if folded(column.name) in CELL_PARTS]
    if taken:
        raise table.release.faults().refuse(
            f"column {listed(taken)} is called like a column of the result; rename it in tbl."
        )
    parts = ", ".join(f'unnest(struct_extract("_pp_r", \'{part}\')) AS "_pp_{part}"' for part in CELL_PARTS)
    number = 'unnest(range(len(struct_extract("_pp_r", \'fitted\')))) AS "_pp_cell"'
    shown_cells = [sql.named(sql.column(f"_pp_{part}"), part) for part in CELL_PARTS]
    counted = count_table.cells_of(
        catalog, table, MOST_CELLS, null_is_level=given.get("on_null") == "level", count=given.get("count")
    )
    rows = f'(SELECT {number}, {parts} FROM "_pp_solved") CROSS JOIN "_pp_levels"'
    found = sql.select([*counted.decoded("_pp_cell"), *shown_cells], rows)
    return statement.finish(f'{found} ORDER BY "_pp_cell"')


def planned(
    name: str, solve_name: str, catalog: Catalog, given: dict[str, Any], own: dict[str, Any]
) -> tuple[sql.Statement, count_table.Table]:
    """What fitting one model and searching among many share: the counted table, and what is known of its columns."""
    table = count_table.read_table(
        name, catalog, given["tbl"], given["columns"], DesignWords.of(given), given.get("randomized")
    )
    names = [column.name for column in table.release.columns]
    faults = table.release.faults()
    if len(names) < 2:
        raise faults.refuse("a loglinear model needs two columns or more, such as ['A', 'D', 'G'].")
    how = given.get("reconstruct", "no")
    if how != "no" and not table.knows_design:
        raise faults.refuse(
            "reconstruct needs p or matrix, or a view over rr_mask; names in randomized do not tell it."
        )
    if "model" in given:
        own = own | {"model": models.generators(faults, given["model"], names)}
    counted = count_table.cells_of(
        catalog, table, MOST_CELLS, null_is_level=given.get("on_null") == "level", count=given.get("count")
    )
    own = own | {"reconstruct": how, "randomized": table.places}
    return counted.statement(solve_name, own), table


def solve(
    specification: str, sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int,
) -> dict[str, Any]:  # fmt: skip
    spec = json.loads(specification)
    found = cells.reconstruction(spec, sizes, numbers, counts, strangers)
    model = tuple(tuple(one) for one in spec["model"])
    reader = Fitter(spec, found)
    fitted = reader.fit(model)
    row = reader.row(model, fitted)
    observed = reader.table
    scale = np.sqrt(np.maximum(fitted.fitted, 0))
    residual = np.divide(observed - fitted.fitted, scale, out=np.zeros_like(scale), where=scale > 0)
    lists = zip(CELL_PARTS, (observed, fitted.fitted, residual), strict=True)
    return row | {part: values.ravel().tolist() if spec["cells"] else [] for part, values in lists}


class Fitter:
    """Fits models to one table: as published, or as it was before."""

    def __init__(self, spec: dict[str, Any], found: Reconstruction) -> None:
        self.spec, self.found = spec, found
        self.how = spec["reconstruct"]
        self.names = [column["column"] for column in spec["columns"]]
        self.faults = Faults(spec["function"], spec["table"])
        self._refuse_single_levels()
        if self.how == "mle" and found.counts.size > loglinear_randomized.MOST_CELLS:
            raise self.faults.refuse(
                f"the table has {found.counts.size:,} cells, and reconstruct := 'mle' works on "
                f"{loglinear_randomized.MOST_CELLS:,} at most; ask about fewer columns, or take 'clipped'."
            )
        self.table = self._table()

    def _refuse_single_levels(self) -> None:
        for name, size in zip(self.names, self.found.counts.shape, strict=True):
            if size < 2:
                self.faults.add(f"column {listed([name])} has a single level; leave it out.")
        self.faults.raise_if_any()

    def _table(self) -> Array:
        """The counts that cells are compared with."""
        if self.how == "no":
            return self.found.counts
        if self.how == "mle":
            return self.found.n * cells.estimated(self.spec, self.found, "mle")
        clipped = np.maximum(self.found.moment(), 0.0)
        return np.asarray(self.found.n * clipped / clipped.sum())

    def fit(self, model: Generators) -> Fit:
        if self.how == "mle":
            saturated = self.table / self.found.n
            fitted = loglinear_randomized.fitted_through(self.found.counts, self.found.matrices, model, saturated)
        else:
            fitted = loglinear.fitted_model(self.table, model)
        if fitted.unfinished:
            warn(
                self.faults,
                f"the model {models.written(model, self.names)} was not fitted to the end: {fitted.unfinished}.",
            )
        return fitted

    def row(self, model: Generators, fitted: Fit) -> dict[str, Any]:
        if fitted.df is None:
            raise self.faults.refuse(
                f"empty margins of the model {models.written(model, self.names)} have too many cells to find its "
                "degrees of freedom; merge rare levels, or take fewer columns."
            )
        tested = self.how != "clipped"
        kept = loglinear.preserved(model, self.spec["randomized"])
        return {
            "model": models.written(model, self.names),
            "chi2": fitted.chi2,
            "g2": fitted.g2,
            "df": fitted.df,
            "p_value": fitted.p_value if tested else None,
            "p_value_g2": fitted.p_value_g2 if tested else None,
            "rows": fitted.n,
            "fitted_to": _FITTED_TO[self.how],
            "preserved": kept,
            "note": self.note(model, kept),
        }  # fmt: skip

    def note(self, model: Generators, kept: bool) -> str:
        places = self.spec["randomized"]
        if not places:
            return "no column is known to be randomized"
        if self.how == "clipped":
            return "a reconstructed table scatters more than counts do: no p-value; reconstruct := 'mle' has one"
        if self.how == "mle":
            return "fitted to the table before randomization; whether the model is preserved does not matter"
        if kept:
            return "if the original has this model, so have the randomized rows; a rejection holds for the original"
        twice = [self.names[i] for i in places if sum(i in one for one in model) > 1]
        return (
            f"not preserved: {listed(twice)} is randomized and in two terms, so that a rejection may be due to "
            "randomization; see reconstruct := 'mle'"
        )


FUNCTION = register(
    Function(
        NAME,
        (
            count_table.TBL,
            COLUMNS,
            Parameter("model", models.model, "the highest interactions, such as 'AD,G' or 'age*sex, region'"),
            *SHARED,
            Parameter(
                "cells", arguments.flag, "give the cells with their fitted counts and residuals instead", "false"
            ),
        ),
        plan,
        "A hierarchical loglinear model fitted to a table of counts; says whether randomization preserves it.",
        "Guo (2010), section 4.3; Bishop, Fienberg & Holland (1975); Korn (1981), JASA 76",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"), count_column.UDF),
    )
)
