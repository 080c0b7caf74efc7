"""mse_security(): the store's printed errors, conditions that hold and fail, and pieces."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest

from ppduck.errors import PpduckWarning
from tests.laws import insert, random_table, residuals
from tests.masks.store import make

pytestmark = pytest.mark.core
Ask = Callable[[str], list[dict[str, Any]]]
CALL = "FROM mse_security('store', 'masked', conf=['x1','x2'], nonconf=['s1','s2'], key='id'{})"


def by_measure(rows: list[dict[str, Any]], column: str) -> dict[str, dict[str, Any]]:
    return {row["measure"]: row for row in rows if row["column_name"] == column}


def mask_store(con: duckdb.DuckDBPyConnection, name: str = "ME.L", seed: int = 1) -> np.ndarray:
    data = make(con, name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PpduckWarning)
        con.execute(
            "CREATE TABLE masked AS FROM nm_egadp_mask('store', conf=['x1','x2'], nonconf=['s1','s2'], key='id')"
        )
    return data


def test_the_store_piece_by_piece_comes_out_as_printed(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """Table 3: 229.65 of S, 229.54 of S and Y, 338.73 of Y, each the mean of two squared errors of 1,000 rows.

    The mean of 2,000 squared normal errors has a relative standard error of √(2/2000); printed and ours are one sample each.
    """
    mask_store(con)
    found = by_measure(ask(CALL.format(", pieces='s1 < 40'")), "all, on average")
    for measure, printed in (("mse_x_s", 229.65), ("mse_x_sy", 229.54), ("mse_x_y", 338.73)):
        assert found[measure]["mse"] == pytest.approx(printed, rel=3 * np.sqrt(2 * 2 / 2000))
    assert found["mse_x_s"]["mse"] - found["mse_x_sy"]["mse"] < 2
    assert found["mse_gain"]["passed"]
    assert found["mse_excess"]["passed"]


def test_the_store_by_kernel_comes_out_as_printed(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """R² of X1 92.85 by S, 92.69 by S and Y, 89.10 by Y; of X2 93.25, 93.04, 89.91 (in per cent).

    1 - R² is a ratio of variances of 1,000 rows, of relative standard error 5 %; the printed sample has its own.
    """
    mask_store(con)
    rows = ask(CALL.format(", model='kernel'"))
    for column, printed in (("x1", (92.85, 92.69, 89.10)), ("x2", (93.25, 93.04, 89.91))):
        found = by_measure(rows, column)
        for measure, value in zip(("mse_x_s", "mse_x_sy", "mse_x_y"), printed, strict=True):
            assert 100 * found[measure]["r2"] == pytest.approx(value, abs=3 * np.sqrt(2) * 0.05 * (100 - value))
        assert found["mse_gain"]["passed"]
        assert found["mse_excess"]["passed"]


def test_a_line_through_the_tent_blames_the_release(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """S tells nothing by a line, Y does: the model must fit for the conditions to mean anything."""
    mask_store(con)
    found = by_measure(ask(CALL.format("")), "x1")
    assert found["mse_x_s"]["r2"] < 0.02
    assert not found["mse_gain"]["passed"]
    assert not found["mse_excess"]["passed"]


@pytest.mark.parametrize("model", ["linear", "kernel"])
def test_noise_fails_where_egadp_holds(con: duckdb.DuckDBPyConnection, ask: Ask, model: str) -> None:
    insert(con, "store", ["s1", "s2", "x1", "x2"], random_table(np.random.default_rng(2), 400, 2, 2))
    for mask, holds in (("egadp_mask('store', ", True), ("noise_mask('store', level=0.1, ", False)):
        con.execute(
            f"CREATE OR REPLACE TABLE masked AS FROM {mask} conf=['x1','x2'], nonconf=['s1','s2'], key='id', seed=1)"
        )
        for column in ("x1", "x2", "all, on average"):
            found = by_measure(ask(CALL.format(f", model='{model}'")), column)
            assert found["mse_gain"]["passed"] is holds
            if model == "linear" and holds:
                assert abs(found["mse_gain"]["r2"]) < 1e-9


def test_pieces_are_regressions_of_their_own(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    data = mask_store(con)
    s, x = data[:, :2], data[:, 2:]
    left = np.empty_like(x)
    for part in (s[:, 0] < 30, (s[:, 0] >= 30) & (s[:, 0] < 45), s[:, 0] >= 45):
        left[part] = residuals(x[part], s[part])
    rows = ask(CALL.format(", pieces=['s1 < 30', 's1 < 45']"))
    for j, column in enumerate(("x1", "x2")):
        found = by_measure(rows, column)["mse_x_s"]
        assert found["mse"] == pytest.approx((left[:, j] ** 2).mean())
        assert found["r2"] == pytest.approx(1 - (left[:, j] ** 2).mean() / x[:, j].var())
        assert found["rows"] == 1000


def test_a_tolerance_can_be_given(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    mask_store(con)
    found = by_measure(ask(CALL.format(", tolerance=1")), "x1")
    assert found["mse_gain"]["tolerance"] == pytest.approx(1)
    assert found["mse_gain"]["passed"]
    with pytest.raises(duckdb.InvalidInputException, match="tolerance must be from 0 to 1"):
        ask(CALL.format(", tolerance=2"))


def test_too_few_rows_are_told(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, i AS s1, i * i AS x1 FROM range(29) r(i)")
    with pytest.raises(
        duckdb.InvalidInputException,
        match='mse_security on "t": 29 pairs without NULL are too few to measure by; 30 are needed',
    ):
        con.execute("FROM mse_security('t', 't', conf=['x1'], key='id', model='kernel')")
