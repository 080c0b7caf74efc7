"""Loglinear kernels: closed forms, margins and degrees of freedom by rank."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels import loglinear
from ppduck.kernels.distortion import along_axes
from ppduck.kernels.loglinear import (
    all_models,
    degrees_of_freedom,
    fit,
    fitted_model,
    preserved,
)
from ppduck.kernels.loglinear_distortion import design


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_fitted_table_has_the_margins_of_its_generators(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(2, 4), min_size=2, max_size=4))
    counts = data.draw(st.lists(st.integers(0, 30), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    table = np.array(counts, dtype=float).reshape(shape) + 0.5
    model = data.draw(st.sampled_from(all_models(len(shape))))
    found, off = fit(table, model)
    assert off < 1e-9
    for one in model:
        others = tuple(axis for axis in range(len(shape)) if axis not in one)
        np.testing.assert_allclose(found.sum(axis=others), table.sum(axis=others), rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_degrees_of_freedom_are_cells_less_rank(data: st.DataObject) -> None:
    """Against the rank of the design matrix of the cells that a model leaves room for."""
    shape = data.draw(st.lists(st.integers(2, 3), min_size=2, max_size=4))
    size = int(np.prod(shape))
    table = np.array(data.draw(st.lists(st.sampled_from([0, 0, 1, 5]), min_size=size, max_size=size)), dtype=float)
    if table.sum() == 0:
        return
    table = table.reshape(shape)
    model = data.draw(st.sampled_from(all_models(len(shape))))
    room = np.ones(shape, dtype=bool)
    for one in model:
        room &= table.sum(axis=tuple(axis for axis in range(len(shape)) if axis not in one), keepdims=True) > 0
    x = np.hstack([np.ones((size, 1)), design(shape, model)])[room.ravel()]
    rank = np.linalg.matrix_rank(x)
    assert degrees_of_freedom(room, model) == (room.sum() - rank, rank)


def test_more_empty_cells_than_can_be_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loglinear, "MOST_PARAMETERS", 3)
    assert degrees_of_freedom(np.ones((3, 3), dtype=bool), ((0,), (1,))) == (4, 5)
    assert degrees_of_freedom(np.eye(3) > 0, ((0,), (1,))) is None


def test_zero_cells_that_no_empty_margin_tells() -> None:
    """Haberman's case: all margins of pairs are positive, and the fit leaves the two zero cells empty all the same."""
    table = np.array([[[0.0, 5], [7, 3]], [[4, 6], [2, 0]]])
    pairs = ((0, 1), (0, 2), (1, 2))
    found = fitted_model(table, pairs)
    np.testing.assert_allclose(found.fitted, table, atol=1e-8)
    assert (found.df, found.parameters, found.unfinished) == (0, 6, "")
    assert fitted_model(table, ((0, 1), (0, 2))).df == 2


def test_theorem_2() -> None:
    assert preserved(((0, 1), (2,)), {0, 1, 2})
    assert not preserved(((0, 1), (0, 2)), {0})
    assert preserved(((0, 1), (0, 2)), {1, 2})
    assert not preserved(tuple(combinations(range(3), 2)), {2})


@pytest.mark.parametrize("model", all_models(3))
def test_preserved_models_are_exactly_those_that_stay(model: tuple[tuple[int, ...], ...]) -> None:
    """A table that has the model, randomized in its first and second columns, has it still if it is preserved."""
    rng = np.random.default_rng(7)
    start, _ = fit(rng.uniform(1, 9, (2, 3, 2)), model)
    matrices = (rng.dirichlet([1, 1], 2).T, rng.dirichlet([1, 1, 1], 3).T, np.eye(2))
    published = along_axes(start, matrices)
    holds = fitted_model(published, model).g2 < 1e-6 * published.sum()
    assert holds == preserved(model, {0, 1})
