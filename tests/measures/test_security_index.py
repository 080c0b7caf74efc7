"""security_index(): what is known of a release before it is made."""

from __future__ import annotations

import warnings

import duckdb
import numpy as np
import pytest

from ppduck.errors import PpduckWarning
from tests.laws import insert, matrix
from tests.masks.store import make

pytestmark = pytest.mark.core

CALL = "FROM security_index('store', conf=['x1', 'x2'], nonconf=['s1', 's2']{})"
PRINTED = {"ME.L": (0.067, 0.063), "MV1": (0.434, 0.322), "MV2": (0.752, 0.663)}


def rows(con: duckdb.DuckDBPyConnection, more: str = "") -> list[dict[str, object]]:
    found = con.execute(CALL.format(more))
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("name", PRINTED)
def test_the_printed_indices_come_out_within_sampling_error(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Var(r) has a relative standard error of √(2/n), the variance of a uniform one of √(0.8/n): of SI·(1 - SI) 5.3 %."""
    for printed, column in zip(PRINTED[name], (0, 1), strict=True):
        found = []
        for seed in range(3):
            make(con, name, seed)
            row = rows(con)[column]
            found.append(row["security_index"])
            assert row["corr_masked"] == row["b1"] == pytest.approx(1 - row["security_index"])
        error = printed * (1 - printed) * np.sqrt(2.8 / 1000)
        # The printed figure is of one sample, ours the mean of three.
        assert abs(np.mean(found) - printed) < 3 * error * np.sqrt(1 + 1 / 3) + 0.0005


@pytest.mark.parametrize("name", PRINTED)
def test_what_it_predicts_is_what_the_mask_does(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Corr(X, Y), b0 and b1 of X = b0 + b1·Y (6.8-6.17), exactly and not only about."""
    original = make(con, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PpduckWarning)
        masked = matrix(
            con, "SELECT x1, x2 FROM nm_egadp_mask('store', conf=['x1', 'x2'], nonconf=['s1', 's2']) ORDER BY id"
        )
    for j, row in enumerate(rows(con)):
        x, y = original[:, 2 + j], masked[:, j]
        assert np.corrcoef(x, y)[0, 1] == pytest.approx(row["corr_masked"], abs=1e-9)
        slope, intercept = np.polyfit(y, x, 1)
        assert slope == pytest.approx(row["b1"], abs=1e-9)
        assert intercept == pytest.approx(row["b0"], rel=1e-7)


def test_extra_noise_is_foreseen_too(con: duckdb.DuckDBPyConnection) -> None:
    original = make(con, "MV1")
    masked = matrix(
        con,
        "SELECT x1, x2 FROM nm_egadp_mask('store', conf=['x1', 'x2'], nonconf=['s1', 's2'], extra_noise={'x1': 0.5, 'x2': 2}) ORDER BY id",
    )
    for j, (row, share) in enumerate(zip(rows(con, ", extra_noise={'x1': 0.5, 'x2': 2}"), (0.5, 2), strict=True)):
        x, y = original[:, 2 + j], masked[:, j]
        assert y.var() / x.var() == pytest.approx(1 + share, abs=1e-9)
        assert np.corrcoef(x, y)[0, 1] == pytest.approx(row["corr_masked"], abs=1e-9)
        assert np.polyfit(y, x, 1)[0] == pytest.approx(row["b1"], abs=1e-9)


def test_the_verdict_follows_the_index_and_names_remedies(con: duckdb.DuckDBPyConnection) -> None:
    make(con, "ME.L")
    [first, _] = rows(con)
    assert first["verdict"] == "not advised"
    assert str(first["advice"]).endswith('remedies: extra_noise, or nonconf without "s1" (index about 1.00)')
    assert [row["verdict"] for row in rows(con, ", extra_noise=2")] == ["with care", "with care"]
    make(con, "MV1")
    assert [row["verdict"] for row in rows(con)] == ["fair", "not advised"]
    con.execute(
        "CREATE OR REPLACE TABLE store AS SELECT id, s1, s2, sin(id * 9.1) AS x1, cos(id * 77) AS x2 FROM store"
    )
    assert [row["verdict"] for row in rows(con)] == ["good", "good"]
    con.execute("UPDATE store SET x1 = 3 * s1 + 1, x2 = s1 * s2 + 8 * sin(id * 7)")
    assert [row["verdict"] for row in rows(con)] == ["impossible", "not advised"]


def test_no_single_column_helps_where_two_say_the_same(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""CREATE TABLE t AS SELECT sin(i) AS s1, sin(i) + cos(i * 7) / 50 AS s2, sin(i) + cos(i * 3) / 4 AS x
                   FROM range(800) r(i)""")
    [(advice,)] = con.execute("SELECT advice FROM security_index('t', conf=['x'])").fetchall()
    assert advice.endswith("or several columns fewer in nonconf: no single one makes the difference")


@pytest.mark.parametrize("rows", [40, 400])
def test_a_model_does_not_learn_single_rows(con: duckdb.DuckDBPyConnection, rows: int) -> None:
    """Columns of noise, and X with heavy tails: what is explained of rows that were seen is no more than of others."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        insert(con, "t", list("abcx"), np.exp(1.5 * rng.normal(size=(rows, 4))))
        [(r2, left_out)] = con.execute(
            "SELECT r2, r2_left_out FROM security_index('t', conf=['x'], nonconf=['a', 'b', 'c'])"
        ).fetchall()
        # A mean of n rows, left out of itself, already misses by 2/n.
        assert left_out <= r2 <= left_out + 0.05 + 2 / rows


def test_groups_have_indices_of_their_own(con: duckdb.DuckDBPyConnection) -> None:
    make(con, "MV1", rows=2000)
    con.execute("CREATE TABLE t AS SELECT *, if(id < 1000, 'tent', NULL) AS part FROM store")
    con.execute("UPDATE t SET x1 = 100 * sin(id * 5) WHERE part IS NULL")
    found = con.execute(
        "SELECT stratum, rows, security_index FROM security_index('t', conf=['x1'], nonconf=['s1'], strata=['part'])"
    ).fetchall()
    assert {name: count for name, count, _ in found} == {"part = tent": 1000, "part = NULL": 1000}
    index = {name: value for name, _, value in found}
    assert index["part = tent"] < 0.5 < 0.9 < index["part = NULL"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("security_index('store', conf=['x3'])", 'conf names column "x3", which does not exist. Did you mean "x1"'),
        ("security_index('store', conf=['x1'], nonconf=['x1'])", 'column "x1" is in both conf and nonconf'),
        (
            "security_index('store', conf=['x1'], extra_noise={'x2': 1})",
            'extra_noise names column "x2", which is not in conf',
        ),
        ("security_index('store', conf=['x1'], extra_noise=-1)", "extra_noise must be from 0 to 1,000"),
        (
            "security_index('(SELECT * FROM store LIMIT 29)', conf=['x1'])",
            "29 complete rows are too few to learn a relation from; at least 30",
        ),
        ("security_index('(SELECT * REPLACE (1 AS x1) FROM store)', conf=['x1'])", 'conf column "x1" is constant'),
    ],
)
def test_bad_input_is_named(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    make(con, "MV1")
    with pytest.raises(duckdb.Error, match=r"security_index") as caught:
        con.execute(f"FROM {call}")
    assert message in str(caught.value)


def test_a_key_is_no_nonconf_by_default(con: duckdb.DuckDBPyConnection) -> None:
    """An id that rows were numbered by in the order of x would tell all of it."""
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i * 12.9) AS s, i + 5 * cos(i * 7.7) AS x FROM range(500) r(i)")
    index = "SELECT security_index FROM security_index('t', conf=['x']{})"
    assert con.execute(index.format("")).fetchall()[0][0] < 0.05
    assert con.execute(index.format(", key='id'")).fetchall()[0][0] > 0.9
