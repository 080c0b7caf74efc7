"""What fitting one loglinear model and searching among many share: the table, and a fit to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ppduck.association.model_notation import model_text
from ppduck.association.table_call import LEVELS, MATRIX, ON_NULL, P, TellsDesign
from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.catalogue.tables import Catalog
from ppduck.designs.conditioning import warn
from ppduck.designs.design import Matrix, Probability
from ppduck.errors import listed
from ppduck.estimators import cells, count_column, count_table
from ppduck.estimators.cells import Cells, CellsSpec
from ppduck.estimators.count_table import Table
from ppduck.frozen import frozen
from ppduck.kernels import loglinear, loglinear_distortion
from ppduck.kernels.distortion import Reconstruction
from ppduck.kernels.loglinear import Fit, Generators
from ppduck.values import Array

MOST_CELLS = 1_000_000
_FITTED_TO = {
    "no": "rows as they are",
    "clipped": "moment estimate, clipped at zero",
    "mle": "rows through their matrices (maximum likelihood)",
}


@parameters
class LoglinearCall(TellsDesign, Call):
    """A function's own parameters stand behind the columns."""

    tbl: str = count_table.TBL
    columns: Sequence[str] = parameter(
        arguments.columns, "the columns of the table, such as ['A', 'D', 'G']"
    )
    randomized: Sequence[str] | None = replace(count_table.RANDOMIZED, last=True)
    count: str | None = replace(count_column.COUNT, last=True)
    reconstruct: str = parameter(
        arguments.choice("no", "clipped", "mle"),
        "fit the rows as they are, or the table before randomization: clipped at zero, or by maximum likelihood",
        "no",
        last=True,
    )
    p: Probability | None = P
    matrix: Mapping[str, Matrix] | None = MATRIX
    levels: Mapping[str, list[Any]] | None = LEVELS
    on_null: str = ON_NULL


@frozen
class LoglinearSpec(CellsSpec):
    reconstruct: str
    randomized: tuple[int, ...]  # places of columns


def read_loglinear(name: str, catalog: Catalog, call: LoglinearCall) -> Table:
    """The table that a call is about, and which of its columns are randomized."""
    table = count_table.read_table(
        name, catalog, call.tbl, call.columns, call.words, call.randomized
    )
    faults = table.release.faults()
    if len(table.release.columns) < 2:
        raise faults.refuse("a loglinear model needs two columns or more, such as ['A', 'D', 'G'].")
    if call.reconstruct != "no" and not table.knows_design:
        raise faults.refuse(
            "reconstruct needs p or matrix, or a view over rr_mask; names in randomized do not tell it."
        )
    return table


def count_cells(catalog: Catalog, table: Table, call: LoglinearCall) -> Cells:
    return count_table.cells_of(
        catalog, table, MOST_CELLS, null_is_level=call.null_is_level, count=call.count
    )


class Fitter:
    """Fits models to one table: as published, or as it was before."""

    def __init__(self, spec: LoglinearSpec, found: Reconstruction) -> None:
        self.spec, self.found = spec, found
        self.how = spec.reconstruct
        self.names = [column.name for column in spec.columns]
        self.faults = spec.faults()
        self._refuse_single_levels()
        if self.how == "mle" and found.counts.size > loglinear_distortion.MOST_CELLS:
            raise self.faults.refuse(
                f"the table has {found.counts.size:,} cells, and reconstruct := 'mle' works on "
                f"{loglinear_distortion.MOST_CELLS:,} at most; ask about fewer columns, or take 'clipped'."
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
            return self.found.n * cells.estimate_by("mle", self.found, self.faults)
        clipped = np.maximum(self.found.moment(), 0.0)
        return np.asarray(self.found.n * clipped / clipped.sum())

    def fit(self, model: Generators) -> Fit:
        if self.how == "mle":
            saturated = self.table / self.found.n
            fitted = loglinear_distortion.fitted_through(
                self.found.counts, self.found.matrices, model, saturated
            )
        else:
            fitted = loglinear.fitted_model(self.table, model)
        if fitted.unfinished:
            warn(
                self.faults,
                f"the model {model_text(model, self.names)} was not fitted to the end: {fitted.unfinished}.",
            )
        return fitted

    def row(self, model: Generators, fitted: Fit) -> dict[str, Any]:
        if fitted.df is None:
            raise self.faults.refuse(
                f"empty margins of the model {model_text(model, self.names)} have too many cells to find its "
                "degrees of freedom; merge rare levels, or take fewer columns."
            )
        tested = self.how != "clipped"
        kept = loglinear.preserved(model, self.spec.randomized)
        return {
            "model": model_text(model, self.names),
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
        places = self.spec.randomized
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
