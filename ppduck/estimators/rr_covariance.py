"""rr_covariance(): the full covariance matrix of the cells that rr_reconstruct estimates, Σ1 + Σ2, in long form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.estimators import cells
from ppduck.estimators.cells import Cells
from ppduck.estimators.design_source import read_published
from ppduck.estimators.rr_reconstruct import COLUMNS
from ppduck.query import tree as sql

NAME = "rr_covariance"
SOLVE = "ppduck_rr_covariance"
MOST_CELLS = 1_000
SOLVE_TYPES = (cells.ARGUMENTS, "DOUBLE[]")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    published = read_published(NAME, catalog, given, given["columns"])
    table = Cells(published, MOST_CELLS, given.get("on_null", "drop"))
    table.refuse_too_many(catalog)
    statement = table.statement(SOLVE, cells.chosen(given))
    rows = 'SELECT unnest("_pp_r") AS "_pp_value", unnest(range(len("_pp_r"))) AS "_pp_pair" FROM "_pp_solved"'
    size = " * ".join(f'len("_pp_l{i}")' for i in range(len(published.columns)))
    places = f'"_pp_pair" // ({size}) AS "_pp_row", "_pp_pair" % ({size}) AS "_pp_column"'
    split = f'SELECT *, {places} FROM ({rows}) CROSS JOIN "_pp_levels"'
    shown = [
        sql.named(_cell(table, "_pp_row"), "cell_a"),
        sql.named(_cell(table, "_pp_column"), "cell_b"),
        sql.named(sql.column("_pp_value"), "covariance"),
    ]
    return statement.finish(sql.select(shown, f"({split})") + ' ORDER BY "_pp_pair"')


def _cell(table: Cells, number: str) -> sql.Expr:
    """A cell as a struct of its levels."""
    parts = [f"{sql.render(sql.name(part.alias))} := {sql.render(part.this)}" for part in table.decoded(number)]
    return sql.raw(f"struct_pack({', '.join(parts)})")


def solve(
    specification: str, sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int,
) -> list[float]:  # fmt: skip
    spec = json.loads(specification)
    found = cells.reconstruction(spec, sizes, numbers, counts, strangers)
    estimate = cells.estimated(spec, found, spec.get("method", "moment"))
    values: list[float] = found.covariance(estimate).ravel().tolist()
    return values


FUNCTION = register(
    Function(
        NAME,
        (cells.TBL, COLUMNS, *cells.DESIGN, cells.TARGET, cells.METHOD),
        plan,
        "The covariance matrix of the reconstructed cells, one row for each pair of cells.",
        "Guo (2010), section 3.2.2",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"),),
    )
)
