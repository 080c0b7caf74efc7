"""Attacks that masking must survive, and what an attacker must never get to see."""

from __future__ import annotations

import hashlib

import duckdb
import numpy as np
import pytest

import ppduck
from tests.conftest import SECRET
from tests.laws import cross_correlation, insert, matrix, random_table, residuals

pytestmark = pytest.mark.core


def released(con: duckdb.DuckDBPyConnection, call: str) -> np.ndarray:
    return matrix(con, f"SELECT x FROM {call} WHERE id < 2000 ORDER BY id")


def differencing(s: np.ndarray, x: np.ndarray, one: np.ndarray, two: np.ndarray) -> float:
    """Correlation of X's residual with what two releases of the same rows differ in.

    Were the noise V the same in both, it would drop out of their difference, and what remains is
    a multiple of X given S: the confidential values, but for a scale.
    """
    return cross_correlation(residuals(two, np.column_stack([s, one])), residuals(x, s))


@pytest.fixture
def table(con: duckdb.DuckDBPyConnection) -> tuple[np.ndarray, np.ndarray]:
    values = random_table(np.random.default_rng(11), 2000, 2, 1)
    insert(con, "t", ["s1", "s2", "x"], values)
    return values[:, :2], values[:, 2:]


def test_the_attack_works_against_noise_that_releases_share(table: tuple[np.ndarray, np.ndarray]) -> None:
    """The control: EGADP done by numpy on two versions of the data, with one and the same V."""
    s, x = table
    v = np.random.default_rng(0).normal(size=x.shape)

    def egadp(rows: slice) -> np.ndarray:
        r = residuals(x[rows], s[rows])
        b = residuals(v[rows], np.column_stack([s, x])[rows])
        return x[rows] - r + b * r.std() / b.std()

    whole, part = egadp(slice(None))[:1900], egadp(slice(0, 1900))
    assert differencing(s[:1900], x[:1900], whole, part) > 0.999


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("egadp_mask('t', conf=['x'], key='id')", "ipso_mask('t', conf=['x'], key='id')"),
        ("egadp_mask('t', conf=['x'], key='id')", "egadp_mask('t', conf=['x'], nonconf=['s1'], key='id')"),
        ("noise_mask('t', conf=['x'], level=0.1, key='id')", "noise_mask('t', conf=['x'], level=0.2, key='id')"),
        (
            "sufficiency_mask('t', conf=['x'], alpha=0.5, key='id')",
            "sufficiency_mask('t', conf=['x'], alpha=0.6, key='id')",
        ),
    ],
)
def test_releases_that_differ_in_mask_or_parameters_share_no_noise(
    con: duckdb.DuckDBPyConnection, table: tuple[np.ndarray, np.ndarray], one: str, two: str
) -> None:
    s, x = table
    noise = [residuals(released(con, call), np.column_stack([s, x])) for call in (one, two)]
    assert cross_correlation(noise[0], noise[1]) < 0.1
    if "egadp" in one:
        assert differencing(s, x, released(con, one), released(con, two)) < 0.1


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO t VALUES (2000, 1, 2, 3)",
        "UPDATE t SET x = x + 1 WHERE id = 7",
        "UPDATE t SET s1 = s1 + 1 WHERE id = 7",
        "DELETE FROM t WHERE id = 1999",
    ],
)
def test_noise_of_a_view_over_changing_data_does_not_cancel(
    con: duckdb.DuckDBPyConnection, table: tuple[np.ndarray, np.ndarray], change: str
) -> None:
    s, x = table
    con.execute("CREATE VIEW v AS FROM egadp_mask('t', conf=['x'], nonconf=['s1', 's2'], key='id')")
    yesterday = released(con, "v")
    assert np.abs(released(con, "v") - yesterday).max() < 1e-9, "reading twice must not tell more than once"
    con.execute(change)
    common = slice(0, 1999)
    assert differencing(s[common], x[common], yesterday[common], released(con, "v")[common]) < 0.1


@pytest.mark.parametrize(
    "mask", ["noise_mask('h', conf=['x'], level=1, key='hh')", "egadp_mask('h', conf=['x'], nonconf=['s'], key='hh')"]
)
def test_rows_that_share_a_key_do_not_share_noise(con: duckdb.DuckDBPyConnection, mask: str) -> None:
    """Couples under one household number: with common noise their difference would be the true one."""
    values = random_table(np.random.default_rng(3), 2000, 1, 1)
    insert(con, "people", ["s", "x"], values)
    con.execute("CREATE TABLE h AS SELECT *, if(id < 1600, id // 2, id) AS hh FROM people")
    noise = residuals(matrix(con, f"SELECT x FROM {mask} ORDER BY id"), values)[:1600, 0].reshape(-1, 2)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.15


def test_what_exactness_gives_away_over_time(
    con: duckdb.DuckDBPyConnection, table: tuple[np.ndarray, np.ndarray]
) -> None:
    """The page on secrets warns of it: sums are exact, so a sum before and after an insertion tells the new row's value."""
    con.execute("CREATE VIEW v AS FROM egadp_mask('t', conf=['x'], nonconf=['s1', 's2'], key='id')")
    [(before,)] = con.execute("SELECT sum(x) FROM v").fetchall()
    con.execute("INSERT INTO t VALUES (2000, 1, 2, 7.25)")
    [(after,)] = con.execute("SELECT sum(x) FROM v").fetchall()
    assert after - before == pytest.approx(7.25)
    notes = con.execute(
        "SELECT note FROM mask_explain('egadp_mask', 't', conf=['x']) WHERE role = 'not guaranteed'"
    ).fetchall()
    assert any("view over changing data" in note for (note,) in notes)


def test_every_column_of_a_key_counts(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i // 10 AS a, i % 10 AS b, i % 7 AS x FROM range(1000) r(i)")
    found = matrix(con, "SELECT x FROM noise_mask('t', conf=['x'], level=1, key=['a', 'b'])")
    assert len(np.unique(found)) == 1000, (
        "rows that differ only in the second column of the key have noise of their own"
    )


def test_columns_beyond_one_call_of_the_cipher_have_noise_of_their_own(con: duckdb.DuckDBPyConnection) -> None:
    names = [f"x{i}" for i in range(21)]
    values = np.random.default_rng(5).normal(size=(4000, 21))
    insert(con, "t", names, values)
    noise = (
        matrix(con, f"SELECT {', '.join(names)} FROM noise_mask('t', conf={names}, level=1, key='id') ORDER BY id")
        - values
    )
    assert np.abs(np.corrcoef(noise.T) - np.eye(21)).max() < 0.08


def test_a_column_that_changes_with_every_read_does_not_renew_the_noise(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT sin(i) AS s, cos(i * 2) AS x FROM range(500) r(i)")
    con.execute("CREATE VIEW v AS SELECT *, random()::VARCHAR AS remark FROM t")
    call = "SELECT x FROM noise_mask('v', conf=['x'], level=1) ORDER BY s"
    assert np.abs(matrix(con, call) - matrix(con, call)).max() < 1e-9


def test_columns_added_beside_do_not_disturb_the_noise(
    con: duckdb.DuckDBPyConnection, table: tuple[np.ndarray, np.ndarray]
) -> None:
    call = "noise_mask('t', conf=['x'], level=0.1, key='id')"
    before = released(con, call)
    con.execute("ALTER TABLE t ADD COLUMN remark VARCHAR")
    assert np.abs(released(con, call) - before).max() < 1e-9


def test_different_secrets_give_independent_noise() -> None:
    values = random_table(np.random.default_rng(12), 5000, 1, 1)
    noise = []
    for secret in (SECRET, SECRET, SECRET + " 2", None, None):
        with ppduck.connect(secret=secret) as con:
            insert(con, "t", ["s", "x"], values)
            call = "SELECT x FROM noise_mask('t', conf=['x'], level=0.1, key='id') ORDER BY id"
            noise.append(matrix(con, call) - values[:, 1:])
    assert np.abs(noise[0] - noise[1]).max() < 1e-9
    for i, j in ((0, 2), (0, 3), (2, 3), (3, 4)):
        assert cross_correlation(noise[i], noise[j]) < 0.06


def test_seeds_repeat_across_databases_and_secrets() -> None:
    found = []
    for secret in (SECRET, None):
        for seed in (42, 43):
            with ppduck.connect(secret=secret) as con:
                con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(100) r(i)")
                found.append(
                    con.execute(f"SELECT x FROM egadp_mask('t', conf=['x'], seed={seed}, key='id')").fetchall()
                )
    assert np.allclose(found[0], found[2])
    assert not np.allclose(found[0], found[1])


def test_the_secret_shows_nowhere(customers: duckdb.DuckDBPyConnection) -> None:
    call = "egadp_mask('customers', conf=['x1', 'x2'], key='id')"
    customers.execute(f"CREATE VIEW v AS FROM {call}")
    seen = [
        str(customers.execute(f"EXPLAIN FROM {call}").fetchall()),
        str(customers.execute(f"EXPLAIN ANALYZE FROM {call}").fetchall()),
        str(customers.execute("SELECT sql FROM duckdb_views() WHERE view_name = 'v'").fetchall()),
        str(customers.execute("SELECT * FROM duckdb_functions() WHERE function_name LIKE '%mask%'").fetchall()),
        str(customers.execute("FROM mask_explain('egadp_mask', 'customers', conf=['x1'])").fetchall()),
        str(customers.execute("FROM ppduck_functions()").fetchall()),
    ]
    planned = customers.execute(
        "SELECT macro_definition FROM duckdb_functions() WHERE function_name = 'egadp_mask'"
    ).fetchall()
    seen.append(str(planned))
    with pytest.raises(duckdb.InvalidInputException, match="does not exist") as refused:
        customers.execute("FROM egadp_mask('customers', conf=['y'])")
    seen.append(str(refused.value))
    key = hashlib.sha256(b"ppduck noise 1\0" + SECRET.encode()).digest()[:16]
    for text in seen:
        assert SECRET not in text
        assert key.hex() not in text.lower()
        assert repr(key)[2:-1] not in text


def test_the_planner_does_not_print_its_secret() -> None:
    from ppduck.extension.planner import Planner

    assert SECRET not in repr(Planner(SECRET.encode()))
    assert SECRET not in str({name: repr(value) for name, value in vars(Planner(SECRET.encode())).items()})


@pytest.mark.parametrize(
    "call", ["shuffle_mask('t'", "cgadp_mask('t'", *(f"nm_egadp_mask('t', variant={v}" for v in (1, 2, 3, 4))]
)
@pytest.mark.parametrize("rows", [500, 60_000])
def test_rows_come_back_in_their_own_order_and_not_in_that_of_a_sort(
    con: duckdb.DuckDBPyConnection, call: str, rows: int
) -> None:
    """Values are ranked on the way: rows left in the order of a confidential column would tell its ranks."""
    con.execute(
        f"CREATE TABLE t AS SELECT i AS id, sin(i * 7) AS s, cos(i * 3) + s / 3 AS x, sin(i * 11) AS y FROM range({rows}) r(i)"
    )
    con.execute(f"CREATE TABLE release AS FROM {call}, conf=['x', 'y'], nonconf=['s'])")
    assert (con.execute("SELECT id FROM release").fetchnumpy()["id"] == np.arange(rows)).all()
