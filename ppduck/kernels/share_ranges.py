"""Ranges of shares of rows, and of the difference of two shares of the same rows.

A share has the score interval (Wilson 1927): it stays within [0, 1] and does not shrink to nothing at its ends. That of
a difference squares and adds how far Wilson's limits are from the shares, less what the two have in common by their
correlation φ over the rows (Newcombe 1998).
"""

from __future__ import annotations

from math import sqrt

from ppduck.libraries import special

LEVEL = 0.95


def wilson(share: float, n: int, level: float = LEVEL) -> tuple[float, float]:
    """The range of a share that was found in n rows."""
    z = float(special.ndtri((1 + level) / 2))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(centre - reach, 0.0), min(centre + reach, 1.0)


def difference(
    one: float, other: float, n: int, both: float | None = None, level: float = LEVEL
) -> tuple[float, float]:
    """The range of ``one`` less ``other``, two shares of n rows; ``both`` is the share of rows that count in either.

    Without it they are taken for independent, which makes the range wider where they go together.
    """
    (low, high), (other_low, other_high) = wilson(one, n, level), wilson(other, n, level)
    spread = one * (1 - one) * other * (1 - other)
    phi = 0.0 if both is None or spread <= 0 else (both - one * other) / sqrt(spread)
    down = _reach(one - low, other_high - other, phi)
    up = _reach(high - one, other - other_low, phi)
    return one - other - down, one - other + up


def _reach(own: float, others: float, phi: float) -> float:
    return sqrt(max(own * own - 2 * phi * own * others + others * others, 0.0))
