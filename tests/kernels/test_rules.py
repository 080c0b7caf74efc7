"""Rules of randomized baskets: against the reconstructed table, against brute force, against the paper's rules."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.randomized import Reconstruction, along_axes, half_width, uniform
from ppduck.kernels.rules import SURELY, Baskets, Limits, Rule, TooManyError, find_rules
from ppduck.values import Array


def every_basket(items: int) -> Array:
    return np.array([[(basket >> (items - 1 - i)) & 1 for i in range(items)] for basket in range(2**items)])


def baskets(table: Array, p: float) -> Baskets:
    """Baskets whose counts are the cells of a 2 × … × 2 table, with every item published by p."""
    items = table.ndim
    return Baskets(every_basket(items).astype(bool), table.ravel(), [np.linalg.inv(uniform(p, 2))] * items)


def by_name(rules: list[Rule]) -> dict[tuple[tuple[int, ...], tuple[int, ...]], Rule]:
    return {(rule.antecedent, rule.consequent): rule for rule in rules}


@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([0.7, 0.9, 1.0]))
@settings(deadline=None, max_examples=30)
def test_supports_and_confidences_are_those_of_the_reconstructed_table(seed: int, items: int, p: float) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 100, size=(2,) * items).astype(float)
    limits = Limits(0.0, 0.0, level=0.9, spread="normal")
    found = by_name(find_rules(baskets(table, p), limits))
    reach = half_width(0.9, "normal")
    for (antecedent, consequent), rule in found.items():
        used = sorted((*antecedent, *consequent))
        margin = table.sum(axis=tuple(i for i in range(items) if i not in used))
        rebuilt = Reconstruction(margin, (uniform(p, 2),) * len(used))
        estimate, variance = rebuilt.moment(), rebuilt.variance(rebuilt.moment())
        assert rule.support == pytest.approx(estimate.ravel()[-1])
        assert rule.s_high - rule.support == pytest.approx(reach * np.sqrt(variance.ravel()[-1]), abs=1e-12)
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
        assert rule.confidence == pytest.approx(s11 / s1)
        assert rule.c_low == pytest.approx(np.clip(mean - reach * error, 0, 1), abs=1e-6)
        assert rule.c_high == pytest.approx(np.clip(mean + reach * error, 0, 1), abs=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([0.65, 0.8, 0.95]), st.sampled_from([0.1, 0.25, 0.4]))
@settings(deadline=None, max_examples=30)
def test_pruning_loses_no_set_that_could_be_frequent(seed: int, p: float, least: float) -> None:
    """Brute force over all itemsets; missing may be only those with a subset infrequent beyond doubt."""
    rng = np.random.default_rng(seed)
    items = 5
    truth = rng.dirichlet(np.full(2**items, 0.3)).reshape((2,) * items)
    table = rng.multinomial(3000, along_axes(truth, [uniform(p, 2)] * items).ravel()).reshape(truth.shape).astype(float)
    found = {tuple(sorted((*r.antecedent, *r.consequent))) for r in find_rules(baskets(table, p), Limits(least, 0.0))}
    upper, surely = {}, {}
    for size in range(1, items + 1):
        for used in combinations(range(items), size):
            margin = table.sum(axis=tuple(i for i in range(items) if i not in used))
            rebuilt = Reconstruction(margin, (uniform(p, 2),) * size)
            support, error = rebuilt.moment().ravel()[-1], np.sqrt(rebuilt.variance(rebuilt.moment()).ravel()[-1])
            upper[used] = support + half_width(0.95, "normal") * error
            surely[used] = support + SURELY * error
    for used, bound in upper.items():
        doubtful = all(surely[sub] >= least for size in range(1, len(used)) for sub in combinations(used, size))
        assert (used in found) == (len(used) > 1 and bound >= least and doubtful), used
        if len(used) > 1 and truth.sum() and bound >= least and not doubtful:
            # What is left out is infrequent in truth as well.
            assert truth[tuple(1 if i in used else slice(None) for i in range(items))].sum() < least


def test_verdicts() -> None:
    limits = Limits(0.3, 0.6)
    sure = Rule((0,), (1,), 0.4, 0.35, 0.45, 0.8, 0.7, 0.9)
    perhaps = Rule((0,), (1,), 0.4, 0.25, 0.45, 0.8, 0.7, 0.9)
    never = Rule((0,), (1,), 0.4, 0.35, 0.45, 0.4, 0.3, 0.5)
    assert [rule.verdict(limits) for rule in (sure, perhaps, never)] == ["frequent", "possible", "no"]


def test_too_many_sets_are_refused_before_they_are_made() -> None:
    table = np.ones((2,) * 12)
    with pytest.raises(TooManyError, match=r"more than 500 itemsets") as caught:
        find_rules(baskets(table, 0.6), Limits(0.01, 0.0, most_sets=500))
    assert caught.value.size == 4
    assert find_rules(baskets(table, 0.6), Limits(0.01, 0.0, largest=2, most_sets=500))
    with pytest.raises(TooManyError, match=r"more than 1,000 rules"):
        find_rules(baskets(table, 0.6), Limits(0.01, 0.0, largest=3, most_rules=1000))


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
    exact = by_name(find_rules(Baskets(patterns, counted["n"], [np.eye(2)] * 10), Limits(0.2, 0.5)))[name]
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
        r for r in find_rules(expected, Limits(0.0, 0.0)) if tuple(sorted((*r.antecedent, *r.consequent))) == last
    )
    assert 100 * found.support == pytest.approx(100 * exact.support)
    assert 100 * (found.s_high - found.s_low) == pytest.approx(published, rel=0.03)
