"""The Census data of the CASC project, and the rank swapping that the literature scores on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tests.laws import Matrix

COLUMNS = [
    "AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC",
    "POTHVAL", "INTVAL", "PEARNVAL", "FICA", "WSALVAL", "ERNVAL",
]  # fmt: skip


def census(folder: Path) -> Matrix:
    """1,080 rows of 13 integers, none of them 0."""
    columns = pq.read_table(folder / "census.parquet").select(COLUMNS).columns
    return np.stack([column.to_numpy().astype(float) for column in columns], axis=1)


def rank_swapped(values: Matrix, p: float, seed: int) -> Matrix:
    """Each column by itself: a value changes places with another whose rank is at most p % of n away (Moore 1996).

    From the smallest on, whoever was not swapped yet draws a partner among those above that were not swapped either.
    """
    rng = np.random.default_rng(seed)
    n = len(values)
    reach = int(p * n / 100)
    masked = values.copy()
    for j in range(values.shape[1]):
        # Equal values stand in a random order, or swaps among them would be no swaps.
        order = np.lexsort((rng.random(n), values[:, j]))
        free = np.ones(n, dtype=bool)
        for i in range(n):
            partners = np.flatnonzero(free[i + 1 : i + 1 + reach])
            if free[i] and len(partners):
                other = i + 1 + int(partners[rng.integers(len(partners))])
                free[[i, other]] = False
                masked[order[[i, other]], j] = values[order[[other, i]], j]
    return masked
