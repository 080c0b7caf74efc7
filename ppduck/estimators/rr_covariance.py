"""rr_covariance(): the full covariance matrix of the cells that rr_reconstruct estimates, Σ1 + Σ2, in long form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ppduck.call.parameters import parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import LEVELS, MATRIX, DesignCall, Matrix, P, Probability
from ppduck.estimators import cells
from ppduck.estimators.cells import CellCounts, Cells, CellsSpec
from ppduck.estimators.design_source import read_release
from ppduck.estimators.rr_reconstruct import COLUMNS
from ppduck.frozen import frozen
from ppduck.kernels.distortion import Target
from ppduck.query import tree as sql
from ppduck.query.arithmetic import remainder, whole_quotient

NAME = "rr_covariance"
MOST_CELLS = 1_000


@parameters
class RrCovarianceCall(DesignCall):
    tbl: str = cells.TBL
    columns: Sequence[str] = COLUMNS
    p: Probability | None = P
    matrix: Mapping[str, Matrix] | None = MATRIX
    levels: Mapping[str, list[Any]] | None = LEVELS
    on_null: str = cells.ON_NULL
    target: Target = cells.TARGET
    method: str = cells.METHOD


@frozen
class CovarianceSpec(CellsSpec):
    target: Target
    method: str


def plan(catalog: Catalog, call: RrCovarianceCall) -> sql.Expr:
    release = read_release(NAME, catalog, call.tbl, call.columns, call.words)
    table = Cells(release, MOST_CELLS, call.words.null_is_level)
    table.refuse_too_many(catalog)
    statement = table.solve(UDF, table.spec(CovarianceSpec, target=call.target, method=call.method))
    answer, pair = sql.column(cells.ANSWER), sql.column("_pp_pair")
    numbers = sql.call("range", sql.call("len", answer.copy()))
    values = [
        sql.named(sql.call("unnest", answer), "_pp_covariance"),
        sql.named(sql.call("unnest", numbers), "_pp_pair"),
    ]
    rows = sql.query(values, sql.table(cells.SOLVED))
    size = table.size()
    split = sql.query(
        [
            sql.star("_pp_pairs"),
            sql.star(cells.LEVELS_STEP),
            sql.named(whole_quotient(pair, size), "_pp_one"),
            sql.named(remainder(pair.copy(), size.copy()), "_pp_other"),
        ],
        sql.derived(rows, "_pp_pairs").cross(sql.table(cells.LEVELS_STEP)),
    )
    shown = [
        sql.named(sql.struct(table.levels_at("_pp_one")), "cell_a"),
        sql.named(sql.struct(table.levels_at("_pp_other")), "cell_b"),
        sql.named(sql.column("_pp_covariance"), "covariance"),
    ]
    return statement.query(
        sql.query(shown, sql.derived(split, "_pp_split"), order=[sql.column("_pp_pair")])
    )


def solve(spec: CovarianceSpec, told: CellCounts) -> list[float]:
    found = cells.table_of(spec, told, spec.target)
    estimate = cells.estimate_by(spec.method, found, spec.faults())
    values: list[float] = found.covariance(estimate).ravel().tolist()
    return values


UDF = told_udf("ppduck_rr_covariance", solve, CovarianceSpec, CellCounts, "DOUBLE[]")

FUNCTION = register(
    Function(
        NAME,
        RrCovarianceCall,
        plan,
        "The covariance matrix of the reconstructed cells, one row for each pair of cells.",
        "Guo (2010), section 3.2.2",
        kind=Kind.ESTIMATOR,
        results=(
            Result(
                "cell_a",
                "STRUCT(gender VARCHAR, disease VARCHAR)",
                "a cell: a level of each of the columns",
            ),
            Result(
                "cell_b", "STRUCT(gender VARCHAR, disease VARCHAR)", "another cell, or the same"
            ),
            Result("covariance", "DOUBLE", "the covariance of their two estimates"),
        ),
        example="FROM rr_covariance('survey_rr', ['gender','disease'])",
        udfs=(UDF,),
    )
)
