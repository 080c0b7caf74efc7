"""Association rules of randomized baskets: supports and confidences with their uncertainty.

The support of an itemset is the last cell of its reconstructed table, π̂_{1…1}. Row 1…1 of a
Kronecker product of inverses is the product of rows, so that ŝ is a mean over baskets of
f(t) = Π_u P_u⁻¹[1, t_u], and its variance (mean of f² − ŝ²)/(N − 1) is that of cov(π̂) = Σ1 + Σ2
(Guo 2010, section 3.2.2). No table of 2^k cells is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ppduck.kernels.randomized import Spread, half_width
from ppduck.values import Array

Itemset = tuple[int, ...]

# A set is extended unless its support lies this many standard errors below the limit: what is cut is not frequent
# beyond doubt, while a range at the usual 95 % would lose a frequent set once in forty looks.
SURELY = 5.0
WORK = 5_000_000_000  # itemsets times baskets that may be looked at: some ten seconds


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Limits:
    """What makes a rule interesting, and how its ranges are taken."""

    support: float
    confidence: float
    level: float = 0.95
    spread: Spread = "chebyshev"  # of the confidence; the support is near normal
    largest: int | None = None  # items in a rule
    most_sets: int = 100_000
    most_rules: int = 200_000


@dataclass(frozen=True)
class Rule:
    """antecedent ⇒ consequent with estimates and ranges, as proportions."""

    antecedent: Itemset
    consequent: Itemset
    support: float
    s_low: float
    s_high: float
    confidence: float
    c_low: float
    c_high: float

    def verdict(self, limits: Limits) -> str:
        if self.s_low >= limits.support and self.c_low >= limits.confidence:
            return "frequent"
        if self.s_high >= limits.support and self.c_high >= limits.confidence:
            return "possible"
        return "no"


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


def find_rules(baskets: Baskets, limits: Limits) -> list[Rule]:
    """Every rule of every itemset whose upper support reaches the limit, larger supports first."""
    supports = _Supports(baskets)
    reach = half_width(limits.level, "normal")
    chosen = [
        (itemset, mean, error)
        for itemset, mean, error in _candidates(supports, limits)
        if len(itemset) > 1 and mean + reach * error >= limits.support
    ]
    most = min(limits.most_rules, WORK // len(baskets.counts))
    if sum(2 ** len(itemset) - 2 for itemset, *_ in chosen) > most:
        raise TooManyError("rules", most, max(len(itemset) for itemset, *_ in chosen))
    rules: list[Rule] = []
    for itemset, mean, error in chosen:
        both = supports.product(itemset)
        for size in range(1, len(itemset)):
            for antecedent in combinations(itemset, size):
                consequent = tuple(item for item in itemset if item not in antecedent)
                confidence = _confidence(both, supports.product(antecedent), supports, limits)
                rules.append(
                    Rule(antecedent, consequent, mean, mean - reach * error, mean + reach * error, *confidence)
                )
    return sorted(rules, key=lambda rule: (-rule.support, rule.antecedent, rule.consequent))


def _candidates(supports: _Supports, limits: Limits) -> Iterator[tuple[Itemset, float, float]]:
    """Itemsets level by level with support and error; a set is made from one whose every part was kept."""
    items = len(supports.score)
    level: list[Itemset] = [(item,) for item in range(items)]
    seen, most = 0, min(limits.most_sets, WORK // len(supports.weight))
    while level:
        seen += len(level)
        kept = set()
        for itemset in level:
            mean, error = supports.mean_and_error(supports.product(itemset))
            if mean + SURELY * error >= limits.support:
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


def _confidence(both: Array, antecedent: Array, supports: _Supports, limits: Limits) -> tuple[float, float, float]:
    """ĉ = ŝ_XY/ŝ_X, and its range about Ê(ĉ) (3.4) with var(ĉ) (3.5), held inside [0, 1].

    With π11 the support of X and Y and π10 that of X without Y.
    """
    without, degrees = antecedent - both, supports.degrees
    s11, s10 = supports.mean(both), supports.mean(without)
    s1 = s11 + s10
    if s1 <= 0:
        return np.nan, 0.0, 1.0
    v11 = (supports.mean(both**2) - s11**2) / degrees
    v10 = (supports.mean(without**2) - s10**2) / degrees
    c = (supports.mean(both * without) - s11 * s10) / degrees
    mean = s11 / s1 + (s11 * v10 - s10 * v11 + (s11 - s10) * c) / s1**3
    error = np.sqrt(max((s10**2 * v11 + s11**2 * v10 - 2 * s10 * s11 * c) / s1**4, 0.0))
    reach = half_width(limits.level, limits.spread) * error
    return s11 / s1, float(np.clip(mean - reach, 0, 1)), float(np.clip(mean + reach, 0, 1))
