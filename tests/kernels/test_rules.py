"""Rules of randomized baskets: against the reconstructed table, against brute force, against the paper's rules."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.distortion import Reconstruction, along_axes, half_width, uniform
from ppduck.kernels.rules import Baskets, Limits, Rule, TooManyError, conflicts, find_rules, true_values
from ppduck.values import Array


def every_basket(items: int) -> Array:
    return np.array([[(basket >> (items - 1 - i)) & 1 for i in range(items)] for basket in range(2**items)])


def baskets(table: Array, p: float) -> Baskets:
    """Baskets whose counts are the cells of a 2 × … × 2 table, with every item published by p."""
    items = table.ndim
    return Baskets(every_basket(items).astype(bool), table.ravel(), [np.linalg.inv(uniform(p, 2))] * items)


def limits(support: float, confidence: float, **more: Any) -> Limits:
    return Limits(support, confidence, **{"level": 0.95, "spread": "chebyshev", **more})


def by_name(rules: list[Rule]) -> dict[tuple[tuple[int, ...], tuple[int, ...]], Rule]:
    return {(rule.antecedent, rule.consequent): rule for rule in rules}


@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([0.7, 0.9, 1.0]))
@settings(deadline=None, max_examples=30)
def test_supports_and_confidences_are_those_of_the_reconstructed_table(seed: int, items: int, p: float) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 100, size=(2,) * items).astype(float)
    asked = limits(0.0, 0.0, level=0.9, spread="normal")
    found = by_name(find_rules(baskets(table, p), asked, "estimate"))
    reach = half_width(0.9, "normal")
    for (antecedent, consequent), rule in found.items():
        used = sorted((*antecedent, *consequent))
        margin = table.sum(axis=tuple(i for i in range(items) if i not in used))
        rebuilt = Reconstruction(margin, (uniform(p, 2),) * len(used))
        estimate, variance = rebuilt.moment(), rebuilt.variance(rebuilt.moment())
        assert rule.support == pytest.approx(np.clip(estimate.ravel()[-1], 0, 1), abs=1e-12)
        assert rule.support_upper == pytest.approx(
            np.clip(estimate.ravel()[-1] + reach * np.sqrt(variance.ravel()[-1]), 0, 1), abs=1e-12
        )
        # π11 and π10 as sums of cells, with their covariance: (3.4) and (3.5) written out.
        has = [used.index(item) for item in antecedent]
        index = np.array(every_basket(len(used)))
        with_x = np.all(index[:, has] == 1, axis=1)
        both = np.all(index == 1, axis=1)
        covariance = rebuilt.covariance(estimate)
        s11, s10 = estimate.ravel()[both].sum(), estimate.ravel()[with_x & ~both].sum()
        if s11 + s10 <= 0.05:
            continue
        v = [[covariance[np.ix_(one, two)].sum() for two in (both, with_x & ~both)] for one in (both, with_x & ~both)]
        s1 = s11 + s10
        mean = s11 / s1 + s11 / s1**3 * v[1][1] - s10 / s1**3 * v[0][0] + (s11 - s10) / s1**3 * v[0][1]
        error = np.sqrt(s10**2 / s1**4 * v[0][0] + s11**2 / s1**4 * v[1][1] - 2 * s10 * s11 / s1**4 * v[0][1] + 1e-18)
        ends = np.clip([mean - reach * error, mean + reach * error], 0, 1)
        if s1 <= reach * np.sqrt(np.sum(v)):  # the antecedent may not occur at all
            ends = np.array([0, 1])
        assert rule.confidence == pytest.approx(np.clip(s11 / s1, 0, 1), abs=1e-9)
        assert (rule.confidence_lower, rule.confidence_upper) == pytest.approx(tuple(ends), abs=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([0.65, 0.8, 0.95]), st.sampled_from([0.1, 0.25, 0.4]))
@settings(deadline=None, max_examples=30)
def test_candidates_are_sets_all_of_whose_parts_reach_the_limit(seed: int, p: float, least: float) -> None:
    """Brute force over all itemsets, by estimates and by either end of the ranges."""
    rng = np.random.default_rng(seed)
    items = 5
    truth = rng.dirichlet(np.full(2**items, 0.3)).reshape((2,) * items)
    table = rng.multinomial(3000, along_axes(truth, [uniform(p, 2)] * items).ravel()).reshape(truth.shape).astype(float)
    ends: dict[str, dict[tuple[int, ...], float]] = {"lower": {}, "estimate": {}, "upper": {}}
    for size in range(1, items + 1):
        for used in combinations(range(items), size):
            margin = table.sum(axis=tuple(i for i in range(items) if i not in used))
            rebuilt = Reconstruction(margin, (uniform(p, 2),) * size)
            support, error = rebuilt.moment().ravel()[-1], np.sqrt(rebuilt.variance(rebuilt.moment()).ravel()[-1])
            for sign, end in zip((-1, 0, 1), ends.values(), strict=True):
                end[used] = support + sign * half_width(0.95, "normal") * error
    for by, end in ends.items():
        rules = find_rules(baskets(table, p), limits(least, 0.0), by)  # type: ignore[arg-type]
        found = {tuple(sorted((*r.antecedent, *r.consequent))) for r in rules}
        for used, bound in ends["upper"].items():
            parts = (part for size in range(1, len(used)) for part in combinations(used, size))
            assert (used in found) == (len(used) > 1 and bound >= least and all(end[part] >= least for part in parts))


@given(st.integers(0, 10**6), st.sampled_from([0.55, 0.65, 0.8, 1.0]), st.sampled_from([20, 300, 3000]))
@settings(deadline=None, max_examples=40)
def test_estimates_lie_in_their_ranges_and_all_of_it_in_0_to_1(seed: int, p: float, rows: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(16, 0.3)).reshape((2,) * 4)
    table = rng.multinomial(rows, along_axes(truth, [uniform(p, 2)] * 4).ravel()).reshape(truth.shape).astype(float)
    for spread in ("normal", "chebyshev"):
        for rule in find_rules(baskets(table, p), limits(0.0, 0.0, spread=spread), "upper"):
            assert 0 <= rule.support_lower <= rule.support <= rule.support_upper <= 1
            assert 0 <= rule.confidence_lower <= rule.confidence_upper <= 1
            assert np.isnan(rule.confidence) or rule.confidence_lower <= rule.confidence <= rule.confidence_upper


@pytest.mark.parametrize("p", [0.65, 0.9])
def test_ranges_cover_as_often_as_they_say(p: float) -> None:
    """500 draws of A, B and D of COIL: a standard error of 0.01 at 0.95. Chebyshev's ranges cover more often."""
    truth = np.array([[[355, 445], [877, 1063]], [[806, 930], [628, 718]]]).astype(float)
    rng = np.random.default_rng(4)
    published = rng.multinomial(5822, along_axes(truth / 5822, [uniform(p, 2)] * 3).ravel(), size=500)
    exact = by_name(find_rules(baskets(truth, 1.0), limits(0.0, 0.0), "estimate"))
    covered: dict[str, list[tuple[bool, bool]]] = {"normal": [], "chebyshev": []}
    for counts in published:
        table = counts.reshape(truth.shape).astype(float)
        for spread, seen in covered.items():
            found = find_rules(baskets(table, p), limits(0.0, 0.0, spread=spread), "upper")  # type: ignore[arg-type]
            for name, rule in by_name(found).items():
                true = exact[name]
                support = rule.support_lower <= true.support <= rule.support_upper
                seen.append((support, rule.confidence_lower <= true.confidence <= rule.confidence_upper))
    supports, confidences = np.mean(covered["normal"], axis=0)
    assert 0.93 < supports < 0.97
    assert 0.93 < confidences < 0.98
    assert np.mean(covered["chebyshev"], axis=0)[1] > 0.98


def test_conflicts_are_pairs_in_the_wrong_order() -> None:
    """By the definition, pair by pair."""
    rng = np.random.default_rng(6)
    truth = rng.random(100)
    estimate = truth + rng.normal(size=100) * 0.3
    lower = estimate - 0.15
    expected = sum(
        estimate[i] < estimate[j] and truth[i] > lower[i] > 0.4 > truth[j] for i in range(100) for j in range(100)
    )
    assert 0 < expected == conflicts(estimate, lower, truth, 0.4)
    # Table 3.2 at 23 %: rule 6 stands above rule 2, as the source notes, and above rule 1.
    estimate = np.array([34.1, 31.5, 45.0, 28.4, 17.2, 36.3, 27.6])
    lower = np.array([26.3, 23.8, 31.5, 14.9, 3.7, 12.3, 3.32])
    truth = np.array([35.9, 35.9, 35.8, 22.1, 23.9, 22.1, 22.1])
    assert conflicts(estimate, lower, truth, 23) == 2
    assert conflicts(estimate[[1, 5]], lower[[1, 5]], truth[[1, 5]], 23) == 1


def test_true_values_of_rules_found_elsewhere() -> None:
    table = np.array([[[5.0, 1.0], [2.0, 4.0]], [[3.0, 6.0], [7.0, 2.0]]])
    rules = find_rules(baskets(np.ones((2, 2, 2)), 1.0), limits(0.0, 0.0), "estimate")
    exact = by_name(find_rules(baskets(table, 1.0), limits(0.0, 0.0), "estimate"))
    support, confidence = true_values(baskets(table, 1.0), rules)
    for rule, s, c in zip(rules, support, confidence, strict=True):
        true = exact[rule.antecedent, rule.consequent]
        assert (s, c) == pytest.approx((true.support, true.confidence))


def test_verdicts() -> None:
    asked = limits(0.3, 0.6)
    sure = Rule((0,), (1,), 0.4, 0.35, 0.45, 0.8, 0.7, 0.9)
    perhaps = Rule((0,), (1,), 0.4, 0.25, 0.45, 0.8, 0.7, 0.9)
    never = Rule((0,), (1,), 0.4, 0.35, 0.45, 0.4, 0.3, 0.5)
    assert [rule.verdict(asked) for rule in (sure, perhaps, never)] == ["frequent", "possible", "no"]


def test_too_many_sets_are_refused_before_they_are_made() -> None:
    table = np.ones((2,) * 12)
    with pytest.raises(TooManyError, match=r"more than 500 itemsets") as caught:
        find_rules(baskets(table, 0.6), limits(0.01, 0.0, most_sets=500), "estimate")
    assert caught.value.size == 4
    assert find_rules(baskets(table, 0.6), limits(0.01, 0.0, largest=2, most_sets=500), "estimate")
    with pytest.raises(TooManyError, match=r"more than 1,000 rules"):
        find_rules(baskets(table, 0.6), limits(0.01, 0.0, largest=3, most_rules=1000), "estimate")


@pytest.mark.parametrize(
    ("rule", "support", "confidence", "published"),
    [
        # Table 3.2: X, Y, s, c, and the width of the published range of s at p = 0.65.
        ("G E", 35.9, 66.2, 41.8 - 26.3),
        ("G H", 35.9, 66.2, 39.1 - 23.8),
        ("EH G", 35.8, 89.3, 58.5 - 31.5),
        ("EG I", 22.1, 61.7, 42.0 - 14.9),
        ("HF I", 23.9, 100.0, 30.8 - 3.7),
        ("EGH F", 22.1, 61.7, 60.2 - 12.3),
        ("FGI E", 22.1, 77.9, 52.0 - 3.32),
    ],
)
def test_rules_of_coil(reference_data: Path, rule: str, support: float, confidence: float, published: float) -> None:
    counted = pq.read_table(reference_data / "coil_binary_counts.parquet").to_pandas()
    patterns = counted[list("ABCDEFGHIJ")].to_numpy().astype(bool)
    x, y = (tuple("ABCDEFGHIJ".index(item) for item in part) for part in rule.split())
    name = (tuple(sorted(x)), tuple(sorted(y)))
    exact = by_name(find_rules(Baskets(patterns, counted["n"], [np.eye(2)] * 10), limits(0.2, 0.5), "estimate"))[name]
    # Printed with one decimal, of which the paper cuts some (35.88 as 35.8).
    assert 100 * exact.support == pytest.approx(support, abs=0.1)
    assert 100 * exact.confidence == pytest.approx(confidence, abs=0.1)
    # The expected randomized table: width of ranges depends on the draw only through λ̂, a few percent.
    used = sorted((*name[0], *name[1]))
    table = np.zeros((2,) * len(used))
    np.add.at(table, tuple(patterns[:, i].astype(int) for i in used), counted["n"])
    expected = baskets(along_axes(table, [uniform(0.65, 2)] * len(used)), 0.65)
    last = tuple(range(len(used)))
    found = next(
        r
        for r in find_rules(expected, limits(0.0, 0.0), "estimate")
        if tuple(sorted((*r.antecedent, *r.consequent))) == last
    )
    assert 100 * found.support == pytest.approx(100 * exact.support)
    assert 200 * (found.support_upper - found.support) == pytest.approx(published, rel=0.03)
