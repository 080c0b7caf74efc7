"""What a released column is found to tell: a figure, what it may be, and how the column was read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppduck.frozen import frozen

MOST_GAIN = 0.05
# of a column that is kept as it was: only one that is all but x itself is held against it
MOST_KEPT = 0.99
MOST_ALIKE = 0.5  # Cohen's κ of pairs
AS_IT_IS = "as it is"
FEWEST = 20  # rows or pairs: of fewer nothing is said


@frozen
class Finding:
    """A figure, what it may be at most, of which confidential column it is, and how that was read."""

    value: float
    at_most: float
    conf: str
    how: str

    @property
    def passed(self) -> bool:
        return self.value <= self.at_most

    @property
    def excess(self) -> float:
        return self.value / self.at_most if self.at_most > 0 else float(self.value > 0) * np.inf


def worst(found: Sequence[Finding]) -> Finding | None:
    """Of the readings that tell, the plain one, else the one that tells most."""
    telling = [each for each in found if not each.passed]
    if telling:
        return max(telling, key=lambda each: (each.how == AS_IT_IS, round(each.value, 2)))
    return max(found, key=lambda each: each.excess, default=None)


def most_gain(terms: int, n: int) -> float:
    """What may be told, and what chance adds to it."""
    return MOST_GAIN + (terms + 5 * float(np.sqrt(2 * terms)) + 17) / n
