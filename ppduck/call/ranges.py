"""Ranges of numbers: what a parameter is checked by, and what its help and its messages say, from one source."""

from __future__ import annotations

import math
from decimal import Decimal

from ppduck.frozen import frozen


@frozen
class Range:
    """The numbers from ``low`` to ``high``, both of them included unless said otherwise; infinity is never one."""

    low: float
    high: float = math.inf
    above: bool = False  # low itself does not belong
    below: bool = False  # high itself does not belong
    also: float | None = None  # a number outside that belongs all the same

    def __contains__(self, value: float) -> bool:
        if value == self.also:
            return True
        over = value > self.low if self.above else value >= self.low
        under = value < self.high if self.below else value <= self.high
        return over and under and -math.inf < value < math.inf

    def __str__(self) -> str:
        """As it stands behind "must be"."""
        low, high = shown(self.low), shown(self.high)
        if self.high == math.inf:
            rule = f"at least {low}" if self._is_at_least else f"above {low}"
        elif self.above:
            rule = f"above {low} and {'below' if self.below else 'at most'} {high}"
        else:
            rule = f"from {low} to {'below ' if self.below else ''}{high}"
        return rule if self.also is None else f"{rule}, or {shown(self.also)}"

    @property
    def behind_a_noun(self) -> str:
        """As it stands behind "a number"."""
        return f"of {self}" if self._is_at_least else str(self)

    @property
    def _is_at_least(self) -> bool:
        return self.high == math.inf and not self.above


def shown(number: float) -> str:
    """A number in full, with commas: no 1e-06."""
    if math.isinf(number):
        return str(number)
    text = f"{Decimal(str(number)):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
