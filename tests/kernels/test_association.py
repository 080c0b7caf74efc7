"""Association measures: against scipy and scikit-learn, against their definitions, and their gradients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association as scipy_association
from scipy.stats.contingency import odds_ratio as scipy_odds_ratio
from sklearn.metrics import cohen_kappa_score, jaccard_score, matthews_corrcoef, mutual_info_score

from ppduck.kernels import association
from ppduck.kernels.association import ANY_SIZE, TWO_BY_TWO, gradient, measures_for, value
from ppduck.kernels.distortion import along_axes, uniform
from ppduck.values import Array

# Cells 00, 01, 10, 11 of COIL.
A_B = np.array([[2458.0, 282.0], [2248.0, 834.0]])
I_J = np.array([[2773.0, 72.0], [2701.0, 276.0]])


def measured(counts: Array) -> dict[str, float]:
    n = counts.sum()
    return {name: value(measure, counts / n, n) for name, measure in measures_for(counts.shape).items()}


def rows(counts: Array) -> tuple[list[int], list[int]]:
    """A table as two columns of levels, for scikit-learn."""
    cells = [(i, j) for i in range(counts.shape[0]) for j in range(counts.shape[1]) for _ in range(int(counts[i, j]))]
    return [i for i, _ in cells], [j for _, j in cells]


def tables(low: int, high: int, shape: tuple[int, int] | None = None) -> st.SearchStrategy[Array]:
    shapes = st.just(shape) if shape else st.tuples(st.integers(2, 4), st.integers(2, 4))
    return shapes.flatmap(
        lambda s: st.lists(st.integers(low, high), min_size=s[0] * s[1], max_size=s[0] * s[1]).map(
            lambda cells: np.array(cells, dtype=float).reshape(s)
        )
    )


def test_order_of_the_odds_ratio_flips_and_that_of_piatetsky_shapiro_does_not() -> None:
    original = [measured(table) for table in (A_B, I_J)]
    assert [round(m["odds_ratio"], 2) for m in original] == [3.23, 3.94]
    p = uniform(0.8, 2)
    published = [measured(along_axes(table, (p, p))) for table in (A_B, I_J)]
    assert [round(m["odds_ratio"], 2) for m in published] == [1.32, 1.14]
    assert original[0]["piatetsky_shapiro"] > original[1]["piatetsky_shapiro"]
    assert published[0]["piatetsky_shapiro"] > published[1]["piatetsky_shapiro"]


@given(tables(1, 30))
@settings(deadline=None, max_examples=40)
def test_any_size_agrees_with_scipy_and_scikit_learn(counts: Array) -> None:
    found = measured(counts)
    a, b = rows(counts)
    information = mutual_info_score(a, b)
    assert found["chi2"] == pytest.approx(chi2_contingency(counts, correction=False).statistic, abs=1e-9)
    likelihood = chi2_contingency(counts, correction=False, lambda_="log-likelihood").statistic
    assert found["g2"] == pytest.approx(likelihood, abs=1e-8)
    assert found["cramers_v"] == pytest.approx(scipy_association(counts.astype(int), method="cramer"), abs=1e-9)
    assert found["mutual_information"] == pytest.approx(information / mutual_info_score(a, a), abs=1e-9)
    assert found["uncertainty"] == pytest.approx(information / mutual_info_score(b, b), abs=1e-9)
    # Goodman and Kruskal's tau is the part of the columns' Gini that the rows explain.
    shares, margin = counts / counts.sum(), counts.sum(axis=1, keepdims=True)
    gini = 1 - np.sum(shares.sum(axis=0) ** 2)
    within = np.sum(shares.sum(axis=1) * (1 - np.sum((counts / margin) ** 2, axis=1)))
    assert found["concentration"] == pytest.approx((gini - within) / gini, abs=1e-9)


@given(tables(1, 30, (2, 2)))
@settings(deadline=None, max_examples=40)
def test_two_by_two_agrees_with_scipy_and_scikit_learn(counts: Array) -> None:
    found = measured(counts)
    a, b = rows(counts)
    assert found["phi"] == pytest.approx(matthews_corrcoef(a, b), abs=1e-9)
    assert found["kappa"] == pytest.approx(cohen_kappa_score(a, b), abs=1e-9)
    assert found["jaccard"] == pytest.approx(jaccard_score(a, b), abs=1e-9)
    assert found["odds_ratio"] == pytest.approx(scipy_odds_ratio(counts.astype(int), kind="sample").statistic)
    n11, n1, m1, n = counts[1, 1], counts[1].sum(), counts[:, 1].sum(), counts.sum()
    assert found["interest"] == pytest.approx(n11 * n / (n1 * m1))
    assert found["added_value"] == pytest.approx(n11 / n1 - m1 / n)
    assert found["certainty"] == pytest.approx((n11 / n1 - m1 / n) / (1 - m1 / n))
    assert found["laplace"] == pytest.approx((n11 + 1) / (n1 + 2))
    assert found["cosine"] ** 2 == pytest.approx(found["interest"] * n11 / n)
    assert found["piatetsky_shapiro"] == pytest.approx(n1 / n * found["added_value"])
    assert found["conviction"] == pytest.approx((1 - m1 / n) / (counts[1, 0] / n1))
    assert found["risk_difference"] == pytest.approx(counts[0, 0] / (n - m1) - counts[0, 1] / m1)
    assert found["standardized_residual"] == pytest.approx((n11 - n1 * m1 / n) / np.sqrt(n1 * m1 / n))
    agree, chance = (counts[0, 0] + n11) / n, (n1 * m1 + (n - n1) * (n - m1)) / n**2
    assert found["collective_strength"] == pytest.approx(agree / chance * (1 - chance) / (1 - agree))
    j = n11 / n * np.log(found["interest"]) - counts[1, 0] / n * np.log(found["conviction"])
    assert found["j_measure"] == pytest.approx(j, abs=1e-12)


@given(tables(1, 30, (2, 2)), st.sampled_from(sorted({**ANY_SIZE, **TWO_BY_TWO})))
@settings(deadline=None, max_examples=60)
def test_the_complex_step_is_the_slope(counts: Array, name: str) -> None:
    n, measure = counts.sum(), {**ANY_SIZE, **TWO_BY_TWO}[name]
    table = counts / n
    if name == "cramers_v" and abs(np.linalg.det(counts)) < 1e-9:
        return  # the square root of chi2 has no slope where chi2 is 0
    slope = gradient(measure, table, n)
    for k in range(4):
        step = np.zeros(4)
        step[k] = 1e-6 * table.ravel()[k]
        ahead, behind = (value(measure, table + sign * step.reshape(2, 2), n) for sign in (1, -1))
        scale = max(abs(slope).max(), 1e-3)
        assert slope[k] == pytest.approx((ahead - behind) / (2 * step[k]), abs=2e-3 * scale)


def test_gradient_of_chi2_is_the_papers() -> None:
    """G1 … G4 of section 3.3.1."""
    n, x = A_B.sum(), A_B / A_B.sum()
    (a, b), (c, d) = x
    r0, r1, c0, c1 = a + b, c + d, a + c, b + d
    expected = [
        (a**2 * (b + c) + 2 * a * b * c) / (r0 * c0) ** 2 - b**2 / (r0**2 * c1) - c**2 / (c0**2 * r1),
        (b**2 * (a + d) + 2 * a * b * d) / (r0 * c1) ** 2 - a**2 / (r0**2 * c0) - d**2 / (c1**2 * r1),
        (c**2 * (d + a) + 2 * a * c * d) / (r1 * c0) ** 2 - d**2 / (r1**2 * c1) - a**2 / (c0**2 * r0),
        (d**2 * (b + c) + 2 * d * b * c) / (r1 * c1) ** 2 - c**2 / (r1**2 * c0) - b**2 / (c1**2 * r0),
    ]
    # The paper takes the cells for free variables in χ²/N = Σ x²/(r c) − 1; ours has 1 − 2Σ… + …, equal on the simplex.
    slope = gradient(ANY_SIZE["chi2"], x, n) / n
    along = np.eye(4) - 0.25  # directions that stay on the simplex
    np.testing.assert_allclose(along @ slope, along @ np.array(expected), rtol=1e-9)


def test_mutual_independence_of_three_columns() -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 40, size=(2, 3, 2)).astype(float)
    n, shares = counts.sum(), counts / counts.sum()
    expected = np.einsum("i,j,k->ijk", shares.sum((1, 2)), shares.sum((0, 2)), shares.sum((0, 1)))
    found = measured(counts)
    assert found == {
        "chi2": pytest.approx(n * np.sum((shares - expected) ** 2 / expected)),
        "g2": pytest.approx(2 * n * np.sum(shares * np.log(shares / expected))),
    }
    independent = expected * n
    assert measured(independent)["chi2"] == pytest.approx(0, abs=1e-9)
    slope = gradient(measures_for(counts.shape)["chi2"], shares, n)
    step = 1e-7 * np.eye(12)[5].reshape(2, 3, 2)
    ahead, behind = (value(measures_for(counts.shape)["chi2"], shares + s * step, n) for s in (1, -1))
    assert slope[5] == pytest.approx((ahead - behind) / 2e-7, rel=1e-5)


def test_empty_cells() -> None:
    found = measured(np.array([[5.0, 0.0], [2.0, 3.0]]))
    assert found["g2"] == pytest.approx(2 * (5 * np.log(10 / 7) + 2 * np.log(4 / 7) + 3 * np.log(2)))
    assert found["odds_ratio"] == np.inf
    # At an empty cell x ln x has no finite slope: the error of such a measure is not known.
    assert np.isnan(gradient(ANY_SIZE["g2"], np.array([[0.5, 0.0], [0.2, 0.3]]), 10)[1])
    assert np.all(np.isfinite(gradient(ANY_SIZE["chi2"], np.array([[0.5, 0.0], [0.2, 0.3]]), 10)))


def test_a_gradient_in_pieces_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(3).dirichlet(np.ones(30)).reshape(5, 6)
    for measure in measures_for(table.shape).values():
        with monkeypatch.context() as patched:
            whole = gradient(measure, table, 100)
            patched.setattr(association, "_AT_A_TIME", 7 * table.size)  # 30 cells, seven at a time
            np.testing.assert_allclose(gradient(measure, table, 100), whole, rtol=1e-12)
