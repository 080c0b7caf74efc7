"""What a matrix protects: closed forms, and the definitions by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.distortion import uniform
from ppduck.kernels.privacy import privacy_of, reconstruction_of_levels


@given(st.floats(0.05, 0.95), st.integers(2, 6))
@settings(deadline=None)
def test_closed_forms_of_the_uniform_matrix(p: float, size: int) -> None:
    q = (1 - p) / (size - 1)
    found = privacy_of(uniform(p, size), np.full(size, 1 / size))
    assert found.gamma == pytest.approx(max(p / q, q / p))
    assert found.epsilon == pytest.approx(abs(math.log(p / q)), abs=1e-12)
    assert found.jeopardy == pytest.approx(max(p / q, q / p))
    assert found.reconstruction == pytest.approx(p**2 + (size - 1) * q**2)
    if abs(p - q) > 1e-3:
        assert found.condition == pytest.approx(1 / abs(p - q))
    else:
        assert found.condition > 900


@given(st.floats(0.01, 0.99), st.floats(0.5, 0.99))
@settings(deadline=None)
def test_reconstruction_probability_of_mask(share: float, p: float) -> None:
    """R(p) = a R1 + (1 - a) R0 with R1 = Σ Pr(Y|X=1) Pr(X=1|Y) (Rizvi & Haritsa)."""
    ones, zeros = share * p + (1 - share) * (1 - p), share * (1 - p) + (1 - share) * p
    r1 = p * share * p / ones + (1 - p) * share * (1 - p) / zeros
    r0 = (1 - p) * (1 - share) * (1 - p) / ones + p * (1 - share) * p / zeros
    found = privacy_of(uniform(p, 2), np.array([1 - share, share]))
    assert found.reconstruction == pytest.approx(share * r1 + (1 - share) * r0)
    assert found.mask_privacy == pytest.approx(1 - found.reconstruction)


@given(st.integers(0, 10**6), st.floats(0.01, 0.5))
@settings(deadline=None, max_examples=50)
def test_no_posterior_leaves_its_bounds(seed: int, rho1: float) -> None:
    """Any prior, any property of at most this prior probability, any answer: the posterior stays inside."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    matrix = (rng.dirichlet(np.ones(size), size=size) + 0.05).T
    matrix /= matrix.sum(axis=0)
    found = privacy_of(matrix, np.full(size, 1 / size))
    has = np.arange(size) < rng.integers(1, size)
    prior = np.where(has, rng.random(size), 0)
    rest = np.where(has, 0, rng.random(size))
    prior = rho1 * prior / prior.sum() + (1 - rho1) * rest / rest.sum()
    joint = matrix * prior
    posterior = joint[:, has].sum(axis=1) / joint.sum(axis=1)
    assert posterior.max() <= found.posterior_upper(rho1) + 1e-12
    assert posterior.min() >= found.posterior_lower(rho1) - 1e-12


def test_the_risk_of_table_2_5_b() -> None:
    """Female and cancer in counts 8, 16, 48 / 12, 14, 2: π_QS/π_Q · Pr(Q → Q) · Pr(S → S | Q) (5.6), least at p = 1/d."""
    counts = np.array([[8.0, 16.0, 48.0], [12.0, 14.0, 2.0]])
    gender, of_females = counts.sum(axis=1) / counts.sum(), counts[1] / counts[1].sum()

    def risk(p_gender: float, p_disease: float) -> float:
        found_again = reconstruction_of_levels(uniform(p_gender, 2), gender)[1]
        told = reconstruction_of_levels(uniform(p_disease, 3), of_females)[0]
        return float(of_females[0] * found_again * told)

    assert round(risk(1, 1), 2) == 0.43
    assert round(risk(1, 1 / 3), 2) == 0.18
    assert round(risk(1 / 2, 1), 2) == 0.12
    assert round(risk(1 / 2, 1 / 3), 2) == 0.05
    for p in (0.2, 0.4, 0.6, 0.8):
        assert risk(1, p) > risk(1, 1 / 3)
        assert risk(p, 1) > risk(1 / 2, 1)


def test_identity_protects_nothing() -> None:
    found = privacy_of(np.eye(3), np.full(3, 1 / 3))
    assert math.isinf(found.gamma)
    assert math.isinf(found.jeopardy)
    assert found.reconstruction == pytest.approx(1)
    assert (found.posterior_upper(0.05), found.posterior_lower(0.05)) == (1.0, 0.0)


def test_pure_noise_tells_nothing() -> None:
    found = privacy_of(uniform(1 / 3, 3), np.array([0.2, 0.3, 0.5]))
    assert found.gamma == pytest.approx(1)
    assert found.jeopardy == pytest.approx(1)
    assert found.reconstruction == pytest.approx(0.2**2 + 0.3**2 + 0.5**2)
    assert found.posterior_upper(0.05) == pytest.approx(0.05)


def test_columns_together_multiply() -> None:
    one, two = privacy_of(uniform(0.9, 2), np.full(2, 0.5)), privacy_of(uniform(0.8, 3), np.full(3, 1 / 3))
    both = one.times(two)
    whole = privacy_of(np.kron(uniform(0.9, 2), uniform(0.8, 3)), np.full(6, 1 / 6))
    assert both.epsilon == pytest.approx(one.epsilon + two.epsilon)
    assert both.gamma == pytest.approx(whole.gamma)
    assert both.reconstruction == pytest.approx(whole.reconstruction)
    assert both.condition == pytest.approx(whole.condition)
    assert both.keep == pytest.approx(whole.keep)
    assert math.isnan(both.jeopardy), "which does not multiply"
