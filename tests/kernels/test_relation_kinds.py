"""What kind of relation a column has to others, on data whose kind is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from ppduck.kernels.relation_kinds import Evidence, Kind, evidence, increasing, line, monotonic_part, normal_scores

pytestmark = pytest.mark.core

N = 250
SEEDS = range(4)


def noisy(signal: np.ndarray, r2: float, rng: np.random.Generator) -> np.ndarray:
    """The signal as share ``r2`` of the variance, the rest normal noise."""
    return signal / signal.std() + np.sqrt((1 - r2) / r2) * rng.normal(size=len(signal))


def kinds(make: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]], **more: np.ndarray) -> list[Kind]:
    return [evidence(*make(np.random.default_rng(seed)), **more).kind for seed in SEEDS]


def of_one(shape: Callable[[np.ndarray], np.ndarray], r2: float, rng: np.random.Generator):
    s = rng.normal(size=N)
    return s[:, None], noisy(shape(s), r2, rng)


@pytest.mark.parametrize("r2", [0.2, 0.9, 0.99])
def test_lines_are_linear(r2: float) -> None:
    assert kinds(lambda rng: of_one(lambda s: -3 * s, r2, rng)) == ["linear"] * len(SEEDS)


def test_skewed_columns_on_a_line_are_linear() -> None:
    def skewed(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        s = rng.lognormal(size=N)
        return s[:, None], noisy(s, 0.7, rng)

    assert kinds(skewed) == ["linear"] * len(SEEDS)


def test_a_spread_that_grows_along_the_line_leaves_it_linear() -> None:
    def fan(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        s = rng.uniform(0, 1, N)
        return s[:, None], s + 0.4 * s * rng.normal(size=N)

    assert kinds(fan) == ["linear"] * len(SEEDS)


@pytest.mark.parametrize(
    "shape",
    [lambda s: np.exp(1.2 * s), lambda s: -(s**3), lambda s: 1 / (1 + np.exp(-8 * s)), lambda s: np.sinh(2 * s)],
)
def test_bent_but_rising_or_falling_is_monotonic(shape: Callable[[np.ndarray], np.ndarray]) -> None:
    assert kinds(lambda rng: of_one(shape, 0.9, rng)) == ["monotonic"] * len(SEEDS)


def test_monotonic_in_several_columns() -> None:
    def growth(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        s = rng.normal(size=(N, 2))
        return s, np.exp(noisy(s[:, 0] - s[:, 1], 0.8, rng))

    assert kinds(growth) == ["monotonic"] * len(SEEDS)


@pytest.mark.parametrize("r2", [0.4, 0.95])
@pytest.mark.parametrize("shape", [lambda s: -np.abs(s), np.square, lambda s: np.sin(2 * s), lambda s: (s - 0.3) ** 2])
def test_up_and_down_is_non_monotonic(shape: Callable[[np.ndarray], np.ndarray], r2: float) -> None:
    assert kinds(lambda rng: of_one(shape, r2, rng)) == ["non-monotonic"] * len(SEEDS)


def test_an_interaction_shows_only_jointly() -> None:
    def product(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        s = rng.normal(size=(N, 2))
        return s, noisy(s[:, 0] * s[:, 1], 0.7, rng)

    assert kinds(product) == ["non-monotonic"] * len(SEEDS)
    s, x = product(np.random.default_rng(0))
    assert evidence(s, x).spearman is None


def test_a_slope_that_changes_with_a_category_is_non_monotonic() -> None:
    def crossing(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        s = np.column_stack([rng.normal(size=N), rng.integers(0, 2, N)])
        return s, noisy(s[:, 0] * (2 * s[:, 1] - 1), 0.6, rng)

    assert kinds(crossing, indicators=np.array([False, True])) == ["non-monotonic"] * len(SEEDS)


def test_a_category_is_linear_or_none() -> None:
    rng = np.random.default_rng(1)
    levels = np.eye(5)[rng.integers(0, 5, N)][:, 1:]
    indicators = np.ones(4, dtype=bool)
    bent = evidence(levels, noisy(levels @ [3.0, -1.0, 2.0, 0.5], 0.5, rng), indicators)
    assert bent.kind == "linear"
    assert bent.spearman is None
    assert bent.kernel_r2 == bent.linear_r2
    assert evidence(levels, rng.normal(size=N), indicators).kind == "none"
    # Two flags that mark the same row are two columns, and x may need both at once.
    flags = rng.integers(0, 2, (N, 2)).astype(float)
    both = evidence(flags, noisy((flags[:, 0] != flags[:, 1]) * 1.0, 0.7, rng), np.array([True, True]))
    assert both.kind == "non-monotonic"


@pytest.mark.parametrize(
    "draw", [np.random.Generator.normal, np.random.Generator.lognormal, lambda rng, size: rng.poisson(2, size) * 1.0]
)
def test_false_alarms_are_few(draw: Callable[..., np.ndarray]) -> None:
    rng = np.random.default_rng(7)
    alarms = sum(evidence(draw(rng, size=(60, 1)), draw(rng, size=60)).kind != "none" for _ in range(150))
    assert alarms <= 6, "about 1 % each; seven in 150 have a probability below 0.1 %"


def test_many_rows_do_not_turn_a_trifle_into_a_relation() -> None:
    rng = np.random.default_rng(3)
    s = rng.normal(size=(60_000, 1))
    assert evidence(s, 0.025 * s[:, 0] + rng.normal(size=len(s))).kind == "none"
    assert evidence(s, 0.1 * s[:, 0] + rng.normal(size=len(s))).kind == "linear"


def test_figures_of_an_exact_line_and_an_exact_curve() -> None:
    s = np.random.default_rng(0).normal(size=(N, 1))
    exact = evidence(s, 5 - 2e6 * s[:, 0])
    assert (exact.kind, exact.linear_r2, exact.kernel_r2) == ("linear", 1.0, 1.0)
    assert exact.spearman == pytest.approx(-1)
    curve = evidence(s, np.exp(3 * s[:, 0]))
    assert (curve.kind, curve.rank_linear_r2, curve.reversal) == ("monotonic", 1.0, 0.0)


def test_a_unit_changes_nothing() -> None:
    rng = np.random.default_rng(2)
    s, x = of_one(np.square, 0.6, rng)
    one, other = evidence(s, x), evidence(1e-9 * s + 1, 1e7 * x - 3)
    assert one.kind == other.kind
    assert one.kernel_r2 == pytest.approx(other.kernel_r2, rel=1e-6)


@pytest.mark.parametrize("n", [0, 1, 5, 40])
def test_nothing_to_judge_is_none(n: int) -> None:
    assert evidence(np.arange(n, dtype=float)[:, None], np.full(n, 7.1)) == Evidence("none", n, 0.0, 0.0, 0, 0, 0, 0)
    assert evidence(np.full((n, 1), 0.1), np.arange(n, dtype=float)).kind == "none"


def test_normal_scores() -> None:
    np.testing.assert_allclose(normal_scores(np.array([30.0, 10, 20])), norm.ppf([5 / 6, 1 / 6, 3 / 6]))
    # Ties share the middle of the ranks 2 and 3.
    np.testing.assert_allclose(
        normal_scores(np.array([1.0, 2, 2, 9])), norm.ppf([1 / 8, 4 / 8, 4 / 8, 7 / 8]), atol=1e-15
    )
    np.testing.assert_array_equal(normal_scores(np.full(4, 3.0)), 0)
    assert len(normal_scores(np.empty(0))) == 0


def test_the_line_agrees_with_lstsq_and_counts_collinear_columns_once() -> None:
    rng = np.random.default_rng(5)
    s = rng.normal(size=(40, 3)) * [1, 1e6, 1e-6] + 100
    x = rng.normal(size=40) + s[:, 0]
    design = np.column_stack([np.ones(40), s[:, 0], s[:, 1] / 1e6, s[:, 2] * 1e6 - 1e8])
    residual = x - design @ np.linalg.lstsq(design, x, rcond=None)[0]
    r2, found, rank = line(np.column_stack([s, s[:, 0] + s[:, 1], np.full(40, 0.3)]), x)
    np.testing.assert_allclose(found, residual, atol=1e-7)
    assert r2 == pytest.approx(1 - residual @ residual / (40 * x.var()))
    assert rank == 3


def test_isotonic_regression() -> None:
    np.testing.assert_allclose(increasing(np.array([1.0, 3, 2, 4]), np.ones(4)), [1, 2.5, 2.5, 4])
    np.testing.assert_allclose(increasing(np.array([4.0, 1, 1]), np.array([1.0, 2, 3])), 1.5)
    rng = np.random.default_rng(0)
    s = rng.normal(size=(80, 2))
    rising = np.exp(s[:, 0]) - s[:, 1] ** 3
    np.testing.assert_allclose(monotonic_part(s, rising), rising - rising.mean(), atol=0.15)
    assert np.std(monotonic_part(s, np.abs(s[:, 0]))) < 0.9 * np.std(np.abs(s[:, 0]))
