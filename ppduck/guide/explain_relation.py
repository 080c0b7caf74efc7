"""What mask_explain says of nm_egadp_mask beyond other masks: whether its assumptions hold, and what its model learnt.

The fit is refitted by least squares on [1, S, û] as the mask does, on the rows that the model is trained on; then
constant variance, simple patterns among residuals and single-valued mapping are looked for (000, section IV.2).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.kernels.assumptions import check
from ppduck.kernels.threads import one_thread
from ppduck.measures.relation_frame import GROUP, frame_of, row_types
from ppduck.query import tree as sql
from ppduck.stages.relation import TRAINED, model_of, training_rows
from ppduck.values import Array

SOLVE = "ppduck_assumptions"
COLUMNS = {"column_name": "VARCHAR", "role": "VARCHAR", "note": "VARCHAR"}
TAKES, GIVES = ["VARCHAR", "VARCHAR", "UBIGINT", "DOUBLE[]"], row_types(COLUMNS)


def statement(name: str, catalog: Catalog, given: dict[str, Any]) -> str:
    """A SELECT of (column, role, note), one row an assumption and column."""
    frame = frame_of(name, catalog, given)
    told = [sql.column(TRAINED, "_pp_models"), sql.column("_pp_sample", "_pp_training")]
    rows = frame.answer(frame.training(), SOLVE, ["_pp_models", "_pp_training"], told, COLUMNS)
    note = f"""concat('in the group ', "{GROUP}", ': ', "note")""" if frame.by else '"note"'
    return f'SELECT "column_name", "role", {note} FROM ({rows})'


def solve(specification: str, group: str | None, token: int, sample: Array | None) -> list[dict[str, Any]]:
    spec = json.loads(specification)
    s, x = training_rows(spec, sample)
    model = model_of(token)
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
        for j, name in enumerate(spec["conf"])
    ]
    rows += [
        {
            "column_name": ", ".join(spec["conf"][j] for j in each.columns),
            "role": "assumption",
            "note": f"{each.name}: {each.text}",
        }
        for each in found
    ]
    return rows


UDF = Udf(SOLVE, solve, TAKES, GIVES)
