"""Values that are what they were: chance makes some equal, and one more than that is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from ppduck.kernels.unchanged import HIGH, LOW, NEAR, WIDE, Agreement, Judgement, Zones, judged, most

pytestmark = pytest.mark.core

N = 1000


def agreement(x: np.ndarray, y: np.ndarray) -> Agreement:
    apart = np.abs(x - y)
    near, wide = (int((apart <= share * np.abs(x)).sum()) for share in (NEAR, WIDE))
    return Agreement(int((x == y).sum()), near, wide)


def zone_of(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Narrow near the middle, wider beyond, and the tails apart."""
    low, quarter, middle, upper, high = np.quantile(x, [0.01, 0.25, 0.5, 0.75, 0.99], method="inverted_cdf")
    spread = (upper - quarter) or (high - low) or 1.0
    zone = np.floor(8 * np.arcsinh(4 * (values - middle) / spread))
    return np.where(values <= low, LOW, np.where(values >= high, HIGH, zone))


def zones_of(x: np.ndarray, y: np.ndarray) -> Zones:
    of_x, of_y = zone_of(x, x), zone_of(y, x)
    rows = []
    for zone in np.unique(np.concatenate([of_x, of_y])):
        before, after = Counter(x[of_x == zone].tolist()), Counter(y[of_y == zone].tolist())
        both = (of_x == zone) & (of_y == zone)
        met = sum(count * after[value] for value, count in before.items())
        values = len({*before, *after})
        rows.append((zone, both.sum(), (x == y)[both].sum(), before.total(), after.total(), values, met))
    return Zones(*np.array(rows, dtype=float).T)


def judge(x: np.ndarray, y: np.ndarray) -> tuple[Agreement, Judgement]:
    whole, zone = agreement(x, y), zone_of(x, x)
    tails = [agreement(x[zone == place], y[zone == place]) for place in (LOW, HIGH)]
    near_by_size = whole.by_size + 3 * np.sqrt(whole.by_size)
    asked = whole.same > 0 or whole.near > near_by_size or any(tail.near > 0 for tail in tails)
    repeat = bool((np.round(y, 3) == y).sum() > len(y) / 2)
    return whole, judged(whole, tails, zones_of(x, y) if asked else None, repeat=repeat)


def passes(x: np.ndarray, y: np.ndarray) -> bool:
    whole, found = judge(x, y)
    return whole.same <= found.most_same and whole.near <= found.most_near and found.tail <= found.most_in_tail


def incomes(rng: np.random.Generator, n: int = N) -> np.ndarray:
    return np.exp(rng.normal(10, 0.5, n))


Draw = Callable[[np.random.Generator, int], np.ndarray]
COLUMNS: dict[str, Draw] = {
    "continuous": incomes,
    "cents": lambda rng, n: np.round(incomes(rng, n), 2),
    "whole numbers": lambda rng, n: np.round(incomes(rng, n) / 100),
    "hours": lambda rng, n: np.round(rng.normal(40, 8, n)),
    "mostly zeros": lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, np.round(incomes(rng, n))),
    "two values": lambda rng, n: (rng.random(n) < 0.3).astype(float),
}


@pytest.mark.parametrize("draw", COLUMNS.values(), ids=COLUMNS)
def test_values_that_are_dealt_out_pass_in_999_of_1000_draws(draw: Draw) -> None:
    failed = 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        x = draw(rng, 300)
        failed += not passes(x, rng.permutation(x))
    assert failed <= 3  # of three counts, each once in ten thousand times


@pytest.mark.parametrize("draw", COLUMNS.values(), ids=COLUMNS)
def test_fresh_draws_pass(draw: Draw) -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        assert passes(draw(rng, N), draw(rng, N)), seed


@pytest.mark.parametrize("draw", COLUMNS.values(), ids=COLUMNS)
def test_a_copy_fails(draw: Draw) -> None:
    for seed in range(20):
        x = draw(np.random.default_rng(seed), N)
        assert not passes(x, x)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_half_that_stays_fails(column: str) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = COLUMNS[column](rng, N)
        assert not passes(x, np.where(rng.random(N) < 0.5, x, rng.permutation(x)))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("original", ["continuous", "cents", "whole numbers"])
def test_one_exact_value_among_continuous_ones_fails(original: str, seed: int) -> None:
    """Of a row whose original no other row has."""
    rng = np.random.default_rng(seed)
    x, y = COLUMNS[original](rng, N), incomes(rng) / (100 if original == "whole numbers" else 1)
    assert passes(x, y)
    values, counts = np.unique(x, return_counts=True)
    [row] = np.flatnonzero(x == values[counts == 1][seed])
    y[row] = x[row]
    assert not passes(x, y)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("digits", [16, 7])
def test_rows_of_a_tail_that_stay_fail_exactly_or_to_six_digits(seed: int, side: int, digits: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = incomes(rng), incomes(rng)
    ends = np.argsort(side * x)[:9]
    y[ends] = [float(f"{value:.{digits}g}") for value in x[ends]]
    assert not passes(x, y)


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_a_tail_that_stay_fail_among_shuffled_ones(seed: int) -> None:
    """A shuffle that leaves the largest where they were."""
    rng = np.random.default_rng(seed)
    x = np.round(incomes(rng), 2)
    y = rng.permutation(x)
    largest = np.argsort(-x)[:9]
    rest = np.setdiff1d(np.arange(N), largest)
    y[largest], y[rest] = x[largest], rng.permutation(x[rest])
    assert not passes(x, y)


@pytest.mark.parametrize("seed", range(20))
def test_of_few_values_a_quarter_that_stays_fails(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = COLUMNS["hours"](rng, N)
    assert not passes(x, np.where(rng.random(N) < 0.25, x, rng.permutation(x)))


def test_the_savings_of_those_who_have_some_fail_where_few_others_are_given_any() -> None:
    rng = np.random.default_rng(3)
    x = COLUMNS["mostly zeros"](rng, N)
    y = x.copy()
    y[np.flatnonzero(x == 0)[:90]] = np.round(incomes(rng, 90))
    assert not passes(x, y)


def test_what_open_columns_tell_of_both_does_not_count_as_leak() -> None:
    """Masked values that share most of their variance with x, drawn anew."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        s = rng.normal(size=N)
        x, y = (np.round(1000 * np.exp(1 + 0.5 * s + 0.1 * rng.normal(size=N))) for _ in range(2))
        assert passes(x, y), seed


def test_by_size_is_a_hundredth_of_what_agrees_to_four_digits() -> None:
    assert Agreement(0, 1, 100).by_size == pytest.approx(1)
    assert Agreement(5, 5, 5).by_size == 0


def test_one_zone_has_the_totals_of_all() -> None:
    rng = np.random.default_rng(1)
    x = COLUMNS["hours"](rng, N)
    y = rng.permutation(x)
    one = zones_of(x, y).one
    assert (one.originals[0], one.masked[0], one.pairs[0], one.same[0]) == (N, N, N, (x == y).sum())
    shares = np.array([*Counter(x.tolist()).values()]) / N
    assert one.expected() == pytest.approx(N * shares @ shares, rel=0.05)


@pytest.mark.parametrize("expected", [0.01, 1.0, 10.0, 500.0])
def test_a_count_exceeds_its_limit_once_in_ten_thousand_times(expected: float) -> None:
    drawn = np.random.default_rng(2).poisson(expected, 100_000)
    assert (drawn > most(expected)).mean() <= 2e-4
    assert (drawn > most(expected) - 2).mean() > 1e-5


def test_without_pairs_nothing_is_expected() -> None:
    none = Agreement(0, 0, 0)
    found = judged(none, [none, none], None, repeat=False)
    assert (found.expected, found.most_same, found.tail) == (0, 0, 0)
    assert most(0) == 0
