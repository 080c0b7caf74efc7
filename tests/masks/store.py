"""The store of Al-Ahmadi's example: spending and debt turn round at the age of 40."""

from __future__ import annotations

import duckdb
import numpy as np

from tests.laws import Matrix, insert

# Standard deviations of the residuals of the data sets ME.L, ME.L.MV1 and ME.L.MV2.
RESIDUALS = {"ME.L": (15.4, 14.9), "MV1": (50.2, 38.5), "MV2": (100.5, 76.9)}
COLUMNS = ["s1", "s2", "x1", "x2"]


def store(name: str, seed: int = 1, rows: int = 1000) -> Matrix:
    """S1 uniform on [20, 60], S2 a coin of 0.468, X1 and X2 a tent over S1 and its mirror, with normal residuals."""
    rng = np.random.default_rng(seed)
    s1, s2 = rng.uniform(20, 60, rows), (rng.random(rows) < 0.468).astype(float)
    tent = 10 * (20 - np.abs(s1 - 40))
    first, second = (rng.normal(0, sd, rows) for sd in RESIDUALS[name])
    return np.column_stack([s1, s2, 200 + tent + first, 600 - tent + second])


def make(con: duckdb.DuckDBPyConnection, name: str, seed: int = 1, rows: int = 1000) -> Matrix:
    """The table ``store``, with an id in front."""
    values = store(name, seed, rows)
    insert(con, "store", COLUMNS, values)
    return values
