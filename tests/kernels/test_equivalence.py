"""Equivalence tests: their intervals against scipy's, their size by simulation, and their laws."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from math import inf, isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ppduck.kernels import equivalence
from ppduck.kernels.equivalence import FittedMoments, corrected, fitted_moments

pytestmark = pytest.mark.core
SEEDS = st.integers(0, 2**31)
Method = Callable[..., list[equivalence.Tested]]


def by_t(f_o: np.ndarray, f_m: np.ndarray, region: float, **options: object) -> list[equivalence.Tested]:
    return by_moments(FittedMoments.of(f_o, f_m), region, **options)


def by_moments(moments: FittedMoments, region: float, **options: object) -> list[equivalence.Tested]:
    """With what the tests of these have in common."""
    own = {"alpha": 0.05, "scale": "mean", **options}
    return equivalence.parametric(moments, region, **own)  # type: ignore[arg-type]


def bootstrap(f_o: np.ndarray, f_m: np.ndarray, region: float, **options: object) -> list[equivalence.Tested]:
    own = {"alpha": 0.05, "scale": "mean", "resamples": 1_000, **options}
    return equivalence.bootstrap(f_o, f_m, region, **own)  # type: ignore[arg-type]


BOTH = pytest.mark.parametrize("test", [by_t, bootstrap])


def pairs(
    seed: int, n: int = 60, slope: float = 1.05, noise: float = 0.5, mean: float = 10.0
) -> tuple[np.ndarray, ...]:
    """f_o and f_m, f_o on a line of f_m with normal residuals; f_m of standard deviation 2 about ``mean``."""
    rng = np.random.default_rng(seed)
    f_m = rng.normal(mean, 2.0, n)
    return mean + slope * (f_m - mean) + noise * rng.normal(size=n), f_m


def fair(passes: int, trials: int, chance: float) -> bool:
    """Whether a count is one that a chance like that gives, but for one time in some thousands."""
    return abs(passes - trials * chance) < 4 * sqrt(trials * chance * (1 - chance))


def test_the_corrected_size_is_the_printed_one() -> None:
    assert f"{corrected(0.05):.5f}" == "0.02532"  # Al-Ahmadi (2006), Section V.3
    assert f"{1 - corrected(0.05):.3%}" == "97.468%"
    assert f"{1 - (1 - 0.05) ** 2:.4f}" == "0.0975", "what two tests of 0.05 have jointly"
    assert 1 - (1 - corrected(0.1)) ** 2 == pytest.approx(0.1)


@pytest.mark.parametrize("n", [3, 4, 25, 400])
def test_the_parametric_intervals_are_those_of_scipy(n: int) -> None:
    f_o, f_m = pairs(n, n)
    mean, intercept, slope = by_t(f_o, f_m, 0.25)
    assert [t.test for t in (mean, intercept, slope)] == ["mean", "intercept", "slope"]
    assert [t.alpha for t in (mean, intercept, slope)] == [0.05, corrected(0.05), corrected(0.05)]
    paired = stats.ttest_rel(f_m, f_o).confidence_interval(0.90)
    assert (mean.lower, mean.upper) == pytest.approx((paired.low, paired.high))
    line = stats.linregress(f_m - f_m.mean(), f_o)
    t = stats.t.ppf(1 - corrected(0.05), n - 2)
    assert slope.estimate == pytest.approx(line.slope)
    assert (slope.lower, slope.upper) == pytest.approx((line.slope - t * line.stderr, line.slope + t * line.stderr))
    assert intercept.estimate == pytest.approx(line.intercept)
    error = t * line.intercept_stderr
    assert (intercept.lower, intercept.upper) == pytest.approx((line.intercept - error, line.intercept + error))
    assert (mean.target, slope.target) == (0, 1)
    assert intercept.target == pytest.approx(f_m.mean())


@pytest.mark.parametrize("scale", ["mean", "sd"])
def test_the_smallest_region_is_the_farther_end_beside_the_base(scale: str) -> None:
    f_o, f_m = pairs(1)
    base = abs(f_o.mean()) if scale == "mean" else f_o.std(ddof=1)
    for tested, unit in zip(by_t(f_o, f_m, 0.1, scale=scale), (base, base, 1.0), strict=True):
        ends = abs(tested.lower - tested.target), abs(tested.upper - tested.target)
        assert tested.smallest_region == pytest.approx(max(ends) / unit)


@BOTH
@pytest.mark.parametrize("scale", ["mean", "sd"])
def test_the_smallest_region_passes_and_a_smaller_one_fails(test: Method, scale: str) -> None:
    f_o, f_m = pairs(2)
    for i, tested in enumerate(test(f_o, f_m, 0.25, scale=scale)):
        assert test(f_o, f_m, tested.smallest_region, scale=scale)[i].passed
        assert not test(f_o, f_m, tested.smallest_region * (1 - 1e-9), scale=scale)[i].passed


@BOTH
@settings(max_examples=25, deadline=None)
@given(
    seed=SEEDS, exponent=st.integers(-60, 60), sign=st.sampled_from([-1.0, 1.0]), scale=st.sampled_from(["mean", "sd"])
)
def test_units_and_signs_change_nothing(test: Method, seed: int, exponent: int, sign: float, scale: str) -> None:
    f_o, f_m = pairs(seed, 20)
    factor = sign * 2.0**exponent
    for before, after in zip(
        test(f_o, f_m, 0.1, scale=scale), test(factor * f_o, factor * f_m, 0.1, scale=scale), strict=True
    ):
        assert after.smallest_region == pytest.approx(before.smallest_region, rel=1e-9)
        assert after.estimate == pytest.approx(before.estimate * (1 if before.test == "slope" else factor), rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, n=st.integers(3, 200), shift=st.floats(-1e6, 1e6))
def test_a_shift_of_both_leaves_mean_and_slope_alone_on_the_scale_of_sd(seed: int, n: int, shift: float) -> None:
    f_o, f_m = pairs(seed, n)
    for before, after in zip(
        by_t(f_o, f_m, 0.1, scale="sd"), by_t(f_o + shift, f_m + shift, 0.1, scale="sd"), strict=True
    ):
        assert after.smallest_region == pytest.approx(before.smallest_region, rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, p=st.integers(0, 4), spare=st.integers(3, 50))
def test_moments_of_linear_models_are_those_of_their_rows(seed: int, p: int, spare: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 1, size=(p + spare, p)) @ (rng.normal(size=(p, p)) + 2 * np.eye(p))
    (a_o, a_m), (b_o, b_m) = rng.normal(size=2), rng.normal(size=(2, p))
    cov_x = np.cov(x, rowvar=False).reshape(p, p) if p else np.zeros((0, 0))
    found = fitted_moments(len(x), x.mean(axis=0), cov_x, (a_o, b_o), (a_m, b_m))
    rows = FittedMoments.of(a_o + x @ b_o, a_m + x @ b_m)
    for name in ("n", "mean_o", "mean_m", "mean_d", "var_o", "var_m", "var_d", "cov_md", "cov"):
        assert getattr(found, name) == pytest.approx(getattr(rows, name), rel=1e-9, abs=1e-9), name
    assert found.var_d == pytest.approx(found.var_o + found.var_m - 2 * found.cov, abs=1e-9)


def test_models_that_agree_to_twelve_digits_are_told_apart_and_pass() -> None:
    slopes = np.array([2.0, -1.0])
    moments = fitted_moments(50, np.array([1e3, 1e3]), np.eye(2), (5.0, slopes), (5.0, slopes * (1 + 1e-12)))
    assert sqrt(moments.var_d) == pytest.approx(1e-12 * sqrt(5), rel=1e-3)
    assert all(t.passed for t in by_moments(moments, 1e-9))


def at_the_edge(which: int, sign: int, region: float, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f_o and f_m whose true deviation is just the region; the base, mean f_o, is 10 and known."""
    grid = 10 + 2 * np.linspace(-1, 1, len(noise))
    if which == 2:
        return 10 + (1 + sign * region) * (grid - 10) + noise, grid
    return grid, grid + sign * region * 10 + noise


@pytest.mark.parametrize("which", [0, 1, 2], ids=["mean", "intercept", "slope"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_at_the_edge_of_the_region_a_test_passes_as_often_as_its_size_says(which: int, sign: int) -> None:
    rng = np.random.default_rng([which, sign + 1])
    trials = 2_000
    passes = sum(
        by_t(*at_the_edge(which, sign, 0.2, 0.05 * rng.normal(size=30)), 0.2)[which].passed for _ in range(trials)
    )
    assert fair(passes, trials, 0.05 if which == 0 else corrected(0.05))


@pytest.mark.parametrize("which", [0, 1, 2], ids=["mean", "intercept", "slope"])
def test_the_bootstrap_has_nearly_its_size_with_skewed_residuals(which: int) -> None:
    rng = np.random.default_rng(which)
    trials, size = 300, 0.05 if which == 0 else corrected(0.05)
    passes = 0
    for i in range(trials):
        noise = 0.05 * (rng.exponential(size=200) - 1)
        passes += bootstrap(*at_the_edge(which, 1, 0.2, noise), 0.2, resamples=400, seed=i)[which].passed
    # Percentile intervals are right up to terms of 1/√n: up to half the size, added to what chance does.
    assert abs(passes / trials - size) < size / 2 + 3 * sqrt(size * (1 - size) / trials)


def test_intervals_cover_the_truth_on_each_side_as_often_as_they_say() -> None:
    trials = 2_000
    low = high = 0
    for seed in range(trials):
        slope = by_t(*pairs(seed, 20, slope=1.1), 0.25)[2]
        low, high = low + (slope.upper < 1.1), high + (slope.lower > 1.1)
    assert fair(low, trials, corrected(0.05))
    assert fair(high, trials, corrected(0.05))


def test_far_from_the_edge_it_passes_inside_and_never_outside() -> None:
    for seed in range(50):
        assert all(t.passed for t in by_t(*pairs(seed, 200, slope=1.0), 0.25))
        assert not by_t(*pairs(seed, 200, slope=1.5), 0.25)[2].passed
    assert not by_t(*pairs(0, 5, slope=1.0, noise=3.0), 0.25)[2].passed, "few rows are no evidence of likeness"


def test_bootstrap_and_t_agree_for_normal_residuals() -> None:
    f_o, f_m = pairs(5, 2_000)
    for drawn, exact in zip(bootstrap(f_o, f_m, 0.25, resamples=3_000), by_t(f_o, f_m, 0.25), strict=True):
        assert drawn.estimate == exact.estimate
        width = exact.upper - exact.lower
        assert drawn.lower == pytest.approx(exact.lower, abs=0.06 * width)
        assert drawn.upper == pytest.approx(exact.upper, abs=0.06 * width)


def test_the_bootstrap_is_that_of_a_loop_over_least_squares() -> None:
    f_o, f_m = pairs(6, 40)
    resamples, seed = 300, 9
    found = []
    for rows in np.random.default_rng(seed).integers(0, 40, size=(resamples, 40)):
        line = stats.linregress(f_m[rows] - f_m.mean(), f_o[rows])
        found.append([np.mean(f_m[rows] - f_o[rows]), line.intercept, line.slope])
    for tested, values in zip(
        bootstrap(f_o, f_m, 0.25, resamples=resamples, seed=seed), np.transpose(found), strict=True
    ):
        assert tested.lower == pytest.approx(np.quantile(values, tested.alpha, method="lower"), rel=1e-9)
        assert tested.upper == pytest.approx(np.quantile(values, 1 - tested.alpha, method="higher"), rel=1e-9)


def test_the_bootstrap_follows_its_seed_and_needs_little_memory() -> None:
    f_o, f_m = pairs(7, 20_000)
    tracemalloc.start()
    first = bootstrap(f_o, f_m, 0.25, seed=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6  # all counts at a time would be 160e6
    assert bootstrap(f_o, f_m, 0.25, seed=1) == first
    assert bootstrap(f_o, f_m, 0.25, seed=2) != first


def test_blocks_make_no_difference_but_to_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    f_o, f_m = pairs(8, 500)
    whole = bootstrap(f_o, f_m, 0.25)
    monkeypatch.setattr(equivalence, "CELLS", 1)
    for one, other in zip(whole, bootstrap(f_o, f_m, 0.25), strict=True):
        assert other.smallest_region == pytest.approx(one.smallest_region, rel=0.15)


@BOTH
@pytest.mark.parametrize("scale", ["mean", "sd"])
@pytest.mark.parametrize("rounding", [0.0, 1e-15, 1e-12])
@pytest.mark.parametrize("n", [3, 50])
def test_equal_fitted_values_pass_any_region(test: Method, scale: str, rounding: float, n: int) -> None:
    rng = np.random.default_rng(9)
    centred = rng.normal(0, 2, n)
    for f_o in (rng.normal(10, 2, n), centred - centred.mean()):
        f_m = f_o * (1 + rounding * rng.uniform(-1, 1, n))
        tested = test(f_o, f_m, 1e-9, scale=scale)
        assert all(t.passed for t in tested)
        assert max(t.smallest_region for t in tested) < 1e-10
        assert tested[2].estimate == pytest.approx(1, abs=1e-11)


@BOTH
@pytest.mark.parametrize("constant", [7.3, -7.3, 0.1])
def test_equal_constants_pass_and_others_fail(test: Method, constant: float) -> None:
    f_o = np.full(20, constant)
    noise = 1e-15 * np.random.default_rng(0).normal(size=20)
    for f_m in (f_o, f_o * (1 + noise)):
        tested = test(f_o, f_m, 0.1)
        assert all(t.passed for t in tested)
        assert (tested[2].estimate, tested[2].smallest_region) == (1, 0)
    tested = test(f_o, 2 * f_o, 0.1)
    assert not any(t.passed for t in tested)
    assert tested[0].smallest_region == pytest.approx(1)
    assert isnan(tested[2].estimate)
    assert tested[2].smallest_region == inf


@BOTH
def test_constant_masked_values_have_no_slope(test: Method) -> None:
    f_o, _ = pairs(10)
    mean, intercept, slope = test(f_o, np.full(60, f_o.mean()), 0.25)
    assert mean.passed
    assert intercept.passed
    assert isnan(slope.estimate)
    assert (slope.smallest_region, slope.passed) == (inf, False)
    # The other way round the slope is 0, known for certain.
    slope = test(np.full(60, 10.0), f_o, 0.25)[2]
    assert (slope.estimate, slope.smallest_region) == pytest.approx((0, 1), abs=1e-7)
    assert not slope.passed


@BOTH
def test_a_mean_of_zero_leaves_no_relative_region_but_one_of_sd(test: Method) -> None:
    f_o, f_m = pairs(11, mean=0.0)
    f_o = f_o - f_o.mean()
    mean, intercept, slope = test(f_o, f_m, 0.25)
    assert (mean.smallest_region, intercept.smallest_region) == (inf, inf)
    assert not mean.passed
    assert not intercept.passed
    assert slope.passed
    assert test(f_o, f_m, 0.25, scale="sd")[0].smallest_region < 1
    moments = FittedMoments(10, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert all(t.passed for t in by_moments(moments, 0.0)), "all zero, and so equal"


def test_resamples_without_a_slope_count_against_it() -> None:
    f_m = np.array([0.0] * 30 + [1.0])
    f_o = f_m + 0.01 * np.random.default_rng(1).normal(size=31)
    slope = bootstrap(f_o, f_m, 0.25)[2]  # a third of the resamples miss the one row that differs
    assert (slope.lower, slope.upper, slope.smallest_region) == (-inf, inf, inf)
    assert bootstrap(f_m, f_m, 0.25)[2].smallest_region == 0


def test_what_cannot_be_tested_is_refused() -> None:
    f_o, f_m = pairs(12)
    for n in range(3):
        with pytest.raises(ValueError, match=f"^{n} fitted values; the tests need at least 3$"):
            FittedMoments.of(f_o[:n], f_m[:n])
        with pytest.raises(ValueError, match=f"^{n} fitted values"):
            fitted_moments(n, np.zeros(1), np.eye(1), (0.0, np.ones(1)), (0.0, np.ones(1)))
    with pytest.raises(ValueError, match=r"in pairs, not in shapes \(60,\) and \(59,\)"):
        bootstrap(f_o, f_m[1:], 0.25)
    with pytest.raises(ValueError, match="finite"):
        FittedMoments.of(np.where(f_o > 10, np.nan, f_o), f_m)
    for region in (-0.1, inf, np.nan):
        with pytest.raises(ValueError, match=f"region must be 0 or more, and finite, not {region}"):
            by_t(f_o, f_m, region)
    for alpha in (0.0, 0.5):
        with pytest.raises(ValueError, match=f"alpha must be between 0 and 0.5, not {alpha}"):
            by_t(f_o, f_m, 0.25, alpha=alpha)
    with pytest.raises(ValueError, match="scale must be one of mean, sd, not median"):
        bootstrap(f_o, f_m, 0.25, scale="median")
    with pytest.raises(ValueError, match=r"resamples must be at least 40 for alpha 0.05, not 39"):
        bootstrap(f_o, f_m, 0.25, resamples=39)
