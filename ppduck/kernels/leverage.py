"""Leverage: how much of a row's prediction is the row's own value.

h = 1/n + (z - z̄)ᵀ (Σ(z - z̄)(z - z̄)ᵀ)⁻¹ (z - z̄), the diagonal of the hat matrix, z being some terms of [S, X]; it is 1
at most, and then the prediction is the value itself, and noise that is orthogonal to z leaves the row out. In a single
column, h - 1/n is the row's share of the column's centred sum of squares. (Hoaglin & Welsch 1978, The
American Statistician 32(1).)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ppduck.kernels.linear import Blocks
from ppduck.libraries import linalg
from ppduck.values import Array


def axes(blocks: Blocks, terms: list[int]) -> Array:
    """W, lower triangular, with h = 1/n + Σa² for a = W(z - z̄); a term that is not used has no axis."""
    found = np.zeros((blocks.p + blocks.q, blocks.p + blocks.q))
    if terms:
        factor = np.linalg.cholesky(blocks.cov[np.ix_(terms, terms)])
        units = np.diag(1 / (blocks.scale[terms] * math.sqrt(blocks.n - 1)))
        found[np.ix_(terms, terms)] = linalg.solve_triangular(factor, units, lower=True)
    return found


def leverage(blocks: Blocks, terms: list[int], row: Array) -> float:
    """h of a row, given as z - z̄, of its first terms if no others are used."""
    return float(1 / blocks.n + ((axes(blocks, terms)[:, : len(row)] @ row) ** 2).sum())


def largest(
    blocks: Blocks, terms: list[int], low: Array, high: Array, categories: Sequence[list[int]] = ()
) -> float:
    """What h is at most, if z - z̄ is between ``low`` and ``high`` in every column.

    In no row is more than one of the indicators of a category high: by the triangle inequality, the length of a is at
    most that of the other columns and that of the farthest level of each category.
    """
    weights = axes(blocks, terms)[:, : len(low)]
    indicators = {i for category in categories for i in category}
    others = [i for i in range(len(low)) if i not in indicators]
    length = np.linalg.norm(
        np.abs(weights[:, others]) @ np.maximum(np.abs(low), np.abs(high))[others]
    )
    for category in categories:
        # A column for each level, one for the level that has no indicator, and one for a NULL that counts as average.
        levels = np.column_stack([low[category]] * (len(category) + 1) + [np.zeros(len(category))])
        np.fill_diagonal(levels, high[category])
        length += np.linalg.norm(weights[:, category] @ levels, axis=0).max()
    return float(1 / blocks.n + length**2)


def shares(blocks: Blocks, low: Array, high: Array) -> Array:
    """The largest share of a row in each column's centred sum of squares, from the ends of the column."""
    farthest = np.maximum(np.abs(low), np.abs(high)) / blocks.scale[: len(low)]
    return np.asarray(farthest**2 / (blocks.n - 1))


def shares_of_others(blocks: Blocks, distance: Array) -> Array:
    """What share a row at such a distance from the mean of each X would have, if it were one of those measured."""
    squares = (distance / blocks.x_scale) ** 2
    return np.asarray(squares / (blocks.n - 1 + squares))


def from_share(share: float, terms: int, n: int) -> float:
    """The h that is ``share`` of the way from what is called high, three times its average (terms + 1)/n, to 1.

    In a table of many rows it is the share itself; in a small one rows have a high leverage by chance.
    (Velleman & Welsch 1981, The American Statistician 35(4).)
    """
    high = min(3 * (terms + 1) / n, 1.0)
    return high + share * (1 - high)


def involved(blocks: Blocks, terms: list[int], row: Array, limit: float) -> list[int]:
    """Terms of which none can be left out: without it, the leverage of the row would be within the limit."""
    kept = terms
    for term in reversed(terms):
        fewer = [each for each in kept if each != term]
        if leverage(blocks, fewer, row) > limit:
            kept = fewer
    return kept
