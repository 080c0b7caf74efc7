"""Association rules of randomized baskets: supports and confidences with their uncertainty.

The support of an itemset is the last cell of its reconstructed table, π̂_{1…1}. Row 1…1 of a
Kronecker product of inverses is the product of rows, so that ŝ is a mean over baskets of
f(t) = Π_u P_u⁻¹[1, t_u], and its variance (mean of f² − ŝ²)/(N − 1) is that of cov(π̂) = Σ1 + Σ2
(Guo 2010, section 3.2.2). No table of 2^k cells is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.kernels.distortion import Spread, half_width
from ppduck.values import Array

Itemset = tuple[int, ...]

By = Literal["estimate", "lower", "upper"]
WORK = 5_000_000_000  # itemsets times baskets that may be looked at: some ten seconds


@frozen
class Baskets:
    """Distinct baskets with their counts, and what presence or absence of an item stands for."""

    present: npt.NDArray[np.bool_]  # baskets × items
    counts: Array
    inverses: Sequence[Array]  # 2×2 a item

    def scores(self) -> Array:
        """P_u⁻¹[1, t_u] for every basket and item."""
        absent = np.array([inverse[1, 0] for inverse in self.inverses])
        there = np.array([inverse[1, 1] for inverse in self.inverses])
        return np.where(self.present, there, absent)


@frozen
class Limits:
    """What makes a rule interesting, and how its ranges are taken."""

    support: float
    confidence: float
    level: float
    spread: Spread  # of the confidence; the support is near normal
    largest: int | None = None  # items in a rule
    most_sets: int = 100_000
    most_rules: int = 200_000


@frozen
class Rule:
    """antecedent ⇒ consequent with estimates and ranges, as proportions."""

    antecedent: Itemset
    consequent: Itemset
    support: float
    support_lower: float
    support_upper: float
    confidence: float
    confidence_lower: float
    confidence_upper: float

    def reaches(self, limits: Limits, by: By) -> bool:
        """Whether support and confidence reach both limits by their estimates, or by the ends of their ranges."""
        end = "" if by == "estimate" else f"_{by}"
        return bool(
            getattr(self, f"support{end}") >= limits.support
            and getattr(self, f"confidence{end}") >= limits.confidence
        )

    def verdict(self, limits: Limits) -> str:
        if self.reaches(limits, "lower"):
            return "frequent"
        return "possible" if self.reaches(limits, "upper") else "no"


class TooManyError(Exception):
    """More itemsets or rules than can be looked at; ``size`` is that of the sets at which it showed."""

    def __init__(self, what: str, most: int, size: int) -> None:
        super().__init__(f"more than {most:,} {what}")
        self.size = size


class _Supports:
    """Supports of itemsets from the scores of their items; nothing is kept but the scores."""

    def __init__(self, baskets: Baskets) -> None:
        self.score = np.ascontiguousarray(baskets.scores().T)  # items × baskets
        total = float(baskets.counts.sum())
        self.weight = baskets.counts / total
        self.degrees = max(total - 1, 1)

    def product(self, itemset: Itemset) -> Array:
        return np.asarray(np.multiply.reduce(self.score[list(itemset)], axis=0))

    def mean(self, values: Array) -> float:
        # Not by BLAS, whose threads wait for each other longer than these sums take.
        return float(np.einsum("i,i->", self.weight, values))

    def mean_and_error(self, product: Array) -> tuple[float, float]:
        mean = self.mean(product)
        return mean, float(np.sqrt(max(self.mean(product**2) - mean**2, 0.0) / self.degrees))


def find_rules(baskets: Baskets, limits: Limits, by: By) -> list[Rule]:
    """Every rule of every candidate whose upper support reaches the limit, larger supports first.

    A candidate is an itemset all of whose parts reach the limit, by their estimates, or by the lower or the upper
    ends of their ranges: by estimates a set is lost with a part whose estimate is too low by chance.
    """
    supports = _Supports(baskets)
    reach = half_width(limits.level, "normal")
    chosen = [
        (itemset, mean, error)
        for itemset, mean, error in _candidates(supports, limits, _shift(by) * reach)
        if len(itemset) > 1 and mean + reach * error >= limits.support
    ]
    most = min(limits.most_rules, WORK // len(baskets.counts))
    if sum(2 ** len(itemset) - 2 for itemset, *_ in chosen) > most:
        raise TooManyError("rules", most, max(len(itemset) for itemset, *_ in chosen))
    rules: list[Rule] = []
    for itemset, mean, error in chosen:
        both = supports.product(itemset)
        support, lower, upper = (
            float(np.clip(mean + sign * reach * error, 0, 1)) for sign in (0, -1, 1)
        )
        for size in range(1, len(itemset)):
            for antecedent in combinations(itemset, size):
                consequent = tuple(item for item in itemset if item not in antecedent)
                confidence = _confidence(both, supports.product(antecedent), supports, limits)
                rules.append(Rule(antecedent, consequent, support, lower, upper, *confidence))
    return sorted(rules, key=lambda rule: (-rule.support, rule.antecedent, rule.consequent))


def true_values(baskets: Baskets, rules: Sequence[Rule]) -> tuple[Array, Array]:
    """Supports and confidences that these rules have in baskets that were not randomized."""
    supports = _Supports(baskets)

    def share(itemset: Itemset) -> float:
        return supports.mean(supports.product(itemset))

    both = np.array([share((*rule.antecedent, *rule.consequent)) for rule in rules])
    antecedent = np.array([share(rule.antecedent) for rule in rules])
    return both, np.divide(both, antecedent, out=np.zeros_like(both), where=antecedent > 0)


def conflicts(estimate: Array, lower: Array, truth: Array, limit: float) -> int:
    """Pairs whose order is wrong: ŝ₁ < ŝ₂, but s₁ > ŝ₁ₗ > limit > s₂ (Guo 2010, s-p and c-p of section 3.2.4)."""
    surely = np.sort(estimate[(truth > lower) & (lower > limit)])
    wrongly = estimate[truth < limit]
    return int(np.searchsorted(surely, wrongly, side="left").sum())


def _shift(by: By) -> int:
    return {"lower": -1, "estimate": 0, "upper": 1}[by]


def _candidates(
    supports: _Supports, limits: Limits, reach: float
) -> Iterator[tuple[Itemset, float, float]]:
    """Itemsets level by level with support and error; all parts of a set reach the limit by mean + reach · error."""
    items = len(supports.score)
    level: list[Itemset] = [(item,) for item in range(items)]
    seen, most = 0, min(limits.most_sets, WORK // len(supports.weight))
    while level:
        seen += len(level)
        kept = set()
        for itemset in level:
            mean, error = supports.mean_and_error(supports.product(itemset))
            if mean + reach * error >= limits.support:
                kept.add(itemset)
            yield itemset, mean, error
        size = len(level[0]) + 1
        if limits.largest is not None and size > limits.largest:
            return
        level = []
        for first in sorted(kept):
            for item in range(first[-1] + 1, items):
                joined = (*first, item)
                if all(part in kept for part in combinations(joined, size - 1)):
                    level.append(joined)
            if seen + len(level) > most:
                raise TooManyError("itemsets", most, size)


def _confidence(
    both: Array, antecedent: Array, supports: _Supports, limits: Limits
) -> tuple[float, float, float]:
    """ĉ = ŝ_XY/ŝ_X, and its range about Ê(ĉ) (3.4) with var(ĉ) (3.5), all of it held inside [0, 1].

    With π11 the support of X and Y and π10 that of X without Y. Where the range of ŝ_X reaches 0, nothing is known of
    the confidence. Elsewhere |Ê(ĉ) − ĉ| is at most se(ĉ)·se(ŝ_X)/ŝ_X, less than the range reaches: ĉ lies inside.
    """
    without, degrees = antecedent - both, supports.degrees
    s11, s10 = supports.mean(both), supports.mean(without)
    s1, s1_error = supports.mean_and_error(antecedent)
    if s1 <= 0:
        return np.nan, 0.0, 1.0
    estimate = float(np.clip(s11 / s1, 0, 1))
    if s1 <= half_width(limits.level, "normal") * s1_error:
        return estimate, 0.0, 1.0
    v11 = (supports.mean(both**2) - s11**2) / degrees
    v10 = (supports.mean(without**2) - s10**2) / degrees
    c = (supports.mean(both * without) - s11 * s10) / degrees
    mean = s11 / s1 + (s11 * v10 - s10 * v11 + (s11 - s10) * c) / s1**3
    error = np.sqrt(max((s10**2 * v11 + s11**2 * v10 - 2 * s10 * s11 * c) / s1**4, 0.0))
    reach = half_width(limits.level, limits.spread) * error
    # Equal but for rounding where there is no error.
    lower, upper = (
        min(float(np.clip(mean - reach, 0, 1)), estimate),
        max(float(np.clip(mean + reach, 0, 1)), estimate),
    )
    return estimate, lower, upper
