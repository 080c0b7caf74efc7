"""The assumptions under NM-EGADP: violations are seen, and what looks like one is let pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2, rankdata

from ppduck.kernels.assumptions import (
    Check,
    breusch_pagan,
    check,
    constant_variance,
    excess_mass,
    simple_patterns,
    single_valued,
)

pytestmark = pytest.mark.core

N = 300
SEEDS = range(5)
Draw = Callable[[np.random.Generator, int], np.ndarray]
LAWS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, n),
    "exponential": lambda rng, n: rng.exponential(size=n) - 1,
    "very skewed": lambda rng, n: rng.gamma(0.5, size=n) - 0.5,
    "heavy tails": lambda rng, n: rng.standard_t(3, n),
}


def fitted(rng: np.random.Generator, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """S of a numeric column and a flag, and the fitted values of a tent."""
    s = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n)])
    return s, 1 - np.abs(s[:, :1])


def suspected(found: list[Check]) -> list[bool]:
    return [one.suspected for one in found]


def test_breusch_pagan_by_hand() -> None:
    rng = np.random.default_rng(1)
    columns, r = rng.normal(size=(50, 2)), rng.normal(size=50)
    z = (2 * np.apply_along_axis(rankdata, 0, columns) - 1) / 50 - 1
    design = np.column_stack([np.ones(50), z, z**2])
    rest = r**2 - design @ np.linalg.lstsq(design, r**2, rcond=None)[0]
    expected = 50 * (1 - rest @ rest / np.sum((r**2 - np.mean(r**2)) ** 2))
    assert breusch_pagan(columns, r) == (pytest.approx(expected), 4)
    # A column twice is one column, and a flag is its own square.
    flag = (columns[:, :1] > 0) * 1.0
    assert breusch_pagan(np.column_stack([columns, columns, flag]), r)[1] == 5
    assert breusch_pagan(columns, np.where(r > 0, 2.0, -2.0))[0] == 0

    (found,) = constant_variance(columns[:, :1], columns[:, 1:], r[:, None])
    assert found.statistic == pytest.approx(expected)
    assert found.p_value == pytest.approx(chi2.sf(expected, 4))
    assert found.columns == (0,)


@pytest.mark.parametrize("spread", [lambda s: 0.2 + s**2, lambda s: np.exp(s / 2), lambda s: 1.0 + (s > 0)])
def test_a_spread_that_follows_s_is_seen(spread: Callable[[np.ndarray], np.ndarray]) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        s, u = fitted(rng)
        r = spread(s[:, 0]) * rng.normal(size=N)
        found = constant_variance(s, np.zeros((N, 2)) + u, np.column_stack([r, rng.normal(size=N)]))
        assert suspected(found) == [True, False], seed
        assert "suspected" in found[0].text


def test_with_many_rows_a_slight_change_of_spread_is_too_small_to_matter() -> None:
    rng = np.random.default_rng(0)
    s, u = fitted(rng, 40_000)
    (found,) = constant_variance(s, u, (1 + 0.05 * s[:, :1]) * rng.normal(size=(40_000, 1)))
    assert found.p_value is not None
    assert found.p_value < 0.001
    assert not found.suspected
    assert found.text.endswith("too small to matter")


@pytest.mark.parametrize("bend", [np.square, np.abs, lambda a: np.sin(2 * a), lambda a: np.sin(4 * a), np.exp])
def test_a_curve_between_residuals_is_seen(bend: Callable[[np.ndarray], np.ndarray]) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        a, other = rng.normal(size=(2, N))
        curve = bend(a) / bend(a).std() + 0.3 * rng.normal(size=N)
        found = simple_patterns(np.column_stack([a, other, curve]))
        assert [one.columns for one in found] == [(0, 1), (0, 2), (1, 2)]
        assert suspected(found) == [False, True, False], seed


def test_a_ring_and_a_common_spread_are_seen() -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        angle = rng.uniform(0, 2 * np.pi, N)
        ring = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(N, 2))
        assert suspected(simple_patterns(ring)) == [True], seed
        common = np.exp(rng.normal(size=(2000, 1))) * rng.normal(size=(2000, 2))
        assert suspected(simple_patterns(common)) == [True], seed


@pytest.mark.parametrize("law", LAWS)
def test_false_alarms_are_few(law: str) -> None:
    rng = np.random.default_rng(11)
    alarms = np.zeros(3)
    for _ in range(100):
        s, u = fitted(rng, 120)
        r = np.column_stack([LAWS[law](rng, 120), LAWS[law](rng, 120)])
        r[:, 1] += rng.choice([0.0, 0.5, 2.0]) * r[:, 0]
        found = check(s, u + np.zeros((1, 2)), r)
        alarms += [found[0].suspected, found[2].suspected, found[3].suspected]
    assert alarms.max() <= 5, "about 1 % each; six in 100 have a probability below 0.1 %"


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.2])
def test_a_circle_is_multi_valued(noise: float) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        s = rng.uniform(-1, 1, N)
        r = rng.choice([-1, 1], N) * np.sqrt(1 - s**2) + noise * rng.normal(size=N)
        (found,) = single_valued(s[:, None], np.zeros((N, 1)), r[:, None])
        assert found.suspected, seed
        # A cross, whose branches meet in the middle.
        cross = rng.choice([-1, 1], N) * s + noise / 2 * rng.normal(size=N)
        assert suspected(single_valued(s[:, None], np.zeros((N, 1)), cross[:, None])) == [True], seed


def test_whole_numbers_and_round_figures_are_not_humps() -> None:
    rng = np.random.default_rng(4)
    s = rng.uniform(-1, 1, (1000, 1))
    counts = rng.poisson(np.exp(s)) * 1.0
    flags = (rng.random((1000, 1)) < 0.5) * 1.0
    incomes = np.round(30_000 * np.exp(0.3 * rng.normal(size=(1000, 1))), -3)
    zeros = np.where(rng.random((1000, 1)) < 0.4, 0.0, rng.exponential(size=(1000, 1)))
    x = np.column_stack([counts, flags, incomes, zeros])
    u = np.column_stack([np.exp(s), 0.5 + 0.01 * s, 31_000 + 100 * s, 0.6 + 0.01 * s])
    assert suspected(single_valued(s, u, x - u)) == [False] * 4
    # Nobody between none and a lot: that is two humps.
    gap = np.where(rng.random((1000, 1)) < 0.4, 0.0, 6 + rng.normal(size=(1000, 1)))
    assert suspected(single_valued(s, 3.6 + 0.01 * s, gap - 3.6 - 0.01 * s)) == [True]


def test_excess_mass_of_known_laws() -> None:
    # Two equal heaps far apart: one interval covers one of them, two cover both.
    heaps = np.concatenate([np.linspace(0, 0.01, 500), np.linspace(1, 1.01, 500)])
    assert excess_mass(heaps) == pytest.approx(0.5, abs=0.07)
    even = np.linspace(0, 1, 1000)
    assert excess_mass(even) <= 2 / 1000
    assert excess_mass(-np.log(even[1:])) <= 2 / 1000
    assert excess_mass(np.zeros(30)) == 0


def test_nothing_to_test() -> None:
    rng = np.random.default_rng(0)
    s, u = fitted(rng, 60)
    for r in (np.zeros((60, 1)), 1e-6 * rng.normal(size=(60, 1)), np.full((60, 1), 0.1)):
        found = check(s, u, r)
        assert [(one.statistic, one.p_value, one.suspected) for one in found] == [(0.0, None, False)] * 2
    for n in (0, 1, 5):
        assert all(one.p_value is None for one in check(s[:n], u[:n], rng.normal(size=(n, 1))))
    # Residuals that undo the fit leave x constant.
    assert len(check(s, u, -u)) == 2
    a = rng.normal(size=60)
    (exact,) = simple_patterns(np.column_stack([a, -3 * a]))
    assert not exact.suspected
    assert exact.text.startswith("an exact line")
    assert not simple_patterns(np.column_stack([a, np.zeros(60)]))[0].suspected


def test_all_checks_of_two_columns() -> None:
    rng = np.random.default_rng(0)
    s, u = fitted(rng)
    found = check(s, u + np.zeros((1, 2)), rng.normal(size=(N, 2)))
    assert [(one.name, one.columns) for one in found] == [
        ("constant variance", (0,)),
        ("constant variance", (1,)),
        ("simple patterns among residuals", (0, 1)),
        ("single-valued mapping", (0,)),
        ("single-valued mapping", (1,)),
    ]
    assert all(one.text.endswith("no sign against it") for one in found)
