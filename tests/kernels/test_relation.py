"""The learnt E(X|S): its equations, what it finds in known relations, and what it must not depend on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_info, threadpool_limits

from ppduck.kernels import relation
from ppduck.kernels.relation import Relation, fit

pytestmark = pytest.mark.core
SEEDS = st.integers(0, 2**31)


@pytest.fixture
def one_blas_thread() -> Iterator[None]:
    """Many small solves would otherwise spend their time waiting for a second thread."""
    with threadpool_limits(1, "blas"):
        yield


@pytest.fixture(params=["exact", "approximate"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways through fit, the approximation from few rows on so that it is quick."""
    if request.param == "approximate":
        monkeypatch.setattr(relation, "EXACT_ROWS", 100)
        monkeypatch.setattr(relation, "LANDMARKS", 100)
    return str(request.param)


def gaussian(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    return np.exp(-cdist(a, b, "sqeuclidean") / (2 * width**2))


def dual(z: np.ndarray, y: np.ndarray, width: float, ridge: float, at: np.ndarray) -> np.ndarray:
    """f at some points by [0 1ᵀ; 1 K + I/γ][b; α] = [0; y], written out."""
    n = len(z)
    system = np.ones((n + 1, n + 1))
    system[0, 0] = 0
    system[1:, 1:] = gaussian(z, z, width) + ridge * np.eye(n)
    solution = np.linalg.solve(system, np.concatenate([np.zeros((1, *y.shape[1:])), y]))
    return solution[0] + gaussian(at, z, width) @ solution[1:]


def tent(n: int, sd: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """S, the true E(X|S) and X of X = 200 + 10(20 - |S1 - 40|) + noise; S2 is of no use."""
    rng = np.random.default_rng(seed)
    s = np.column_stack([rng.uniform(20, 60, n), rng.random(n) < 0.468])
    truth = 200 + 10 * (20 - np.abs(s[:, 0] - 40))
    return s, truth, (truth + rng.normal(0, sd, n))[:, None]


def rms(difference: np.ndarray) -> float:
    return float(np.sqrt(np.mean(difference**2)))


def standardised(found: Relation, s: np.ndarray) -> np.ndarray:
    return np.clip((s - found.centre) / found.scale, found.low, found.high)


@pytest.mark.usefixtures("one_blas_thread")
@pytest.mark.parametrize("ridge", [1e-4, 1e-2, 1.0, 300.0])
@pytest.mark.parametrize("width", [0.3, 1.0, 5.0])
def test_the_exact_solution_is_that_of_the_dual_system(ridge: float, width: float) -> None:
    rng = np.random.default_rng(1)
    z, at = rng.normal(size=(150, 2)), rng.normal(size=(60, 2))
    y = np.sin(2 * z[:, 0]) + z[:, 1] + rng.normal(size=150) + 5
    weights, bias, residuals, spare = relation._Exact(z, width).solve(y, ridge)
    expected = dual(z, y, width, ridge, at)
    np.testing.assert_allclose(bias + gaussian(at, z, width) @ weights, expected, rtol=0, atol=1e-8 * np.ptp(expected))
    np.testing.assert_allclose(residuals, y - dual(z, y, width, ridge, z), rtol=0, atol=1e-8 * np.ptp(y))
    # The hat matrix: what a unit in one y alone does to the fit.
    np.testing.assert_allclose(spare, 1 - np.diag(dual(z, np.eye(150), width, ridge, z)), rtol=1e-6)


def test_a_fit_at_given_width_and_gamma_is_the_dual_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation, "WIDTHS", np.array([0.7]))
    monkeypatch.setattr(relation, "RIDGES", np.array([1e-3]))
    s, _, x = tent(300, 30, 2)
    s[:100] = s[100:200]  # rows that coincide share a landmark
    found = fit(s, x)
    assert found.exact
    z = standardised(found, s)
    assert len(found.landmarks) == len(np.unique(z, axis=0)) < 201
    expected = dual(z, x[:, 0], found.widths[0], 300 * 1e-3, z)
    np.testing.assert_allclose(found.predict(s)[:, 0], expected, rtol=1e-8)
    np.testing.assert_allclose(found.r2, 1 - np.var(x[:, 0] - expected) / np.var(x), rtol=1e-8)


@pytest.mark.usefixtures("one_blas_thread")
@pytest.mark.parametrize("approximate", [False, True])
def test_leaving_out_in_closed_form_equals_refitting(approximate: bool) -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=(40, 2))
    z[30:] = z[:10]
    y = z[:, 0] ** 2 + rng.normal(size=40)
    y -= y.mean()
    width, ridge, landmarks = 0.8, 0.05, z[:12]

    def machine(rows: np.ndarray) -> relation._Exact | relation._Nystroem:
        return relation._Nystroem.of(rows, landmarks, width) if approximate else relation._Exact(rows, width)

    _, _, residuals, spare = machine(z).solve(y, ridge)
    refitted = []
    for i in range(40):
        others = np.arange(40) != i
        mean = y[others].mean()
        weights, bias, _, _ = machine(z[others]).solve(y[others] - mean, ridge)
        points = landmarks if approximate else z[others]
        refitted.append(y[i] - mean - bias - gaussian(z[i : i + 1], points, width)[0] @ weights)
    np.testing.assert_allclose(residuals / spare, refitted, rtol=1e-6, atol=1e-9)


@pytest.mark.usefixtures("one_blas_thread")
def test_gcv_from_few_columns_is_gcv_of_the_hat_matrix() -> None:
    rng = np.random.default_rng(4)
    z = rng.normal(size=(200, 2))
    y = np.sin(z[:, :1]) + rng.normal(size=(200, 1))
    features = relation._Exact(z, 1.5).features
    assert features.shape[1] < 150
    score, freedom = relation._gcv(features, y)
    for i in range(0, len(relation.RIDGES) - 6, 3):
        _, _, residuals, spare = relation._Exact(z, 1.5).solve(y[:, 0], 200 * relation.RIDGES[i])
        assert freedom[i] == pytest.approx(200 - spare.sum(), rel=1e-5)
        if freedom[i] <= 200 / 3:
            cost = 1.4 * (200 - spare.sum())
            assert score[i, 0] == pytest.approx(200 * residuals @ residuals / (200 - cost) ** 2, rel=1e-5)
        else:
            assert np.isinf(score[i, 0])


# 1 - R² = sd² / (sd² + 10²·20²/12); the bound on the distance is about twice sd √(df/n).
@pytest.mark.parametrize(("sd", "share", "distance"), [(15.4, 0.0667, 4.0), (50.2, 0.434, 11.0), (100.5, 0.752, 20.0)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_tent_is_found(sd: float, share: float, distance: float, seed: int) -> None:
    s, truth, x = tent(1000, sd, seed)
    found = fit(s, x)
    sampling = 2 * np.sqrt(1 - share) * share / np.sqrt(1000)
    assert 1 - found.r2[0] == pytest.approx(share, abs=3 * sampling)
    assert 1 - found.r2_left_out[0] == pytest.approx(share, abs=3 * sampling)
    assert found.r2_left_out[0] < found.r2[0]
    assert 4 < found.freedom[0] < 40
    assert rms(found.predict(s)[:, 0] - truth) < distance
    assert found.exact


def test_many_rows_are_fitted_through_landmarks() -> None:
    s, truth, x = tent(20_000, 15.4, 5)
    many, few = fit(s, x), fit(s[:1500], x[:1500])
    assert (many.exact, few.exact) == (False, True)
    assert len(many.landmarks) == relation.LANDMARKS
    assert len(np.unique(many.landmarks, axis=0)) == relation.LANDMARKS
    at = s[-2048:]
    assert rms(many.predict(at)[:, 0] - truth[-2048:]) < 1.2
    assert rms(many.predict(at) - few.predict(at)) < 4
    assert 1 - many.r2[0] == pytest.approx(0.0667, abs=0.003)
    assert 0 < many.r2[0] - many.r2_left_out[0] < 0.001


def test_landmarks_that_are_every_row_give_the_exact_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    s, _, x = tent(250, 30, 6)
    monkeypatch.setattr(relation, "RIDGES", np.array([1e-4]))
    monkeypatch.setattr(relation, "WIDTHS", np.array([0.5]))
    exact = fit(s, x)
    monkeypatch.setattr(relation, "EXACT_ROWS", 100)
    through = fit(s, x)
    assert through.exact
    np.testing.assert_allclose(through.predict(s), exact.predict(s), rtol=1e-6)
    for name in ("r2", "r2_left_out", "freedom"):
        np.testing.assert_allclose(getattr(through, name), getattr(exact, name), rtol=1e-5)


@pytest.mark.parametrize("n", [100, 600, 2000])
def test_noise_explains_nothing(n: int) -> None:
    rng = np.random.default_rng(n)
    found = fit(rng.normal(size=(n, 2)), rng.normal(size=(n, 12)))
    assert np.median(found.r2_left_out) <= 0
    assert found.r2_left_out.max() < 20 / n
    assert np.median(found.freedom) < 1.5
    assert found.freedom.max() < 12


@pytest.mark.parametrize("noise", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("n", [100, 1000, 2000])
def test_a_linear_relation_is_explained_as_well_as_by_a_line(noise: float, n: int) -> None:
    rng = np.random.default_rng(7)
    s = rng.normal(size=(n, 3)) * [1, 10, 1000]
    x = s @ [[1.0], [0.2], [-0.001]] + noise * rng.normal(size=(n, 1))
    line = np.column_stack([np.ones(n), s])
    residuals = x - line @ np.linalg.lstsq(line, x, rcond=None)[0]
    found = fit(s, x)
    # Beyond its ends the model is flat on purpose.
    z = (s - found.centre) / found.scale
    inside = ((z >= found.low) & (z <= found.high)).all(axis=1)
    explained = 1 - np.var((x - found.predict(s))[inside]) / np.var(x[inside])
    assert explained > 1 - np.var(residuals[inside]) / np.var(x[inside]) - 0.01


def test_a_row_that_stands_alone_has_no_curve_of_its_own() -> None:
    """What the model says at a row must not be what the row itself said."""
    rng = np.random.default_rng(21)
    for n in (200, 1000, 3000):
        s = rng.normal(size=(n, 1))
        x = np.sin(2 * s) + rng.normal(size=(n, 1))
        s[0], without = 12.0, x.copy()
        x[0], without[0] = 8.0, -8.0
        moved = fit(s, x).predict(s[:1]) - fit(s, without).predict(s[:1])
        assert abs(moved[0, 0]) < 0.3 * 16


@pytest.mark.parametrize("n", [60, 500, 2000])
def test_large_values_do_not_draw_the_curve_to_themselves(n: int) -> None:
    """Log-normal X: left-out rows are explained nearly as well as those that the model has seen."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        s = rng.normal(size=(n, 1))
        x = np.exp(s + rng.normal(size=(n, 1)))
        found = fit(s, x)
        assert found.r2[0] - found.r2_left_out[0] <= relation.OVERFIT
        top = x.argmax()
        less = x.copy()
        less[top] = np.median(x)
        moved = (found.predict(s[[top]]) - fit(s, less).predict(s[[top]]))[0, 0]
        assert abs(moved) < 0.6 * (x[top, 0] - less[top, 0])


def test_without_inputs_the_mean_is_all_there_is() -> None:
    x = np.random.default_rng(2).normal(5, 1, size=(3000, 2))
    found = fit(np.empty((3000, 0)), x)
    np.testing.assert_allclose(found.predict(np.empty((4, 0))), np.tile(x.mean(axis=0), (4, 1)))
    np.testing.assert_array_equal(found.r2, 0)


@pytest.mark.parametrize("n", [60, 1000, 5000])
def test_two_points_have_the_means_of_their_groups(n: int) -> None:
    rng = np.random.default_rng(8)
    s = (rng.random((n, 1)) < 0.3).astype(float)
    x = 10 * s + rng.normal(size=(n, 1))
    found = fit(s, x)
    assert found.exact
    assert len(found.landmarks) == 2
    assert found.freedom[0] == pytest.approx(2, abs=0.1)
    means = [[x[s == level].mean()] for level in (0, 1)]
    np.testing.assert_allclose(found.predict(np.array([[0.0], [1.0]])), means, atol=0.02)


def test_few_points_and_fewer_rows() -> None:
    rng = np.random.default_rng(9)
    s = rng.integers(0, 3, size=(2000, 2)).astype(float)
    x = s[:, :1] * s[:, 1:] + 0.1 * rng.normal(size=(2000, 1))
    found = fit(s, x)
    assert len(found.landmarks) == 9
    assert rms(found.predict(s) - s[:, :1] * s[:, 1:]) < 0.02
    for n in range(1, 8):
        few = fit(s[:n], x[:n])
        assert np.isfinite(few.predict(s)).all()
        assert np.isfinite([few.r2, few.r2_left_out, few.freedom]).all()


@pytest.mark.usefixtures("path")
def test_constant_columns() -> None:
    n = 300
    s, _, x = tent(n, 15.4, 10)
    with_constant = fit(np.column_stack([s, np.full(n, 0.1)]), np.column_stack([x, np.full(n, 0.1)]))
    assert with_constant.scale[2] == 1
    predicted = with_constant.predict(np.column_stack([s, np.full(n, 0.1)]))
    np.testing.assert_allclose(predicted[:, :1], fit(s, x).predict(s), rtol=1e-9)
    np.testing.assert_array_equal(predicted[:, 1], 0.1)
    assert (with_constant.r2[1], with_constant.r2_left_out[1]) == (0, 0)

    nothing = fit(np.full((n, 2), 7.0), x)
    np.testing.assert_allclose(nothing.predict(np.array([[7.0, 7.0], [8.0, 1e9]])), x.mean(), rtol=1e-9)
    assert nothing.r2[0] == pytest.approx(0, abs=1e-9)
    assert nothing.freedom[0] == pytest.approx(1)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("case", ["cauchy", "log", "huge", "tiny", "outlier", "opposite"])
def test_whatever_the_tails_every_value_is_finite(case: str) -> None:
    n, rng = 400, np.random.default_rng(11)
    z = rng.normal(size=(n, 2))
    s = {
        "cauchy": rng.standard_cauchy((n, 2)),
        "log": np.exp(20 * z),
        "huge": z * 1e307,
        "tiny": z * 1e-310,
        "outlier": np.where(np.arange(n)[:, None] == 5, 1e200, z),
        "opposite": np.where(np.arange(n)[:, None] < 2, [[1e160], [-1e160]] * (n // 2), z),
    }[case]
    found = fit(s, np.column_stack([z[:, 0] + z[:, 1], np.exp(10 * z[:, 0]), 1e200 * z[:, 1]]))
    far = np.array([[1.7e308, -1.7e308], [0.0, 0.0], [5e-324, 1e300]])
    for values in (found.predict(s), found.predict(far), found.r2, found.r2_left_out, found.freedom):
        assert np.isfinite(values).all()
    if case in ("huge", "tiny"):
        assert found.r2[0] > 0.99


def test_a_rare_level_is_no_further_away_than_a_common_one() -> None:
    rng = np.random.default_rng(12)
    level = np.where(np.arange(1000) < 20, 2, rng.integers(0, 2, 1000))
    s = np.column_stack([rng.normal(size=1000) * 50, np.eye(3)[level]])[rng.permutation(1000)]
    x = s[:, :1] / 50 + s[:, 1:2]
    found = fit(s, x, indicators=np.array([False, True, True, True]))
    np.testing.assert_array_equal(found.scale[1:], 1)
    assert found.scale[0] == pytest.approx(50, rel=0.1)
    levels = np.column_stack([np.zeros(3), np.eye(3)])
    np.testing.assert_allclose(cdist(*[standardised(found, levels)] * 2), np.sqrt(2) * (1 - np.eye(3)), atol=1e-12)
    assert fit(s, x).scale[3] == pytest.approx(np.sqrt(0.02 * 0.98))
    assert found.r2[0] > 0.99


@settings(max_examples=20, deadline=None)
@given(
    seed=SEEDS,
    factor=st.floats(1e-3, 1e3).flatmap(lambda size: st.sampled_from([size, -size])),
    shift=st.floats(-1e3, 1e3),
)
def test_units_of_a_numeric_input_do_not_matter(seed: int, factor: float, shift: float) -> None:
    s, _, x = tent(120, 30, seed)
    other = s * [factor, 1] + [shift, 0]
    indicators = np.array([False, True])
    found, again = fit(s, x, indicators=indicators), fit(other, x, indicators=indicators)
    np.testing.assert_allclose(again.predict(other), found.predict(s), rtol=1e-5)
    np.testing.assert_allclose(again.freedom, found.freedom, rtol=1e-5)


@settings(max_examples=20, deadline=None)
@given(
    seed=SEEDS,
    factor=st.floats(1e-6, 1e6).flatmap(lambda size: st.sampled_from([size, -size])),
    shift=st.floats(-1e3, 1e3),
)
def test_units_of_an_output_carry_over(seed: int, factor: float, shift: float) -> None:
    s, _, x = tent(120, 30, seed)
    found, again = fit(s, x), fit(s, x * factor + shift * abs(factor))
    expected = found.predict(s) * factor + shift * abs(factor)
    np.testing.assert_allclose(again.predict(s), expected, rtol=0, atol=1e-6 * abs(factor))
    np.testing.assert_allclose(again.r2_left_out, found.r2_left_out, atol=1e-7)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=SEEDS)
def test_every_column_is_fitted_as_if_alone(path: str, seed: int) -> None:
    n = 150
    s, _, x = tent(n, 50, seed)
    both = np.column_stack([x, np.random.default_rng(seed).normal(size=n) + s[:, 1]])
    together = fit(s, both)
    for j in range(2):
        alone = fit(s, both[:, j : j + 1])
        np.testing.assert_allclose(together.predict(s)[:, j], alone.predict(s)[:, 0], rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(together.r2[j], alone.r2[0], rtol=1e-7)


def test_same_rows_same_relation_however_it_is_asked(path: str) -> None:
    n = 500
    s, _, x = tent(n, 50, 13)
    before = {library["filepath"]: library["num_threads"] for library in threadpool_info()}
    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(lambda _: fit(s, x), range(8))
    after = {library["filepath"]: library["num_threads"] for library in threadpool_info()}
    assert before.items() <= after.items()
    assert first.exact == (path == "exact")
    for other in others:
        for name in ("landmarks", "widths", "weights", "bias", "r2", "r2_left_out", "freedom"):
            np.testing.assert_array_equal(getattr(other, name), getattr(first, name))
    rows = np.vstack([first.predict(s[i : i + 1]) for i in range(0, n, 50)])
    np.testing.assert_allclose(first.predict(s)[::50], rows, rtol=1e-9)
    assert first.predict(s[:0]).shape == (0, 1)
