"""Attribute disclosure: against the sums of (5.6) to (5.8) written out, and its derivatives."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.disclosure import Population, population_of
from ppduck.kernels.optimal import InfeasibleError, Problem, beyond, cost, cost_slope, optimum
from ppduck.kernels.randomized import uniform


def people(rng: np.random.Generator, shape: tuple[int, ...], qi: int, rows: int = 60) -> tuple[np.ndarray, Population]:
    places = [rng.integers(0, size, rows) for size in shape]
    table = np.zeros(shape)
    np.add.at(table, tuple(places), 1)
    return table, population_of(shape[:qi], shape[qi:], places, np.ones(rows))


def risk(table: np.ndarray, matrices: list[np.ndarray], cell: tuple[int, ...]) -> float:
    """(5.6), sum by sum, of a table with the sensitive column last."""
    share = table / table.sum()
    known = share.sum(axis=-1)
    alpha, u = cell[:-1], cell[-1]
    kept = 0.0
    for beta in product(*(range(size) for size in known.shape)):
        to = {
            gamma: np.prod([m[b, g] for m, b, g in zip(matrices, beta, gamma, strict=False)])
            for gamma in np.ndindex(known.shape)
        }
        total = sum(known[gamma] * to[gamma] for gamma in to)
        kept += known[alpha] * to[alpha] ** 2 / total if total else 0
    own, p = share[alpha], matrices[-1]
    back = sum(p[v, u] ** 2 * own[u] / (p[v] @ own) for v in range(len(p)) if p[v] @ own > 0)
    return float(own[u] / known[alpha] * kept * back)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_risks_are_those_of_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (2, 3, 3)
    table, population = people(rng, shape, 2)
    matrices = [rng.dirichlet([1] * size, size).T for size in shape]
    eta = population.reconstruction(matrices[:2])
    share, back = population.within(0, matrices[2])
    own = population.sensitive[0]
    found = share * back * eta[own.group]
    for value, group, level in zip(found, own.group, own.level, strict=True):
        cell = (*np.unravel_index(population.groups[group], shape[:2]), level)
        assert value == pytest.approx(risk(table, matrices, cell), rel=1e-9)


def test_property_1() -> None:
    """At p = 1/d risks are at their minima, and every p from there to 1 only raises them."""
    rng = np.random.default_rng(5)
    _, population = people(rng, (3, 2, 4), 2, 200)
    own = population.sensitive[0]
    for qi, sensitive in ((True, False), (False, True), (True, True)):
        least = population.minimum(0, qi=[qi, qi], sensitive=sensitive)
        before = np.zeros(len(own.count))
        for t in np.linspace(0, 1, 15):
            ps = [1 / d + t * (1 - 1 / d) for d in (3, 2, 4)]
            eta = population.reconstruction([uniform(p if qi else 1.0, d) for p, d in zip(ps, (3, 2), strict=False)])
            share, back = population.within(0, uniform(ps[2] if sensitive else 1.0, 4))
            risks = share * back * eta[own.group]
            if t == 0:
                np.testing.assert_allclose(risks, least, rtol=1e-12)
            assert np.all(risks >= before - 1e-12)
            before = risks


def test_the_minimum_of_some_quasi_identifiers() -> None:
    _, population = people(np.random.default_rng(6), (3, 2, 4), 2, 200)
    own = population.sensitive[0]
    share, _ = population.within(0, np.eye(4))
    eta = population.reconstruction([uniform(1 / 3, 3), np.eye(2)])
    np.testing.assert_allclose(population.minimum(0, qi=[True, False], sensitive=False), share * eta[own.group])


def problem(rng: np.random.Generator, free: tuple[bool, ...], tau: float) -> Problem:
    _, population = people(rng, (4, 3, 2, 3), 2, 2000)
    return Problem(population, free, tuple(np.full(len(own.count), tau) for own in population.sensitive))


@pytest.mark.parametrize("free", [(True,) * 4, (True, False, True, True), (False, False, True, True)])
def test_gradients_are_exact(free: tuple[bool, ...]) -> None:
    asked = problem(np.random.default_rng(6), free, 0.3)
    x = np.array([0.7, 0.8, 0.9, 0.6])[: sum(free)]
    step = 1e-6 * np.eye(len(x))
    numeric = np.stack([(asked.excess(x + e) - asked.excess(x - e)) / 2e-6 for e in step], axis=1)
    np.testing.assert_allclose(asked.excess_slopes(x), numeric, atol=1e-7)
    sizes = asked.sizes[asked.wanted]
    slopes = [(cost(x + e, sizes) - cost(x - e, sizes)) / 2e-6 for e in step]
    np.testing.assert_allclose(cost_slope(x, sizes), slopes, rtol=1e-6)


def test_the_cost_is_that_of_the_inverse() -> None:
    for p, d in ((0.9, 2), (0.5, 7), (0.3, 16)):
        assert cost(np.array([p]), np.array([float(d)])) == pytest.approx(
            np.log((np.linalg.inv(uniform(p, d)) ** 2).sum())
        )


@pytest.mark.parametrize("tau", [0.3, 0.2, 0.1])
def test_an_optimum_holds_its_limit_and_no_point_nearby_is_cheaper(tau: float) -> None:
    rng = np.random.default_rng(8)
    asked = problem(rng, (True,) * 4, tau)
    found = optimum(asked)
    assert max(risks.max() for risks in found.risks) == pytest.approx(tau, abs=1e-6)
    assert beyond(asked, found) == [0.0, 0.0]
    for _ in range(3000):
        ps = np.clip(found.ps + rng.normal(0, 0.02, 4), 1 / asked.sizes + 1e-3, 1)
        if asked.excess(ps).max() <= 0:
            assert cost(ps, asked.sizes) >= found.objective - 1e-7


def test_a_quantile_spares_the_worst_and_costs_less() -> None:
    asked = problem(np.random.default_rng(9), (True,) * 4, 0.2)
    strict, lenient = optimum(asked), optimum(asked, 0.1)
    assert lenient.objective < strict.objective
    assert 0 < max(beyond(asked, lenient)) <= 0.1


def test_limits_of_their_own() -> None:
    asked = problem(np.random.default_rng(10), (True,) * 4, 0.3)
    tight = [limits.copy() for limits in asked.limits]
    tight[0][:5] = 0.1
    found = optimum(Problem(asked.population, asked.free, tuple(tight)))
    assert found.objective > optimum(asked).objective
    assert np.all(found.risks[0][:5] <= 0.1 + 1e-9)


def test_no_limit_needs_no_randomization() -> None:
    np.testing.assert_array_equal(optimum(problem(np.random.default_rng(11), (True,) * 4, 1.0)).ps, 1.0)


def test_what_cannot_be_reached_is_named() -> None:
    places = [np.array([0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1])]
    population = population_of((2,), (2,), places, np.ones(5))
    with pytest.raises(InfeasibleError, match="cell 0 has a risk of 1 at least") as caught:
        optimum(Problem(population, (False, True), (np.full(3, 0.5),)))
    assert (caught.value.cell, caught.value.least) == (0, pytest.approx(1.0))
