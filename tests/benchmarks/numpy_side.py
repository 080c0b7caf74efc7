"""EGADP as a program on top of numpy would do it, with and without the way from DuckDB and back."""

from __future__ import annotations

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import NARROW, Shape, database, make, mask_call
from tests.benchmarks.timing import COPY, created, interleaved, once

Array = npt.NDArray[np.float64]


def compared(report: Report, rows: int) -> None:
    """numpy beside ppduck on the same table in memory."""
    report.section(f"{rows:,} rows of {NARROW}, numpy beside ppduck, in memory")
    with database("memory") as con:
        make(con, "original", rows, NARROW)
        s, x = _fetched(con, NARROW)
        rng = np.random.default_rng(1)
        select = mask_call("egadp_mask", "original", NARROW.x_names)
        found = interleaved(
            {
                COPY: lambda: created(con, "SELECT * FROM original"),
                "egadp_mask": lambda: created(con, select),
                "numpy, arrays to arrays": lambda: once(lambda: egadp(s, x, rng)),
                "numpy, table to table": lambda: _through_duckdb(con, NARROW, rng),
            },
            repeats=3,
        )
    for name, seconds in found.items():
        report.add(Line.against(name, seconds, found[COPY]))


def egadp(s: Array, x: Array, rng: np.random.Generator) -> Array:
    """Y = S·B + e, e orthogonal to [1, S, X] and of the covariance of X's residuals; by normal equations."""
    mean = x.mean(axis=0)
    s, x = s - s.mean(axis=0), x - mean
    noise = rng.standard_normal(x.shape)
    noise -= noise.mean(axis=0)
    fitted = _fit(s, x)
    residual = x - fitted
    noise -= _fit(np.hstack([s, x]), noise)
    noise = noise @ _power(noise.T @ noise, -0.5) @ _power(residual.T @ residual, 0.5)
    return np.asarray(mean + fitted + noise)


def _fit(regressors: Array, values: Array) -> Array:
    coefficients = np.linalg.solve(regressors.T @ regressors, regressors.T @ values)
    return np.asarray(regressors @ coefficients)


def _power(matrix: Array, power: float) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * values**power) @ vectors.T)


def _fetched(con: duckdb.DuckDBPyConnection, shape: Shape) -> tuple[Array, Array]:
    columns = con.execute("FROM original").fetchnumpy()
    return (
        np.column_stack([columns[name] for name in shape.s_names]),
        np.column_stack([columns[name] for name in shape.x_names]),
    )


def _through_duckdb(con: duckdb.DuckDBPyConnection, shape: Shape, rng: np.random.Generator) -> float:
    """Fetch, mask, write back."""
    con.execute("DROP TABLE IF EXISTS result")

    def work() -> None:
        s, x = _fetched(con, shape)
        y = egadp(s, x, rng)
        parts = [s[:, i] for i in range(shape.s)] + [y[:, j] for j in range(shape.x)]
        con.register("masked", pa.table([np.ascontiguousarray(part) for part in parts], shape.s_names + shape.x_names))
        con.execute("CREATE TABLE result AS FROM masked")
        con.unregister("masked")

    return once(work)
