"""Loglinear kernels: closed forms, margins, degrees of freedom by rank, and fits through matrices."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels import loglinear
from ppduck.kernels.loglinear import (
    Fit,
    Generators,
    all_models,
    degrees_of_freedom,
    fit,
    fitted_model,
    preserved,
    terms_of,
)
from ppduck.kernels.loglinear_randomized import design, fitted_through
from ppduck.kernels.randomized import Reconstruction, along_axes, uniform


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


def through(counts: np.ndarray, matrices: list[np.ndarray], model: Generators) -> Fit:
    saturated, _ = Reconstruction(counts.astype(float), tuple(matrices)).estimate("mle")
    return fitted_through(counts.astype(float), matrices, model, saturated)


@pytest.mark.parametrize(("p", "n"), [(0.6, 100), (0.7, 200)])
def test_few_rows_and_strong_randomization_do_not_reject_too_often(p: float, n: int) -> None:
    rng = np.random.default_rng(13)
    model: Generators = ((0, 1), (0, 2))
    population, _ = fit(rng.uniform(1, 4, (2, 2, 2)), model)
    matrices = [uniform(p, 2)] * 3
    expected = along_axes(population / population.sum(), matrices).ravel()
    found = [through(rng.multinomial(n, expected).reshape(2, 2, 2), matrices, model) for _ in range(15)]
    assert sum(each.p_value < 0.05 for each in found) <= 2
    assert sum(each.p_value_g2 < 0.05 for each in found) <= 2


def test_a_wider_model_never_fits_worse_through_matrices() -> None:
    rng = np.random.default_rng(17)
    matrices = [uniform(0.6, 2)] * 3
    for _ in range(3):
        counts = rng.integers(10, 40, (2, 2, 2)).astype(float)
        saturated, _ = Reconstruction(counts, tuple(matrices)).estimate("mle")
        g2 = {model: fitted_through(counts, matrices, model, saturated).g2 for model in all_models(3)}
        for one, two in combinations(g2, 2):
            if terms_of(one) < terms_of(two):
                assert g2[two] <= g2[one] + 0.02, (one, two)


def test_columns_that_are_not_randomized_keep_their_empty_margins() -> None:
    table = np.random.default_rng(5).integers(1, 9, (3, 3, 2)).astype(float)
    table[0, 2] = table[2, 0] = 0
    for model in (((0, 1), (2,)), ((0, 1), (0, 2))):
        one, two = fitted_model(table, model), through(table, [np.eye(3), np.eye(3), np.eye(2)], model)
        assert (two.df, two.parameters) == (one.df, one.parameters)
        assert two.chi2 == pytest.approx(one.chi2, abs=1e-4)


@pytest.mark.parametrize("model", all_models(3)[:-1])
def test_fits_through_matrices_keep_their_level(model: tuple[tuple[int, ...], ...]) -> None:
    """Under the model, χ² and G² of published tables follow the χ² law, also where the model is not preserved."""
    rng = np.random.default_rng(11)
    population, _ = fit(rng.uniform(1, 4, (2, 2, 2)), model)
    matrices = [uniform(0.9, 2), uniform(0.85, 2), uniform(0.9, 2)]
    expected = along_axes(population / population.sum(), matrices).ravel()
    found = [through(rng.multinomial(20_000, expected).reshape(2, 2, 2), matrices, model) for _ in range(300)]
    for values in ([each.p_value for each in found], [each.p_value_g2 for each in found]):
        assert 0.02 < np.mean(np.array(values) < 0.05) < 0.09
        assert 0.42 < np.mean(np.array(values) < 0.5) < 0.58


def test_without_randomization_both_ways_to_fit_agree() -> None:
    table = np.random.default_rng(3).integers(5, 60, (2, 3, 3)).astype(float)
    for model in all_models(3):
        one, two = fitted_model(table, model), through(table, [np.eye(d) for d in table.shape], model)
        np.testing.assert_allclose(two.fitted, one.fitted, rtol=1e-5)
        assert (two.chi2, two.g2, two.df) == (
            pytest.approx(one.chi2, abs=1e-5),
            pytest.approx(one.g2, abs=1e-5),
            one.df,
        )
