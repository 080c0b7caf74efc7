"""Kim's noise: correlated as the data, and corrected to exact means and variances."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from tests.laws import insert, matrix, random_table

pytestmark = pytest.mark.core
NAMES = ["x1", "x2", "x3"]


@pytest.fixture
def values(con: duckdb.DuckDBPyConnection) -> np.ndarray:
    table = random_table(np.random.default_rng(4), 50_000, 0, 3)
    insert(con, "t", NAMES, table)
    return table


def released(con: duckdb.DuckDBPyConnection, more: str = "") -> np.ndarray:
    return matrix(
        con, f"SELECT x1, x2, x3 FROM kim_mask('t', conf=['x1','x2','x3'], level=0.25{more}, key='id') ORDER BY id"
    )


def test_noise_has_the_shape_of_the_data(con: duckdb.DuckDBPyConnection, values: np.ndarray) -> None:
    noise = released(con) - values
    sd = values.std(axis=0)
    assert np.abs(np.cov(noise.T) - 0.25 * np.cov(values.T)).max() < 0.02 * np.outer(sd, sd).max()
    assert np.abs(np.corrcoef(np.column_stack([noise, values]).T)[:3, 3:]).max() < 0.03


def test_corrected_restores_means_and_variances_exactly(con: duckdb.DuckDBPyConnection, values: np.ndarray) -> None:
    masked = released(con, ", corrected=true")
    sd = values.std(axis=0)
    assert np.abs((masked - values).mean(axis=0) / sd).max() < 1e-9
    np.testing.assert_allclose(masked.std(axis=0), sd, rtol=1e-9)
    assert np.abs(np.corrcoef(masked.T) - np.corrcoef(values.T)).max() < 0.02
    assert np.corrcoef(masked[:, 0], values[:, 0])[0, 1] == pytest.approx(1 / np.sqrt(1.25), abs=0.01)


def test_uncorrected_variances_grow(con: duckdb.DuckDBPyConnection, values: np.ndarray) -> None:
    np.testing.assert_allclose(released(con).var(axis=0), 1.25 * values.var(axis=0), rtol=0.03)


def test_level_must_be_positive(con: duckdb.DuckDBPyConnection, values: np.ndarray) -> None:
    with pytest.raises(
        duckdb.InvalidInputException, match="with less the confidential values would pass through, got 0"
    ):
        con.execute("FROM kim_mask('t', conf=['x1'], level=0)")
