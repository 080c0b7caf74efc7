"""How many values of a column may be what they were, exactly or to six digits, if a mask heeds none of them.

Of continuous values, those that agree to six digits are about a hundredth of those that agree to four: so many are
expected, whatever the open columns tell of both (wide: |x - y| ≤ 5e-5 |x|, near: 5e-7 |x|),

    E₁ = (wide - near) / 99.

Values that repeat, as whole numbers do and what was shuffled, meet more often. Rows are parted into zones by size, so
that what ties x and y together at large counts, and not what ties them in a row: of n pairs with both in zone z, N_x
originals and N_y masked values there, of which ``met`` of all N_x·N_y are equal,

    E₂ = Σ_z n (met - same) / (N_x N_y - n).

Counts are held to what a binomial law of mean max(E₁, E₂) exceeds once in ten thousand times. The largest and the
smallest hundredth are zones, which are judged by themselves as well. Of a column of few values, whose zones hold no ten
of them each, all rows are one zone, and a hundredth of them may agree beyond chance: open columns tell so much. They
tell more of whole numbers that lean on them, but then of their neighbours too: half of the pairs that differ by one are
expected to be equal, x - y being about as often 0 as 1 or -1, if these are more than chance makes. Masked values with
more than three decimals that are no values of others have no chance to be exactly their original: there one is too
many, unless it is the least or the largest original, and no masked value is beyond these: masks that keep the range of
a column give its ends to whom they would put beyond them, and that may be who has them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ppduck.frozen import frozen
from ppduck.libraries import stats
from ppduck.values import Array

BY_CHANCE = 1e-4
NEAR, WIDE = 5e-7, 5e-5  # of |x|
LOW, HIGH = -1000, 1000  # the zones of the smallest and of the largest hundredth
FEW = 10  # values of a zone
ALLOWED_OF_FEW = 0.01  # share of a column of few values that may agree beyond chance
RULE_OF_THREE = 3.0  # what may be there though none was seen


@frozen
class Agreement:
    """Pairs of a column, or of a zone: how many are equal, to six digits, and to four."""

    same: int
    near: int
    wide: int

    @property
    def by_size(self) -> float:
        """E₁."""
        return max(self.wide - self.near, 0) / (WIDE / NEAR - 1)


@frozen
class Zones:
    """For each zone: pairs with both in it, equal ones among them; its originals, masked values and different values;
    equal pairs of all with all.
    """

    zone: Array
    pairs: Array
    same: Array
    originals: Array
    masked: Array
    values: Array
    met: Array

    @property
    def few_values(self) -> bool:
        """Whether most pairs lie in zones that hold next to one value."""
        crowded = self.pairs[self.values < FEW].sum()
        return bool(crowded > self.pairs.sum() / 2)

    @property
    def one(self) -> Zones:
        """All rows as one zone."""
        totals = (
            getattr(self, name).sum() for name in ("same", "originals", "masked", "values", "met")
        )
        same, originals, masked, values, met = (np.array([total]) for total in totals)
        return Zones(np.zeros(1), originals.copy(), same, originals, masked, values, met)

    def expected(self, zone: int | None = None) -> float:
        """E₂, of all zones or of one."""
        chosen = slice(None) if zone is None else self.zone == zone
        n, same, met = self.pairs[chosen], self.same[chosen], self.met[chosen]
        others = self.originals[chosen] * self.masked[chosen] - n
        rate = np.divide(met - same, others, out=np.ones(len(n)), where=others > 0)
        return float((n * np.clip(rate, 0.0, 1.0)).sum())

    def unseen(self, zone: int | None = None) -> float:
        """What may have been expected though no two rows met."""
        chosen = slice(None) if zone is None else self.zone == zone
        all_pairs = float((self.originals[chosen] * self.masked[chosen]).sum())
        return RULE_OF_THREE * float(self.pairs[chosen].sum()) / max(all_pairs, 1.0)


@frozen
class Judgement:
    """What dealing out all masked values would make equal, and the largest counts that pass."""

    expected: float
    most_same: float
    most_near: float
    most_in_tail: float
    tail: int  # near ones in the tail that stands out more


def judged(
    whole: Agreement,
    tails: Sequence[Agreement],
    zones: Zones | None,
    *,
    repeat: bool,
    beside: float = 0.0,
    ends: tuple[bool, bool] = (False, False),
) -> Judgement:
    """Of a column; zones are None where no value is equal and size explains those that are near.

    ``repeat`` says whether masked values have few decimals, ``beside`` how many pairs differ by one, ``ends`` whether
    the least and the largest original are what they were, and no masked value is beyond them.
    """
    most_same, expected, more = 0.0, 0.0, 0.0
    pairs = max(float(zones.one.pairs[0]) if zones is not None else 0.0, 1.0)
    if zones is not None:
        own = zones.one if zones.few_values else zones
        more = ALLOWED_OF_FEW * float(zones.one.pairs[0]) if zones.few_values else 0.0
        expected = own.expected()
        if zones.few_values:
            expected = max(expected, beside / 2)
        most_same = most(expected + (own.unseen() if repeat else 0.0), pairs) + more + sum(ends)
    most_near = most(max(whole.by_size + _slack(whole), expected), pairs) + more + sum(ends)
    in_tails = []
    for place, tail, end in zip((LOW, HIGH), tails, ends, strict=True):
        met = 0.0 if zones is None else zones.expected(place)
        in_tails.append((tail.near, most(max(tail.by_size + _slack(tail), met)) + end))
    near, most_in_tail = max(in_tails, key=lambda each: each[0] - each[1], default=(0, 0.0))
    by_chance = zones.one.expected() if zones is not None else 0.0
    return Judgement(by_chance, most_same, most_near, most_in_tail, near)


def _slack(found: Agreement) -> float:
    return RULE_OF_THREE / (WIDE / NEAR - 1) if found.wide <= found.near else 0.0


def most(expected: float, n: float = math.inf) -> float:
    """What a count of n at most exceeds once in ten thousand times."""
    if expected <= 0:
        return 0.0
    if expected < n / 10:
        return float(stats.poisson.isf(BY_CHANCE, expected))
    return float(stats.binom.isf(BY_CHANCE, round(n), min(expected / n, 1.0)))
