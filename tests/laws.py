"""The laws that masks obey, measured with numpy and not with ppduck's own code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def matrix(con: duckdb.DuckDBPyConnection, query: str) -> Matrix:
    """A query's result as a float matrix."""
    columns = con.execute(query).fetchnumpy()
    return np.column_stack([np.asarray(column, dtype=float) for column in columns.values()])


def steady(value: Any) -> Any:
    """A number without its last digits, which hang on the order in which threads add."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


def insert(con: duckdb.DuckDBPyConnection, table: str, names: Sequence[str], values: Matrix) -> None:
    """A table of DOUBLE columns with an id in front."""
    import pyarrow as pa

    data = pa.table({"id": np.arange(len(values)), **{n: values[:, i] for i, n in enumerate(names)}})
    con.register("rows_to_insert", data)
    con.execute(f'CREATE OR REPLACE TABLE "{table}" AS SELECT * FROM rows_to_insert')
    con.unregister("rows_to_insert")


def moments_apart(original: Matrix, masked: Matrix) -> tuple[float, float, float]:
    """Largest differences of means (in sd), covariances (in sd·sd) and correlations."""
    sd = original.std(axis=0, ddof=1)
    # Row by row first: two means of a million values near 10^6 each carry an error of 1e-8 by themselves.
    means = np.abs((masked - original).mean(axis=0)) / sd
    a, b = np.cov(original.T), np.cov(masked.T)
    covariances = np.abs(a - b) / np.outer(sd, sd)
    correlations = np.abs(np.corrcoef(original.T) - np.corrcoef(masked.T))
    return float(means.max()), float(covariances.max()), float(correlations.max())


def assert_same_moments(original: Matrix, masked: Matrix, within: float = 1e-9) -> None:
    assert original.shape == masked.shape
    apart = moments_apart(original, masked)
    assert max(apart) < within, f"means, covariances, correlations are apart by {apart}"


def residuals(y: Matrix, x: Matrix) -> Matrix:
    """What is left of y after least squares on a constant and x."""
    design = np.column_stack([np.ones(len(y)), x - x.mean(axis=0)])
    design[:, 1:] /= np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    return y - design @ np.linalg.lstsq(design, y, rcond=None)[0]


def cross_correlation(a: Matrix, b: Matrix) -> float:
    """The largest correlation between a column of a and a column of b."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    scale = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    return float(np.abs(a.T @ b / scale).max())


def r_squared(y: Matrix, x: Matrix) -> float:
    y = y[:, None] if y.ndim == 1 else y
    return float(1 - residuals(y, x).var() / y.var())


def canonical_correlation(a: Matrix, b: Matrix) -> float:
    """The largest canonical correlation between two sets of columns."""
    bases = [np.linalg.qr(m - m.mean(axis=0))[0] for m in (a, b)]
    return float(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)[0])


def with_moments(values: Matrix, mean: Matrix, covariance: Matrix) -> Matrix:
    """The rows moved by the smallest linear map that gives them exactly these moments."""
    centred = values - values.mean(axis=0)
    now = np.cov(centred.T)
    return mean + centred @ np.linalg.inv(np.linalg.cholesky(now)).T @ np.linalg.cholesky(covariance).T


def random_table(rng: np.random.Generator, n: int, p: int, q: int) -> Matrix:
    """n rows of p + q correlated columns, not normal, so that nothing rests on normality."""
    mixing = rng.normal(size=(p + q, p + q)) + 2 * np.eye(p + q)
    return (rng.exponential(size=(n, p + q)) + rng.normal(size=(n, p + q))) @ mixing
