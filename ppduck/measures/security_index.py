"""security_index(): how well conf is protected by masking, before anything is masked.

SI = Var(r)/Var(X), with r what E(X|S) leaves of X (Al-Ahmadi 2006, 3.11); the masked Y of nm_egadp_mask then has
Corr(X, Y) = 1 - SI, and X = b0 + b1·Y with b1 = 1 - SI, b0 = SI·E(X) (6.8-6.17). With extra noise of variance k·Var(X),
Corr(X, Y) = (1 - SI)/√(1 + k) and b1 = (1 - SI)/(1 + k).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ppduck.call.direction import HIGHER_IS_SAFER
from ppduck.call.numeric_mask import PerColumn, check_columns
from ppduck.call.parameters import parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import Unsigned, rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.kernels.linear import Blocks
from ppduck.kernels.relation import fit
from ppduck.masks import nm_egadp
from ppduck.masks.nm_egadp import EXTRA_NOISE, refit
from ppduck.query import tree as sql
from ppduck.runtime.check import CHECK
from ppduck.runtime.relation import EVALUATE, LEARN, Training, model_of
from ppduck.runtime.security import LEARNT, LOW_SECURITY, stays_close
from ppduck.runtime.spec import MaskSpec
from ppduck.stages.masking import LOOK
from ppduck.stages.moments import MOMENTS
from ppduck.stages.relation import MODEL, MODELS, TRAINING
from ppduck.stages.relation_plan import LookCall, RelationPlan
from ppduck.values import Array, Moments

NAME = "security_index"
RESULTS = (
    Result("column_name", "VARCHAR", "a conf column"),
    Result("verdict", "VARCHAR", "good, fair, with care, not advised or impossible"),
    Result("security_index", "DOUBLE", "share of its variance that nonconf leaves open"),
    Result(
        "corr_masked", "DOUBLE", "the correlation that masked values would have with the originals"
    ),
    Result("b0", "DOUBLE", "intercept of the line by which masked values predict the originals"),
    Result("b1", "DOUBLE", "slope of that line"),
    Result("r2", "DOUBLE", "share of its variance that the model explains"),
    Result("r2_left_out", "DOUBLE", "the same of rows that it was not fitted to"),
    Result("rows", "BIGINT", "rows that were looked at"),
    Result("direction", "VARCHAR", "which way the index is good"),
    Result("advice", "VARCHAR", "what to do"),
)
HIGH_SECURITY = 1 - 0.5**2
ROWS_FOR_ADVICE = 500


@parameters
class SecurityCall(LookCall):
    extra_noise: PerColumn | None = EXTRA_NOISE


@frozen
class Fitted(Training):
    """Moments of [S, û, products, X] of a group, what X is measured from, and its model."""

    n: int
    sums: Array
    products: Array
    centres: Array
    model: Unsigned


def plan(catalog: Catalog, call: SecurityCall) -> sql.Expr:
    found = RelationPlan.of(NAME, nm_egadp.MASK, catalog, call)
    roles, terms = found.masking.roles, found.relation.terms
    faults = check_columns("extra_noise", call.extra_noise, [column.name for column in roles.conf])
    if faults:
        raise roles.faults(NAME, faults)
    told = {
        **{name: sql.column(f"_pp_{name}", MOMENTS) for name in ("n", "sums", "products")},
        "centres": sql.array(
            [sql.column(name, LOOK) for name in terms.centres[terms.p :]], "DOUBLE"
        ),
        "model": sql.column(MODEL, MODELS),
        "sample": sql.column("_pp_sample", TRAINING),
    }
    return found.answer(found.measuring(), UDF, [MOMENTS, LOOK, MODELS, TRAINING], told, RESULTS)


def solve(spec: MaskSpec, told: Fitted) -> list[dict[str, Any]]:
    """One row a conf column."""
    q, p = len(spec.conf), len(spec.features)
    moments = Moments.from_sums(told.n, np.nan_to_num(told.sums), np.nan_to_num(told.products))
    _, _, residual = refit(Blocks.from_moments(moments, p, q), spec.places)
    call: SecurityCall = spec.call
    extra = call.extra_noise or 0.0
    model = model_of(told.model)
    rows = []
    for j, name in enumerate(spec.conf):
        security = float(np.clip(residual[j, j], 0.0, 1.0))
        more = extra.get(name, 0.0) if isinstance(extra, dict) else extra
        b1 = (1 - security) / (1 + more)
        verdict, advice = _verdict(spec, j, security, more, told)
        rows.append(
            {
                "column_name": name,
                "rows": told.n,
                "security_index": security,
                "corr_masked": (1 - security) / math.sqrt(1 + more),
                "b0": (1 - b1) * float(told.centres[j] + moments.mean[p + j]),
                "b1": b1,
                "r2": float(model.r2[j]),
                "r2_left_out": float(model.r2_left_out[j]),
                "verdict": verdict,
                "direction": HIGHER_IS_SAFER,
                "advice": advice,
            }
        )
    return rows


def _verdict(
    spec: MaskSpec, j: int, security: float, extra: float, training: Training
) -> tuple[str, str]:
    """In a word, and in a sentence."""
    if security < LEARNT:
        return (
            "impossible",
            "nonconf determines this column; leave out of nonconf, and drop, what determines it",
        )
    if security >= HIGH_SECURITY:
        return "good", "nonconf tells little of this column, and its masked values tell no more"
    if security >= LOW_SECURITY:
        return "fair", "release it where the column is not very sensitive"
    if not stays_close(security, extra):
        return (
            "with care",
            "nonconf tells most of this column, extra_noise or not; only its masked values tell less",
        )
    return "not advised", (
        "nonconf tells most of this column, and so would its masked values; remedies: "
        f"extra_noise{_without(spec, j, training)}"
    )


def _without(spec: MaskSpec, j: int, training: Training) -> str:
    """The nonconf columns without which the index would be fair, and what it would be."""
    names = spec.inputs
    if len(set(names)) < 2:
        return ""
    s, x = training.rows(spec)
    s, x = s[:ROWS_FOR_ADVICE], x[:ROWS_FOR_ADVICE, [j]]
    indicators = np.array(spec.indicators, dtype=bool)
    found = {}
    for name in dict.fromkeys(names):
        kept = np.array([other != name for other in names])
        found[name] = 1 - float(fit(s[:, kept], x, indicators=indicators[kept]).r2_left_out[0])
    helpful = sorted(
        ((index, name) for name, index in found.items() if index >= LOW_SECURITY), reverse=True
    )[:3]
    if not helpful:
        return ", or several columns fewer in nonconf: no single one makes the difference"
    told = " or ".join(
        f"{quoted(name)} (index about {min(index, 1.0):.2f})" for index, name in helpful
    )
    return f", or nonconf without {told}"


UDF = told_udf("ppduck_security_index", solve, MaskSpec, Fitted, rows_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        SecurityCall,
        plan,
        "How well conf would be protected, before masking: security index, predicted Corr(X, Y), b0, b1 and a verdict.",
        "Al-Ahmadi 2006, (3.11) and (6.8)-(6.17)",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM security_index('customers', conf=['x1','x2'], nonconf=['s1','s2'])",
        udfs=(CHECK, LEARN, EVALUATE, UDF),
    )
)
