"""One release, one noise: how a call or its table is spelt does not change it, what is asked for does."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from tests.laws import matrix

pytestmark = pytest.mark.core

TABLES = {
    "t": "SELECT i AS id, i // 10 AS a, i % 10 AS b, sin(i * 7) AS s1, i % 7 AS s2, ['u', 'v', 'w'][1 + i % 3] AS c, "
    "cos(i * 3) AS x1, i * i % 101 AS x2, i % 2 AS g FROM range(600) r(i)",
    "capitals": 'SELECT id AS "ID", a AS A, b AS B, s1 AS S1, s2 AS "S2", c AS C, x1 AS "X1", x2 AS X2, g AS G FROM t',
    "text_id": "SELECT * REPLACE (id::VARCHAR AS id, a::VARCHAR AS a, g::VARCHAR AS g) FROM t",
    "typed": "SELECT * REPLACE (id::DECIMAL(9, 2) AS id, a::HUGEINT AS a, s2::DOUBLE AS s2, x2::DECIMAL(9, 1) AS x2, "
    "c::ENUM('w', 'u', 'v') AS c, g::DOUBLE AS g) FROM t",
}


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    for name, query in TABLES.items():
        con.execute(f"CREATE TABLE {name} AS {query}")
    return con


def masked(con: duckdb.DuckDBPyConnection, mask: str, table: str, given: str) -> np.ndarray:
    return matrix(con, f"SELECT x1, x2 FROM {mask}('{table}', {given}) ORDER BY id::DOUBLE")


def assert_same(one: np.ndarray, two: np.ndarray) -> None:
    assert (np.abs(one - two) / one.std(axis=0)).max() < 1e-9


EGADP = "conf=['x1', 'x2'], nonconf=['s1', 's2', 'c'], key='id'"


@pytest.mark.parametrize(
    ("table", "given"),
    [
        *((table, EGADP) for table in TABLES),
        ("capitals", "conf=['X2', 'x1'], nonconf=['C', 'S2', 's1'], key=['ID']"),
        ("typed", f"{EGADP}, on_null='drop'"),
        ("t", f"{EGADP}, on_null='mean'"),
        ("t", f"{EGADP}, on_null='error', round=false"),
    ],
)
def test_a_release_has_the_same_noise_however_it_is_spelt(
    tables: duckdb.DuckDBPyConnection, table: str, given: str
) -> None:
    assert_same(masked(tables, "egadp_mask", "t", EGADP), masked(tables, "egadp_mask", table, given))


@pytest.mark.parametrize(
    ("mask", "spellings"),
    [
        (
            "noise_mask",
            ["level=0.1", "level={'x1': 0.1, 'x2': 0.1}", "level=MAP {'X2': 0.1, 'x1': 0.10}", "level=1/10"],
        ),
        ("noise_mask", ["level={'x1': 0.1, 'x2': 1}", "level={'X2': 1.0, 'X1': 0.1}"]),
        ("kim_mask", ["level=0.1", "level=0.1, corrected=false"]),
        ("sufficiency_mask", ["nonconf=['s1'], alpha=0.5", "nonconf=['s1'], alpha={'x2': 0.5, 'X1': 0.5}"]),
        ("onn_mask", ["hidden=2", "b=0.8, hidden=2, c=4.0, standardise=false"]),
        ("egadp_mask", ["nonconf=['s1'], strata=['g', 'c']", "nonconf=['s1'], strata=['C', 'G']"]),
        (
            "noise_mask",
            ["level=0.1, strata=['g', 'c']", "level=0.1, strata=['C', 'G']", "level=0.1, strata=['g', 'c']"],
        ),
        ("rank_swap_mask", ["reach=14", "reach=14.0", "reach=14"]),
        ("shuffle_mask", ["nonconf=['s1', 's2']", "nonconf=['S2', 's1']", "nonconf=['s1', 's2'], on_null='drop'"]),
    ],
)
def test_parameters_that_mean_the_same(tables: duckdb.DuckDBPyConnection, mask: str, spellings: list[str]) -> None:
    first = masked(tables, mask, "t", f"conf=['x1', 'x2'], key=['a', 'b'], {spellings[0]}")
    for i, given in enumerate(spellings):
        table = list(TABLES)[(i + 1) % len(TABLES)]
        assert_same(first, masked(tables, mask, table, f"conf=['x2', 'x1'], key=['B', 'a'], {given}"))


def test_an_average_over_spellings_has_no_less_noise(tables: duckdb.DuckDBPyConnection) -> None:
    original = matrix(tables, "SELECT x1, x2 FROM t ORDER BY id")
    spellings = ["conf=['x1', 'x2'], level=1, key='id'", "conf=['X2', 'x1'], level={'x1': 1, 'x2': 1}, key='ID'"]
    found = [masked(tables, "noise_mask", table, given) for table, given in zip(TABLES, spellings * 2, strict=True)]
    one, mean = (np.std(each - original, axis=0) for each in (found[0], np.mean(found, axis=0)))
    assert mean == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("other", ["conf=['x1', 'x2'], level=0.11, key='id'", "conf=['x1', 'x2'], level=0.1, key='a'"])
def test_what_differs_has_noise_of_its_own(tables: duckdb.DuckDBPyConnection, other: str) -> None:
    tables.execute("UPDATE t SET a = 1000 + id")
    original = matrix(tables, "SELECT x1, x2 FROM t ORDER BY id")
    one = masked(tables, "noise_mask", "t", "conf=['x1', 'x2'], level=0.1, key='id'") - original
    two = masked(tables, "noise_mask", "t", other) - original
    assert abs(np.corrcoef(one[:, 0], two[:, 0])[0, 1]) < 0.15
