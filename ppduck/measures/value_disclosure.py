"""value_disclosure(): how much of each confidential column can be predicted, without and with the release.

R² of X by S, by Y, and by S and Y (Sarathy & Muralidhar, sufficiency-based noise addition); the last exceeds the first
by what a release gives away.
"""

from __future__ import annotations

from typing import Any

from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.kernels.prediction import ROUNDING
from ppduck.measures._measure import MODEL, PIECES, TAKES, pieces_of, planned
from ppduck.measures._prediction import Predicted, predicted
from ppduck.measures.relation_frame import row_types
from ppduck.pairs import rows as row_pairs
from ppduck.pairs.moments import CONF, KEY, NONCONF, ORIGINAL, RELEASE
from ppduck.values import Array

NAME = "value_disclosure"
SOLVE = "ppduck_value_disclosure"
COLUMNS = {
    "column_name": "VARCHAR",
    "gain": "DOUBLE",
    "tolerance": "DOUBLE",
    "r2_s": "DOUBLE",
    "r2_y": "DOUBLE",
    "r2_sy": "DOUBLE",
    "rows": "BIGINT",
    "meaning": "VARCHAR",
}
GIVES = row_types(COLUMNS)


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    return planned(NAME, catalog, given, SOLVE, COLUMNS)


def solve(specification: str, _: int, *told: Array | None) -> list[dict[str, Any]]:
    return [_row(found) for found in predicted(pieces_of(specification, *told))]


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


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, RELEASE, CONF, KEY, NONCONF, MODEL, PIECES),
        plan,
        "The share of each conf column that can be predicted from nonconf, from its masked values, and from both.",
        "Sarathy & Muralidhar 2002; Al-Ahmadi 2006, (5.5)",
        udfs=(Udf(SOLVE, solve, TAKES, GIVES), row_pairs.UDF),
    )
)
