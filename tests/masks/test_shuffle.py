"""Data shuffling: every column a permutation of itself, rank correlations as before, and no way back."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppduck.errors import PpduckWarning
from tests.laws import insert, matrix, r_squared
from tests.masks.rank_data import KINDS, Ranked, ranked, spearman
from tests.masks.store import make

pytestmark = pytest.mark.core


def assert_permuted(data: Ranked, released: np.ndarray) -> None:
    np.testing.assert_array_equal(np.sort(released, axis=0), np.sort(data.x, axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_every_column_is_a_permutation_and_rank_correlations_are_as_before(
    con: duckdb.DuckDBPyConnection, kind: str
) -> None:
    for n in (60, 1_000, 30_000):
        data = ranked(con, kind, n)
        released = data.released("shuffle_mask")
        assert_permuted(data, released)
        assert data.missed(released) < 3 / np.sqrt(n)
        if n == 1_000:
            assert data.missed(released) < 0.01, "sdcMicro misses them by 0.02 to 0.04"
        if kind != "ties":
            assert (released == data.x).mean() < 3 / np.sqrt(n)


@pytest.mark.filterwarnings("ignore:.*releasing is not advised:ppduck.errors.PpduckWarning")
@pytest.mark.parametrize("kind", ["normal", "lognormal", "skewed"])
def test_masked_ranks_tell_nothing_more_of_the_original_ones(con: duckdb.DuckDBPyConnection, kind: str) -> None:
    """Given S. Noise that was only independent would correlate by 1/√n and more in one of these."""
    for seed in range(4):
        data = ranked(con, kind, 1_000, seed)
        assert data.partial(data.released("shuffle_mask")) < 0.5 / np.sqrt(1_000)


@pytest.mark.filterwarnings("ignore::ppduck.errors.PpduckWarning")
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**31),
    p=st.integers(0, 3),
    q=st.integers(1, 3),
    spare=st.integers(0, 40),
    kinds=st.lists(st.sampled_from(["plain", "coarse", "rare", "steep"]), min_size=6, max_size=6),
)
def test_few_rows_many_ties_and_long_tails_are_permuted_too(
    con: duckdb.DuckDBPyConnection, seed: int, p: int, q: int, spare: int, kinds: list[str]
) -> None:
    rng = np.random.default_rng(seed)
    n = p + 2 * q + 2 + spare
    values = rng.normal(size=(n, p + q)) @ (rng.normal(size=(p + q, p + q)) + 2 * np.eye(p + q))
    for j, kind in enumerate(kinds[: p + q]):
        column = values[:, j]
        values[:, j] = {
            "plain": column,
            "coarse": np.round(column) + (column == column.max()),
            # Each column has its own rare rows, since one that follows another is refused, and so is a single row.
            "rare": (np.arange(n) == j) | (np.arange(n) == n - 1 - j),
            "steep": np.exp(5 * column),
        }[kind]
    names = [f"s{i}" for i in range(p)] + [f"x{i}" for i in range(q)]
    insert(con, "t", names, values)
    listed = ", ".join(names)
    call = f"shuffle_mask('t', conf={names[p:]}, nonconf={names[:p]}, key='id')"
    released = matrix(con, f"SELECT {listed} FROM {call} ORDER BY id")
    np.testing.assert_array_equal(released[:, :p], values[:, :p])
    np.testing.assert_array_equal(np.sort(released, axis=0), np.sort(values, axis=0))


def test_types_are_kept_and_values_to_their_last_digit(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        CREATE TABLE t AS SELECT i AS id, sin(i) AS s, (30 * sin(i * i * 0.3))::TINYINT AS tiny,
            (1000 + 50 * cos(i * i * 0.7))::UINTEGER AS int, (20 * cos(i * i * 1.7))::DECIMAL(8, 2) AS money,
            (sin(i * i * 1.1) + cos(i))::FLOAT AS real, 9007199254740993 + (hash(i) % 1000)::BIGINT AS long,
            (hash(i) % 1000)::HUGEINT * 10000000000000000000000000 + i AS huge
        FROM range(400) AS r(i)
        """
    )
    columns = ["tiny", "int", "money", "real", "long", "huge"]
    released = con.sql(f"FROM shuffle_mask('t', conf={columns}, nonconf=['s'], key='id')")
    assert list(map(str, released.types[2:])) == ["TINYINT", "UINTEGER", "DECIMAL(8,2)", "FLOAT", "BIGINT", "HUGEINT"]
    con.execute(f"CREATE TABLE u AS FROM shuffle_mask('t', conf={columns}, nonconf=['s'], key='id')")
    for name in columns:
        query = f"SELECT list({name} ORDER BY {name}), count(*) FROM {{}}"
        assert con.execute(query.format("u")).fetchone() == con.execute(query.format("t")).fetchone()
        moved = con.execute(f"SELECT count_if(t.{name} <> u.{name}) FROM t JOIN u USING (id)").fetchone()
        assert moved is not None
        assert moved[0] > 350


def test_null_stays_null_and_the_others_change_places(con: duckdb.DuckDBPyConnection) -> None:
    data = ranked(con, "skewed", 2_000)
    con.execute("UPDATE t SET x1 = NULL WHERE id % 5 = 0; UPDATE t SET x2 = NULL WHERE id % 7 = 0")
    query = "SELECT s1, s2, x1, x2 FROM {} WHERE x1 IS NOT NULL AND x2 IS NOT NULL ORDER BY id"
    call = "shuffle_mask('t', conf=['x1', 'x2'], nonconf=['s1', 's2'], key='id')"
    for name, every in (("x1", 5), ("x2", 7)):
        nulls = con.execute(f"SELECT list(id ORDER BY id) FROM {call} WHERE {name} IS NULL").fetchone()
        assert nulls == (list(range(0, 2_000, every)),)
        values = f"SELECT list({name} ORDER BY {name}) FROM {{}}"
        assert con.execute(values.format(call)).fetchone() == con.execute(values.format("t")).fetchone()
    before, after = (spearman(matrix(con, query.format(table))) for table in ("t", call))
    assert np.abs(before - after).max() < 3 / np.sqrt(len(data.x))


@pytest.mark.filterwarnings("ignore:.*releasing is not advised:ppduck.errors.PpduckWarning")
def test_every_group_is_shuffled_by_itself(con: duckdb.DuckDBPyConnection) -> None:
    """Relations that turn round from group to group come out in each, which one shuffle of all would mix."""
    rng = np.random.default_rng(3)
    group = np.arange(900) % 3
    s = rng.normal(size=900)
    x = np.array([1, -1, 0])[group] * s + 0.5 * rng.normal(size=900) + 100 * group
    insert(con, "t", ["part", "s", "x"], np.column_stack([group, s, x]))
    con.execute("CREATE OR REPLACE TABLE t AS SELECT * REPLACE (nullif(part, 2) AS part) FROM t")
    call = "shuffle_mask('t', conf=['x'], nonconf=['s'], strata=['part'], key='id')"
    released = matrix(con, f"SELECT x FROM {call} ORDER BY id")[:, 0]
    for each in range(3):
        here = group == each
        np.testing.assert_array_equal(np.sort(released[here]), np.sort(x[here]))
        before, after = (spearman(np.column_stack([s, y])[here])[0, 1] for y in (x, released))
        assert abs(before - after) < 0.01
        assert (released[here] == x[here]).mean() < 0.05


def test_views_selects_files_and_temporary_tables(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    data = ranked(con, "lognormal", 500)
    con.execute(f"CREATE VIEW v AS FROM t; COPY t TO '{tmp_path}/t.parquet'; CREATE TEMP TABLE scratch AS FROM t")
    expected = data.released("shuffle_mask")
    assert_permuted(data, expected)
    for source in ("v", "(SELECT * FROM t WHERE id >= 0)", f"{tmp_path}/t.parquet", "scratch"):
        call = f"shuffle_mask('{source}', conf=['x1', 'x2'], nonconf=['s1', 's2'], key='id')"
        released = matrix(con, f"SELECT s1, s2, x1, x2 FROM {call} ORDER BY id")
        np.testing.assert_array_equal(released, np.column_stack([data.s, expected]), err_msg=source)


def test_a_view_over_the_mask_shows_what_the_mask_does_also_of_new_rows(con: duckdb.DuckDBPyConnection) -> None:
    data = ranked(con, "normal", 300)
    con.execute(
        "CREATE VIEW released AS FROM shuffle_mask('t', conf := ['x1', 'x2'], nonconf := ['s1', 's2'], key := 'id')"
    )
    query = "SELECT x1, x2 FROM released ORDER BY id"
    np.testing.assert_array_equal(matrix(con, query), data.released("shuffle_mask"))
    con.execute("INSERT INTO t SELECT id + 1000, s2, s1, x1 + 9, x2 - 9 FROM t WHERE id < 50")
    for name in ("x1", "x2"):
        values = f"SELECT list({name} ORDER BY {name}), count(*) FROM {{}}"
        found = con.execute(values.format("released")).fetchone()
        assert found == con.execute(values.format("t")).fetchone()
        assert found is not None
        assert found[1] == 350


def test_the_same_key_gives_the_same_rows_and_the_order_of_names_does_not_show(con: duckdb.DuckDBPyConnection) -> None:
    data = ranked(con, "skewed", 500)
    first = data.released("shuffle_mask")
    np.testing.assert_array_equal(first, data.released("shuffle_mask"))
    call = "shuffle_mask('t', conf=['x2', 'X1'], nonconf=['s2', 's1'], key='id')"
    np.testing.assert_array_equal(first, matrix(con, f"SELECT x1, x2 FROM {call} ORDER BY id"))
    assert (first == data.released("shuffle_mask", ", seed=1")).mean() < 0.05


def test_a_tent_is_lost(con: duckdb.DuckDBPyConnection) -> None:
    """Ranks of the two do not correlate: for such relations there is nm_egadp_mask."""
    values = make(con, "ME.L")
    released = matrix(con, "SELECT x1, x2 FROM shuffle_mask('store', conf=['x1', 'x2'], key='id') ORDER BY id")
    tent = np.abs(values[:, :1] - 40)
    for j in (0, 1):
        assert r_squared(values[:, 2 + j], tent) > 0.9
        assert r_squared(released[:, j], tent) < 0.05


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ("UPDATE t SET x1 = exp(s1)", "", r'conf column "x1" follows the nonconf columns in every rank, so its masked'),
        ("UPDATE t SET x1 = -s1 * s1 * s1", "", r'conf column "x1" follows the nonconf columns in every rank'),
        ("UPDATE t SET x1 = exp(s1) WHERE region = 'west'", ", strata=['region'], nonconf=['s1']",
         r'conf column "x1" follows the nonconf columns in the group region = west in every rank'),
        ("UPDATE t SET x1 = 731.25", "", r'conf column "x1" is constant; there is nothing to mask in it'),
        ("UPDATE t SET x1 = 731.25 WHERE region = 'west'", ", strata=['region']",
         r'conf column "x1" is constant in the group region = west'),
        ("UPDATE t SET s1 = NULL WHERE id < 7", "", r'nonconf column "s1" has NULL in 7 of 1000 rows\. Leave the column'),
        ("UPDATE t SET s1 = 'nan' WHERE id = 3", "", r'column "s1" holds NaN or infinity; replace such values by NULL'),
        ("UPDATE t SET x1 = 'nan' WHERE id = 3", "", r'column "x1" holds NaN or infinity'),
        ("UPDATE t SET x2 = '-inf' WHERE id = 3", "", r'column "x2" holds NaN or infinity'),
        ("UPDATE t SET x1 = NULL", "", r"only 0 rows have every conf column present; at least 3 are needed"),
        ("DELETE FROM t WHERE id >= 12", "", r"12 rows are too few; at least 13 are needed \(p \+ 2q \+ 2 with p = 7 "),
        ("DELETE FROM t", "", r"only 0 rows have every conf column present"),
        ("UPDATE t SET x2 = x2 * 1e200", "", r'column "x2" peaks at a size beyond 1e±140; bring it to another scale'),
        ("SELECT 1", ", key='region'", r'key "region" does not identify the 1000 rows: most of them share it'),
    ],
)  # fmt: skip
def test_refused_by_the_data(customers: duckdb.DuckDBPyConnection, change: str, arguments: str, message: str) -> None:
    customers.execute("CREATE TABLE t AS FROM customers")
    customers.execute(change)
    for mask in ("shuffle_mask", "cgadp_mask"):
        with pytest.raises(duckdb.InvalidInputException, match=re.escape(f'{mask} on "t": ') + message) as caught:
            customers.execute(f"FROM {mask}('t', conf=['x1', 'x2']{arguments})")
        assert "731.25" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("conf=['name']", r'conf names column "name" of type VARCHAR; only numeric columns can be masked'),
        ("conf=['region']", r'conf names column "region" of type VARCHAR; only numeric columns can be masked'),
        ("conf=['x1'], round=true", r"shuffle_mask: there is no parameter 'round'\. Parameters: \"tbl\", \"conf\""),
        ("conf=['x1'], variant=2", r"shuffle_mask: there is no parameter 'variant'"),
    ],
)
def test_refused_while_planning(customers: duckdb.DuckDBPyConnection, arguments: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        customers.execute(f"FROM shuffle_mask('customers', {arguments})")


@pytest.mark.filterwarnings("ignore::ppduck.errors.PpduckWarning")
def test_as_few_rows_as_the_message_says_are_enough(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE TABLE t AS FROM customers WHERE id < 13")
    for mask in ("shuffle_mask", "cgadp_mask"):
        assert customers.execute(f"SELECT count(x1) FROM {mask}('t', conf=['x1', 'x2'])").fetchone() == (13,)


def test_values_that_would_stay_close_are_warned_of(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, sin(i) AS s1, cos(i * 3) AS s2, s1 + s2 + sin(i * 7) / 20 AS x FROM range(1000) r(i)"
    )
    for mask in ("shuffle_mask", "cgadp_mask"):
        with pytest.warns(
            PpduckWarning,
            match=rf'{mask} on "t": nonconf predicts conf column "x" \(correlation 0\.\d+\) so well that .* advised',
        ):
            con.execute(f"CREATE OR REPLACE TABLE m AS FROM {mask}('t', conf=['x'], nonconf=['s1', 's2'])")


def test_rank_correlations_that_cannot_be_had_are_warned_of(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""
        CREATE TABLE t AS SELECT i AS id, s, if(s < 1.2, 0, exp(s + e / 10)) AS x, if(s > -1.2, 0, exp(-s + e / 10)) AS y FROM (
            SELECT i, sqrt(-2 * ln((1 + hash(i) % 100000) / 100001)) * cos(6.28318 * (hash(i + 1000000) % 100000) / 100000) AS s,
                   sin(i * 7) AS e FROM range(10000) r(i))""")
    with pytest.warns(PpduckWarning) as caught:
        con.execute("CREATE TABLE m AS FROM shuffle_mask('t', conf=['x', 'y'], nonconf=['s'])")
    told = [str(warning.message) for warning in caught if "does not come out" in str(warning.message)]
    assert len(told) == 1
    assert "come out: equal values or the shape of the relation allow no better" in told[0]
    off = float(told[0].partition(" off)")[0].split("(")[-1])
    before, after = (spearman(matrix(con, f"SELECT s, x, y FROM {table} ORDER BY id")) for table in ("t", "m"))
    assert np.abs(before - after).max() == pytest.approx(off, abs=0.001)


def test_large_integers_have_an_order_of_their_own(con: duckdb.DuckDBPyConnection) -> None:
    """As DOUBLE many of them are equal; rows in another order must not change which row gets which."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, sin(i) AS s, 9007199254740993::HUGEINT + hash(i) % 5000 AS x FROM range(3000) r(i)"
    )
    query = "SELECT list(x ORDER BY id) FROM shuffle_mask('{}', conf=['x'], nonconf=['s'], key='id')"
    assert (
        con.execute(query.format("t")).fetchone()
        == con.execute(query.format("(SELECT * FROM t ORDER BY hash(id))")).fetchone()
    )
