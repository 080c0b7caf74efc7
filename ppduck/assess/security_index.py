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

from ppduck.assess._learning import PARAMETERS, frame_of, row_types
from ppduck.errors import quoted
from ppduck.kernels.linear import Blocks
from ppduck.kernels.relation import Relation, fit
from ppduck.masks.nm_egadp import EXTRA_NOISE, LOW_SECURITY, check_extra_noise, refit, stays_close
from ppduck.plan import sqlbuild as sql
from ppduck.plan.catalog import Catalog
from ppduck.plan.registry import Function, register
from ppduck.plan.relations import OVERFIT, TRAINED, model_of, training_rows
from ppduck.values import Array, Moments

NAME = "security_index"
SOLVE = "ppduck_security_index"
COLUMNS = {
    "column": "VARCHAR",
    "rows": "BIGINT",
    "security_index": "DOUBLE",
    "corr_masked": "DOUBLE",
    "b0": "DOUBLE",
    "b1": "DOUBLE",
    "r2": "DOUBLE",
    "r2_left_out": "DOUBLE",
    "verdict": "VARCHAR",
}
_SIDE = ["DOUBLE[]", "DOUBLE[]", "DOUBLE[]", "UBIGINT", "DOUBLE[]"]
TAKES, (GIVES, ARROW) = ["VARCHAR", "VARCHAR", "BIGINT", *_SIDE], row_types(COLUMNS)
HIGH_SECURITY = 1 - 0.5**2
ROWS_FOR_ADVICE = 1_500


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
        rows.append(
            {
                "column": name,
                "rows": n,
                "security_index": security,
                "corr_masked": (1 - security) / math.sqrt(1 + more),
                "b0": (1 - b1) * float(centres[j] + moments.mean[p + j]),
                "b1": b1,
                "r2": float(model.r2[j]),
                "r2_left_out": float(model.r2_left_out[j]),
                "verdict": _verdict(spec, j, security, more, model, sample),
            }
        )
    return rows


def _verdict(spec: dict[str, Any], j: int, security: float, extra: float, model: Relation, sample: Array | None) -> str:
    if model.r2[j] - model.r2_left_out[j] > OVERFIT:
        return (
            "not to be trusted: the model has learnt single rows, of which a release would tell; name fewer columns in "
            "nonconf"
        )
    if security >= HIGH_SECURITY:
        return "good: nonconf tells little of this column, and its masked values tell no more"
    if security >= LOW_SECURITY:
        return "fair: release it where the column is not very sensitive"
    if not stays_close(security, extra):
        return (
            "release with care: nonconf tells most of this column, extra_noise or not; only its masked values tell less"
        )
    return (
        "releasing is not advised: nonconf tells most of this column, and so would its masked values. Remedies: "
        f"extra_noise{_without(spec, j, sample)}"
    )


def _without(spec: dict[str, Any], j: int, sample: Array | None) -> str:
    """What the index would be without one nonconf column or another, the most helpful ones."""
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
    best = sorted(found.items(), key=lambda item: -item[1])[:3]
    told = ", ".join(f"{quoted(name)} (index {min(security, 1.0):.2f})" for name, security in best)
    return f", or nonconf without {told}"


FUNCTION = register(
    Function(
        NAME,
        (*PARAMETERS[:2], EXTRA_NOISE, *PARAMETERS[2:]),
        plan,
        "How well conf would be protected, before masking: security index, predicted Corr(X, Y), b0, b1 and a verdict.",
        "Al-Ahmadi 2006, (3.11) and (6.8)-(6.17)",
    )
)
UDF = (SOLVE, solve, TAKES, GIVES, ARROW)
