"""What is said of a learnt relation, from rows that a model was trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ppduck.masks._explain_relation import RESULTS, Modelled, solve
from ppduck.runtime.relation import Training, learn
from ppduck.runtime.spec import MaskSpec
from tests.runtime.conftest import spec

pytestmark = pytest.mark.core
__all__ = ["spec"]


def told(spec: Callable[..., MaskSpec], x: np.ndarray, s: np.ndarray) -> list[dict[str, Any]]:
    conf = [f"x{j}" for j in range(x.shape[1])]
    own = spec("nm_egadp_mask", indicators=[False], inputs=["s"], conf=conf)
    sample = np.column_stack([s, x]).reshape(-1)
    return solve(own, Modelled(None, sample, learn(own, Training(None, sample))))


def test_of_each_column_its_model_then_its_assumptions(spec: Callable[..., MaskSpec]) -> None:
    rng = np.random.default_rng(1)
    s = rng.uniform(-1, 1, 400)
    rows = told(spec, np.column_stack([np.abs(s), s]) + rng.normal(size=(400, 2)) / 10, s)
    assert [tuple(row) for row in rows] == [tuple(each.name for each in RESULTS)] * len(rows)
    models = [row for row in rows if row["role"] == "model"]
    assert [row["column_name"] for row in models] == ["x0", "x1"]
    assert all(row["note"].startswith("LS-SVM on 400 rows: R² 0.") for row in models)
    found = [(row["column_name"], row["note"].partition(":")[0]) for row in rows if row["role"] == "assumption"]
    assert found == [
        ("x0", "constant variance"), ("x1", "constant variance"), ("x0, x1", "simple patterns among residuals"),
        ("x0", "single-valued mapping"), ("x1", "single-valued mapping"),
    ]  # fmt: skip
    assert not any("violation suspected" in row["note"] for row in rows)


def test_a_spread_that_grows_is_suspected(spec: Callable[..., MaskSpec]) -> None:
    rng = np.random.default_rng(2)
    s = rng.uniform(-1, 1, 600)
    rows = told(spec, (np.abs(s) + s**2 * rng.normal(size=600))[:, None], s)
    suspected = [row["note"].partition(":")[0] for row in rows if "violation suspected" in row["note"]]
    assert suspected == ["constant variance"]
