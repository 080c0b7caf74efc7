"""Attribute disclosure: against the sums of (5.6) to (5.8) written out, and its derivatives."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.disclosure import Population, population_of
from ppduck.kernels.distortion import uniform


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
