"""What mask_explain says of nm_egadp_mask beyond other masks: whether its assumptions hold, and what its model learnt.

The fit is refitted by least squares on [1, S, û] as the mask does, on the rows that the model is trained on; then
constant variance, simple patterns among residuals and single-valued mapping are looked for
(Al-Ahmadi 2006, section IV.2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppduck.call.linear_mask import LinearMask
from ppduck.call.numeric_mask import NumericCall
from ppduck.call.parameters import parameters_of
from ppduck.call.registry import Result
from ppduck.call.udf import Unsigned, rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.frozen import frozen
from ppduck.kernels.assumptions import check
from ppduck.kernels.threads import one_thread
from ppduck.query import tree as sql
from ppduck.runtime.relation import Training, model_of
from ppduck.runtime.spec import MaskSpec
from ppduck.stages import explain
from ppduck.stages.relation import MODEL, MODELS, TRAINING
from ppduck.stages.relation_plan import STRATUM, LookCall, RelationPlan

RESULTS = (
    Result("column_name", "VARCHAR", "the conf columns"),
    Result("role", "VARCHAR", "model or assumption"),
    Result("note", "VARCHAR", "what was found"),
)


@frozen
class Modelled(Training):
    """What a model was trained on, and the model."""

    model: Unsigned


def explained(mask: LinearMask, catalog: Catalog, call: NumericCall) -> sql.Expr:
    return sql.union_all(
        [explain.explained(mask, catalog, call), _assumptions(mask, catalog, call)]
    )


def _assumptions(mask: LinearMask, catalog: Catalog, call: NumericCall) -> sql.Expr:
    """One row an assumption and column."""
    shared = {each.name: getattr(call, each.name) for each in parameters_of(LookCall)}
    found = RelationPlan.of(mask.name, mask, catalog, LookCall(**shared))
    told = {"sample": sql.column("_pp_sample", TRAINING), "model": sql.column(MODEL, MODELS)}
    rows = found.answer(found.training(), UDF, [MODELS, TRAINING], told, RESULTS)
    note: sql.Expr = sql.column("note")
    if found.masking.by:
        note = sql.call(
            "concat", sql.text("in the group "), sql.column(STRATUM), sql.text(": "), note
        )
    return sql.query(
        [sql.column("column_name"), sql.column("role"), note], sql.derived(rows, "_pp_explained")
    )


def solve(spec: MaskSpec, told: Modelled) -> list[dict[str, Any]]:
    s, x = told.rows(spec)
    model = model_of(told.model)
    with one_thread():
        design = np.column_stack([np.ones(len(s)), s, model.predict(s)])
        norms = np.linalg.norm(design, axis=0)
        design /= np.where(norms > 0, norms, 1.0)
        u = design @ np.linalg.lstsq(design, x, rcond=1e-7)[0]
        found = check(s, u, x - u)
    kind = "LS-SVM" if model.exact else f"LS-SVM by {len(model.landmarks)} Nyström landmarks"
    rows = [
        {
            "column_name": name,
            "role": "model",
            "note": f"{kind} on {len(s)} rows: R² {model.r2[j]:.3f}, left out {model.r2_left_out[j]:.3f}, "
            f"{model.freedom[j]:.1f} degrees of freedom",
        }
        for j, name in enumerate(spec.conf)
    ]
    rows += [
        {
            "column_name": ", ".join(spec.conf[j] for j in each.columns),
            "role": "assumption",
            "note": f"{each.name}: {each.text}",
        }
        for each in found
    ]
    return rows


UDF = told_udf("ppduck_assumptions", solve, MaskSpec, Modelled, rows_type(RESULTS))
