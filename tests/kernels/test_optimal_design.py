"""The cheapest design below given risks: exact gradients, limits that hold, and what cannot be reached."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.disclosure import population_of
from ppduck.kernels.distortion import uniform
from ppduck.kernels.optimal_design import InfeasibleError, Problem, beyond, cost, cost_slope, optimum
from tests.kernels.test_disclosure import people


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
