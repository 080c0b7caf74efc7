"""Data sets for the masks that work on ranks, and rank correlations by scipy."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from tests.laws import Matrix, insert, matrix, random_table

CORRELATION = np.array([[1, 0.3, 0.6, -0.3], [0.3, 1, 0.2, 0.5], [0.6, 0.2, 1, 0.3], [-0.3, 0.5, 0.3, 1]])
KINDS = ("normal", "lognormal", "skewed", "ties", "binary", "categorical", "one column")


@dataclass(frozen=True)
class Ranked:
    """A table ``t`` with an id, its S as numbers (a category as indicators) and its X."""

    con: duckdb.DuckDBPyConnection
    s: Matrix
    x: Matrix
    conf: list[str]
    nonconf: list[str]

    def released(self, mask: str, more: str = "") -> Matrix:
        listed = ", ".join(self.conf)
        call = f"{mask}('t', conf={self.conf}, nonconf={self.nonconf}, key='id'{more})"
        return matrix(self.con, f"SELECT {listed} FROM {call} ORDER BY id")

    def missed(self, released: Matrix) -> float:
        """The largest difference of rank correlations among X, and between X and S."""
        before, after = (spearman(np.column_stack([self.s, x])) for x in (self.x, released))
        return float(np.abs(before - after).max())

    def partial(self, released: Matrix) -> float:
        """The largest correlation of scores of X and of masked scores, once those of S are taken out of both."""
        s = scores(self.s)
        design = np.column_stack([np.ones(len(s)), s])
        left = [z - design @ np.linalg.lstsq(design, z, rcond=None)[0] for z in map(scores, (self.x, released))]
        cross = np.corrcoef(np.column_stack(left), rowvar=False)[: len(self.conf), len(self.conf) :]
        return float(np.abs(cross).max())


def spearman(values: Matrix) -> Matrix:
    return np.asarray(np.corrcoef(rankdata(values, axis=0), rowvar=False))


def scores(values: Matrix) -> Matrix:
    return np.asarray(ndtri((rankdata(values, axis=0) - 0.5) / len(values)))


def ranked(con: duckdb.DuckDBPyConnection, kind: str, n: int, seed: int = 1) -> Ranked:
    rng = np.random.default_rng([seed, n, KINDS.index(kind)])
    values = rng.normal(size=(n, 4)) @ np.linalg.cholesky(CORRELATION).T
    s, x = values[:, :2], values[:, 2:]
    if kind == "lognormal":
        s, x = np.exp(s), np.exp(2 * x)
    elif kind == "skewed":
        values = random_table(rng, n, 2, 2)
        s, x = values[:, :2], values[:, 2:]
    elif kind == "ties":
        s = np.round(s * [1, 2])
        x = np.column_stack([np.round(1.5 * x[:, 0]), np.maximum(np.round(x[:, 1]), 0)])
    elif kind in ("binary", "categorical"):
        s = np.column_stack([np.digitize(s[:, 0], [0.5] if kind == "binary" else [-1, 0, 0.7]), s[:, 1] > -1]) + 0.0
    elif kind == "one column":
        x = x[:, :1]
    conf = [f"x{j + 1}" for j in range(x.shape[1])]
    insert(con, "t", ["s1", "s2", *conf], np.column_stack([s, x]))
    if kind == "categorical":
        con.execute("CREATE OR REPLACE TABLE t AS SELECT * REPLACE ('level ' || s1::INT AS s1, s2 > 0 AS s2) FROM t")
        s = np.column_stack([s[:, :1] == level for level in range(4)] + [s[:, 1:]]) + 0.0
    return Ranked(con, s, x, conf, ["s1", "s2"])
