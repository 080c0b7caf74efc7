"""value_disclosure(): the printed shares of variance, and that more of the original never discloses less."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest

from tests.laws import insert, matrix, r_squared, random_table
from tests.masks.examples import four_columns

pytestmark = pytest.mark.core
Ask = Callable[[str], list[dict[str, Any]]]
NAMES = ["s1", "s2", "x1", "x2"]
CALL = "FROM value_disclosure('t', '{}', conf=['x1','x2'], nonconf=['s1','s2'], key='id'{})"


@pytest.mark.parametrize(
    ("alpha", "by_both"),
    [("0.9", (0.840875, 0.827219)), ("{'x1': 0.8, 'x2': 0.3}", (0.783402, 0.264656)), ("0", (0.162501, 0.090624))],
)
def test_the_25_rows_come_out_as_printed(
    con: duckdb.DuckDBPyConnection, ask: Ask, alpha: str, by_both: tuple[float, float]
) -> None:
    insert(con, "t", NAMES, four_columns())
    con.execute(
        f"CREATE TABLE r AS FROM sufficiency_mask('t', conf=['x1','x2'], alpha={alpha}, nonconf=['s1','s2'], key='id')"
    )
    found = ask(CALL.format("r", ""))
    assert tuple(round(row["r2_sy"], 6) for row in found) == by_both
    assert tuple(round(row["r2_s"], 6) for row in found) == (0.162501, 0.090624)
    assert all(row["gain"] == row["r2_sy"] - row["r2_s"] for row in found)


def test_more_alpha_never_lowers_disclosure(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    insert(con, "t", NAMES, random_table(np.random.default_rng(5), 300, 2, 2))
    before = np.zeros(2)
    for alpha in np.linspace(0, 0.99, 8):
        con.execute(
            f"CREATE OR REPLACE TABLE r AS FROM sufficiency_mask('t', conf=['x1','x2'], alpha={alpha}, "
            "nonconf=['s1','s2'], key='id')"
        )
        now = np.array([row["r2_sy"] for row in ask(CALL.format("r", ""))])
        assert (now >= before - 1e-9).all()
        before = now
    assert (before > 0.9).all()


def test_a_copy_tells_everything_and_a_stranger_nothing(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    insert(con, "t", NAMES, random_table(np.random.default_rng(6), 997, 2, 2))
    con.execute("CREATE TABLE stranger AS SELECT (id * 331 + 7) % 997 AS id, x1, x2 FROM t")
    for model, exact in (("linear", 1e-9), ("kernel", 1e-9)):
        for row in ask(CALL.format("t", f", model='{model}'")):
            assert row["r2_y"] == pytest.approx(1, abs=exact)
            assert row["r2_sy"] == pytest.approx(1, abs=exact)
        for row in ask(CALL.format("stranger", f", model='{model}'")):
            assert abs(row["r2_y"]) < 0.02
            assert abs(row["gain"]) < 0.02


def test_linear_shares_are_those_of_least_squares(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    data = random_table(np.random.default_rng(7), 200, 2, 2)
    insert(con, "t", NAMES, data)
    con.execute("CREATE TABLE r AS FROM noise_mask('t', conf=['x1','x2'], level=0.5, key='id', seed=1)")
    y = matrix(con, "SELECT x1, x2 FROM r ORDER BY id")
    for j, row in enumerate(ask(CALL.format("r", ""))):
        x, s = data[:, 2 + j], data[:, :2]
        assert row["column_name"] == f"x{j + 1}"
        assert row["rows"] == 200
        for name, by in (("r2_s", s), ("r2_y", y), ("r2_sy", np.column_stack([s, y]))):
            assert row[name] == pytest.approx(r_squared(x, by), abs=1e-9)


def test_a_kernel_sees_what_lines_do_not(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """A symmetric x is uncorrelated with its square: a curve finds it out."""
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, size=600)
    insert(con, "t", ["s1", "x1"], np.column_stack([rng.normal(size=600), x**2]))
    insert(con, "r", ["x1"], x[:, None])
    call = "FROM value_disclosure('t', 'r', conf=['x1'], nonconf=['s1'], key='id', model='{}')"
    [lines], [curves] = ask(call.format("linear")), ask(call.format("kernel"))
    assert lines["r2_y"] < 0.1
    assert curves["r2_y"] > 0.97


def test_a_constant_column_has_nothing_to_disclose(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s1, 5 AS x1 FROM range(100) r(i)")
    [row] = ask("FROM value_disclosure('t', 't', conf=['x1'], key='id')")
    assert (row["r2_s"], row["r2_y"], row["r2_sy"], row["gain"]) == (0, 0, 0, 0)


def test_non_numeric_conf_is_refused(customers: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r'value_disclosure on "customers": conf names column "region", which is of type VARCHAR',
    ):
        customers.execute("FROM value_disclosure('customers', 'customers', conf=['region'], key='id')")
