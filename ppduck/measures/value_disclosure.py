"""value_disclosure(): how much of each confidential column can be predicted, without and with the release.

R² of X by S, by Y, and by S and Y (Sarathy & Muralidhar, sufficiency-based noise addition); the last exceeds the first
by what a release gives away.
"""

from __future__ import annotations

from typing import Any

from ppduck.call.registry import Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.kernels.prediction import ROUNDING
from ppduck.measures._pieces import PiecesCall, PiecesSpec, PiecesTold, answered, choose, pieces_of
from ppduck.measures._prediction import Predicted, predicted
from ppduck.pairs.measure import measure
from ppduck.pairs.rows import Pairs
from ppduck.query import tree as sql

NAME = "value_disclosure"
RESULTS = (
    Result("column_name", "VARCHAR", "a conf column"),
    Result(
        "gain", "DOUBLE", "r2_sy - r2_s: what the release adds; should be 0 but for the tolerance"
    ),
    Result("tolerance", "DOUBLE", "what chance makes of so many rows"),
    Result("r2_s", "DOUBLE", "the share of its variance that nonconf predicts"),
    Result("r2_y", "DOUBLE", "the share that the released columns predict"),
    Result("r2_sy", "DOUBLE", "the share that both predict together"),
    Result("rows", "BIGINT", "the pairs that it is of"),
    Result("meaning", "VARCHAR", "the figures in words"),
)


def answer(pairs: Pairs, call: PiecesCall) -> sql.Expr:
    return answered(pairs, SOLVE, RESULTS, call.model)


def solve(spec: PiecesSpec, told: PiecesTold) -> list[dict[str, Any]]:
    return [_row(found) for found in predicted(pieces_of(spec, told))]


def _row(found: Predicted) -> dict[str, Any]:
    by_s, by_y, by_sy = (found.r2(by) for by in ("s", "y", "sy"))
    gain = by_sy - by_s
    return {
        "column_name": found.column,
        "r2_s": by_s,
        "r2_y": by_y,
        "r2_sy": by_sy,
        "gain": gain,
        "tolerance": found.chance / found.variance if found.variance > 0 else ROUNDING,
        "rows": found.n,
        "meaning": "share that nonconf, the release, both predict; gain, what the release adds, should be 0 but for "
        "the tolerance, which chance explains",
    }


SOLVE = told_udf("ppduck_value_disclosure", solve, PiecesSpec, PiecesTold, rows_type(RESULTS))
FUNCTION = register(
    measure(
        NAME,
        PiecesCall,
        "The share of each conf column that can be predicted from nonconf, from its masked values, and from both.",
        "Sarathy & Muralidhar 2002; Al-Ahmadi 2006, (5.5)",
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM value_disclosure('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
        udfs=(SOLVE,),
    )
)
