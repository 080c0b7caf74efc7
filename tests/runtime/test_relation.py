"""Models that SQL carries as numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from ppduck.errors import PpduckError
from ppduck.runtime.relation import FEWEST_ROWS, Training, evaluate, learn, model_of
from ppduck.runtime.spec import MaskSpec
from ppduck.values import Array

Spec = Callable[..., MaskSpec]


def rows(n: int) -> Array:
    s = np.linspace(-2, 2, n)
    return np.column_stack([s, s**2 - 1]).reshape(-1)


def test_a_model_is_known_by_what_it_was_trained_on(spec: Spec) -> None:
    told = spec("nm_egadp_mask", indicators=[False], inputs=["s"])
    token = learn(told, Training(None, rows(200)))
    assert learn(told, Training(None, rows(200))) == token
    assert learn(told, Training(None, rows(201))) != token
    found = evaluate(pa.array([token] * 3, pa.uint64()), pa.array([[-1.5], [0.0], [1.5]]))
    np.testing.assert_allclose([each[0] for each in found.to_pylist()], [1.25, -1.0, 1.25], atol=0.05)


def test_each_row_is_evaluated_by_the_model_of_its_group(spec: Spec) -> None:
    told = spec("nm_egadp_mask", indicators=[False], inputs=["s"])
    up = np.column_stack([np.linspace(-2, 2, 100), np.linspace(-2, 2, 100)]).reshape(-1)
    tokens = [learn(told, Training("a", up)), learn(told, Training("b", np.where(np.arange(200) % 2, -up, up)))]
    one, other = evaluate(pa.array(tokens, pa.uint64()), pa.array([[1.0], [1.0]])).to_pylist()
    assert one[0] == pytest.approx(1, abs=0.01)
    assert other[0] == pytest.approx(-1, abs=0.01)
    assert evaluate(pa.array([], pa.uint64()), pa.array([], pa.list_(pa.float64()))).to_pylist() == []


def test_too_few_rows_are_refused(spec: Spec) -> None:
    told = spec("nm_egadp_mask", indicators=[False], inputs=["s"])
    with pytest.raises(PpduckError, match=f"29 complete rows in the group g = a are too few .* at least {FEWEST_ROWS}"):
        learn(told, Training("g = a", rows(29)))
    with pytest.raises(PpduckError, match="0 complete rows are too few"):
        learn(told, Training(None, None))


def test_a_model_that_nobody_trained_is_no_model() -> None:
    with pytest.raises(PpduckError, match="models are in use at once"):
        model_of(1)
