"""security_index(): how well conf is protected by masking, before anything is masked.

SI = Var(r)/Var(X), with r what E(X|S) leaves of X (000, 3.11); the masked Y of nm_egadp_mask then has
Corr(X, Y) = 1 - SI, and X = b0 + b1·Y with b1 = 1 - SI, b0 = SI·E(X) (6.8-6.17). With extra noise of variance k·Var(X),
Corr(X, Y) = (1 - SI)/√(1 + k) and b1 = (1 - SI)/(1 + k).
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ppduck.call.direction import HIGHER_IS_SAFER
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import quoted
from ppduck.kernels.linear import Blocks
from ppduck.kernels.relation import fit
from ppduck.masks._security import LEARNT, LOW_SECURITY, stays_close
from ppduck.masks.nm_egadp import EXTRA_NOISE, check_extra_noise, refit
from ppduck.measures.relation_frame import PARAMETERS, frame_of, row_types
from ppduck.query import tree as sql
from ppduck.stages.relation import TRAINED, model_of, training_rows
from ppduck.values import Array, Moments

NAME = "security_index"
SOLVE = "ppduck_security_index"
COLUMNS = {
    "column_name": "VARCHAR",
    "verdict": "VARCHAR",
    "security_index": "DOUBLE",
    "corr_masked": "DOUBLE",
    "b0": "DOUBLE",
    "b1": "DOUBLE",
    "r2": "DOUBLE",
    "r2_left_out": "DOUBLE",
    "rows": "BIGINT",
    "direction": "VARCHAR",
    "advice": "VARCHAR",
}
_SIDE = ["DOUBLE[]", "DOUBLE[]", "DOUBLE[]", "UBIGINT", "DOUBLE[]"]
TAKES, GIVES = ["VARCHAR", "VARCHAR", "BIGINT", *_SIDE], row_types(COLUMNS)
HIGH_SECURITY = 1 - 0.5**2
ROWS_FOR_ADVICE = 500


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    frame = frame_of(NAME, catalog, given)
    faults = check_extra_noise(given, [column.name for column in frame.roles.conf])
    if faults:
        raise frame.roles.faults(NAME, faults)
    statement = frame.measuring()
    centres = sql.array((sql.column(name, "_pp_first") for name in frame.centres[frame.p :]), "DOUBLE")
    told = [
        *(sql.column(name, "_pp_moments") for name in ("_pp_n", "_pp_sums", "_pp_products")),
        centres,
        sql.column(TRAINED, "_pp_models"),
        sql.column("_pp_sample", "_pp_training"),
    ]
    return frame.answer(statement, SOLVE, ["_pp_moments", "_pp_first", "_pp_models", "_pp_training"], told, COLUMNS)


def solve(
    specification: str, group: str | None, n: int, sums: Array, products: Array, centres: Array, token: int,
    sample: Array | None,
) -> list[dict[str, Any]]:  # fmt: skip
    """One row a conf column, from the moments of [S, û, products, X]."""
    spec = json.loads(specification)
    q, p = len(spec["conf"]), len(spec["features"])
    moments = Moments.from_sums(n, np.nan_to_num(sums), np.nan_to_num(products))
    _, _, residual = refit(Blocks.from_moments(moments, p, q), p - 4 * q)
    extra = spec["parameters"].get("extra_noise", 0.0)
    model = model_of(token)
    rows = []
    for j, name in enumerate(spec["conf"]):
        security = float(np.clip(residual[j, j], 0.0, 1.0))
        more = extra.get(name, 0.0) if isinstance(extra, dict) else extra
        b1 = (1 - security) / (1 + more)
        verdict, advice = _verdict(spec, j, security, more, sample)
        rows.append(
            {
                "column_name": name,
                "rows": n,
                "security_index": security,
                "corr_masked": (1 - security) / math.sqrt(1 + more),
                "b0": (1 - b1) * float(centres[j] + moments.mean[p + j]),
                "b1": b1,
                "r2": float(model.r2[j]),
                "r2_left_out": float(model.r2_left_out[j]),
                "verdict": verdict,
                "direction": HIGHER_IS_SAFER,
                "advice": advice,
            }
        )
    return rows


def _verdict(spec: dict[str, Any], j: int, security: float, extra: float, sample: Array | None) -> tuple[str, str]:
    """In a word, and in a sentence."""
    if security < LEARNT:
        return "impossible", "nonconf determines this column; leave out of nonconf, and drop, what determines it"
    if security >= HIGH_SECURITY:
        return "good", "nonconf tells little of this column, and its masked values tell no more"
    if security >= LOW_SECURITY:
        return "fair", "release it where the column is not very sensitive"
    if not stays_close(security, extra):
        return "with care", "nonconf tells most of this column, extra_noise or not; only its masked values tell less"
    return "not advised", (
        "nonconf tells most of this column, and so would its masked values; remedies: "
        f"extra_noise{_without(spec, j, sample)}"
    )


def _without(spec: dict[str, Any], j: int, sample: Array | None) -> str:
    """The nonconf columns without which the index would be fair, and what it would be."""
    names = spec["inputs"]
    if len(set(names)) < 2:
        return ""
    s, x = training_rows(spec, sample)
    s, x = s[:ROWS_FOR_ADVICE], x[:ROWS_FOR_ADVICE, [j]]
    indicators = np.array(spec["indicators"], dtype=bool)
    found = {}
    for name in dict.fromkeys(names):
        kept = np.array([other != name for other in names])
        found[name] = 1 - float(fit(s[:, kept], x, indicators=indicators[kept]).r2_left_out[0])
    helpful = sorted(((index, name) for name, index in found.items() if index >= LOW_SECURITY), reverse=True)[:3]
    if not helpful:
        return ", or several columns fewer in nonconf: no single one makes the difference"
    told = " or ".join(f"{quoted(name)} (index about {min(index, 1.0):.2f})" for index, name in helpful)
    return f", or nonconf without {told}"


FUNCTION = register(
    Function(
        NAME,
        (*PARAMETERS[:2], EXTRA_NOISE, *PARAMETERS[2:]),
        plan,
        "How well conf would be protected, before masking: security index, predicted Corr(X, Y), b0, b1 and a verdict.",
        "Al-Ahmadi 2006, (3.11) and (6.8)-(6.17)",
        udfs=(Udf(SOLVE, solve, TAKES, GIVES),),
    )
)
