"""The learnt E(X|S): a sample trains a model, and every row is evaluated by it.

SQL carries a model as a number, a digest of what it was trained on; the models themselves are kept here, as many as
statements under way may need.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from typing import Any

import numpy as np
import pyarrow as pa

from ppduck.call.udf import Udf, told_udf
from ppduck.errors import PpduckError
from ppduck.frozen import frozen
from ppduck.kernels.relation import Relation, fit
from ppduck.runtime.spec import MaskSpec
from ppduck.values import Array

FEWEST_ROWS = 30
_MOST_MODELS = 4096

_models: OrderedDict[int, Relation] = OrderedDict()
_lock = threading.Lock()


@frozen
class Training:
    """Rows that a model is trained on: what it reads, then deviations of conf, one row after the other."""

    group: str | None
    sample: Array | None

    @property
    def where(self) -> str:
        return f" in the group {self.group}" if self.group else ""

    def rows(self, spec: MaskSpec) -> tuple[Array, Array]:
        """(inputs, deviations of conf)"""
        size, width = len(spec.indicators), len(spec.indicators) + len(spec.conf)
        rows = np.empty((0, width)) if self.sample is None else self.sample.reshape(-1, width)
        return rows[:, :size], rows[:, size:]


def learn(spec: MaskSpec, training: Training) -> int:
    """Trains a model on a sample; its digest stands for it."""
    s, x = training.rows(spec)
    if len(s) < FEWEST_ROWS:
        raise spec.refuse(
            f"{len(s)} complete rows{training.where} are too few to learn a relation from; at least {FEWEST_ROWS} are "
            "needed. Use egadp_mask for so few rows"
            + (", or merge small groups." if training.group else ".")
        )
    digest = hashlib.sha256(json.dumps(spec.indicators).encode())
    digest.update(np.ascontiguousarray(training.sample).tobytes())
    token = int.from_bytes(digest.digest()[:8], "little")
    with _lock:
        model = _models.get(token)
        if model is not None:
            _models.move_to_end(token)
    if model is None:
        model = fit(s, x, indicators=np.array(spec.indicators, dtype=bool))
        with _lock:
            _models[token] = model
            while len(_models) > _MOST_MODELS:
                _models.popitem(last=False)
    return token


def model_of(token: int) -> Relation:
    with _lock:
        found = _models.get(token)
    if found is None:
        raise PpduckError(
            f"ppduck: more than {_MOST_MODELS} models are in use at once; mask fewer groups at a time."
        )
    return found


def evaluate(tokens: Any, inputs: Any) -> pa.Array:
    """û of every row, by the model of its group."""
    rows = inputs.combine_chunks() if isinstance(inputs, pa.ChunkedArray) else inputs
    if not len(rows):
        return pa.array([], type=pa.list_(pa.float64()))
    models = np.asarray(tokens.to_numpy())
    s = rows.flatten().to_numpy(zero_copy_only=False).reshape(len(rows), -1)
    found: Array | None = None
    for token in np.unique(models):
        mine = models == token
        predicted = model_of(int(token)).predict(s[mine])
        if found is None:
            found = np.empty((len(s), predicted.shape[1]))
        found[mine] = predicted
    assert found is not None
    offsets = np.arange(len(s) + 1, dtype=np.int32) * found.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(found.reshape(-1)))


LEARN = told_udf("ppduck_learn", learn, MaskSpec, Training, "UBIGINT")
EVALUATE = Udf("ppduck_evaluate", evaluate, ("UBIGINT", "DOUBLE[]"), "DOUBLE[]")
