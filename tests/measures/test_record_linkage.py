"""record_linkage(): brute force agrees, ties are shared, chance is told, and rows are matched by key only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest

from tests.laws import insert, matrix, random_table

pytestmark = pytest.mark.core
Ask = Callable[[str], list[dict[str, Any]]]


def brute_force(x: np.ndarray, y: np.ndarray) -> float:
    """Standardised Euclidean distances of all pairs; ties share."""
    x, y = x / x.std(axis=0), y / x.std(axis=0)
    credit = 0.0
    for i, row in enumerate(y):
        d = ((x - row) ** 2).sum(axis=1)
        nearest = d <= d.min() * (1 + 1e-9) + 1e-18
        credit += nearest[i] / nearest.sum()
    return credit


@pytest.fixture
def table(con: duckdb.DuckDBPyConnection) -> np.ndarray:
    data = random_table(np.random.default_rng(1), 2000, 0, 3)
    insert(con, "t", ["x1", "x2", "x3"], data)
    con.execute(
        "CREATE TABLE r AS FROM noise_mask('t', conf=['x1','x2','x3'], level=0.05, key='id', seed=1) ORDER BY hash(id)"
    )
    return data


def test_it_agrees_with_brute_force(con: duckdb.DuckDBPyConnection, ask: Ask, table: np.ndarray) -> None:
    y = matrix(con, "SELECT x1, x2, x3 FROM r ORDER BY id")
    [row] = ask("FROM record_linkage('t', 'r', conf=['x1','x2','x3'], key='id', method='distance')")
    assert row["method"] == "distance"
    assert row["linked"] == pytest.approx(brute_force(table, y), abs=1e-6)
    assert row["linked_share"] == pytest.approx(row["linked"] / 2000)
    assert row["chance_share"] == 1 / 2000
    assert (row["rows"], row["among"]) == (2000, 2000)
    assert 0.05 < row["linked_share"] < 0.95
    [alone] = ask("FROM record_linkage('t', 'r', conf=['x2'], key='id')")
    assert alone["linked"] == pytest.approx(brute_force(table[:, [1]], y[:, [1]]), abs=1e-6)


def test_mahalanobis_is_distance_in_turned_columns(con: duckdb.DuckDBPyConnection, ask: Ask, table: np.ndarray) -> None:
    y = matrix(con, "SELECT x1, x2, x3 FROM r ORDER BY id")
    turn = np.linalg.inv(np.linalg.cholesky(np.cov(table.T) + np.cov(y.T))).T
    credit = 0.0
    for i, row in enumerate(y @ turn):
        credit += ((table @ turn - row) ** 2).sum(axis=1).argmin() == i
    [row] = ask("FROM record_linkage('t', 'r', key='id', method='mahalanobis')")
    assert row["linked"] == credit


@pytest.mark.parametrize("method", ["distance", "mahalanobis"])
def test_a_copy_is_linked_and_a_stranger_is_not(
    con: duckdb.DuckDBPyConnection, ask: Ask, table: np.ndarray, method: str
) -> None:
    [row] = ask(f"FROM record_linkage('t', 't', key='id', method='{method}')")
    assert row["linked_share"] == 1
    con.execute("CREATE TABLE stranger AS SELECT (id * 331 + 7) % 2000 AS id, x1, x2, x3 FROM t")
    [row] = ask(f"FROM record_linkage('t', 'stranger', key='id', method='{method}')")
    assert row["linked"] <= 8  # a Poisson number of mean 1


def test_rows_that_look_alike_share(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, i % 10 AS x1 FROM range(1000) r(i)")
    [row] = ask("FROM record_linkage('t', 't', key='id')")
    assert row["linked"] == pytest.approx(10)
    con.execute("CREATE TABLE same AS SELECT i AS id, 5 AS x1 FROM range(50) r(i)")
    [row] = ask("FROM record_linkage('same', 'same', key='id')")
    assert row["linked_share"] == pytest.approx(1 / 50)
    assert row["linked_share"] == pytest.approx(row["chance_share"])


def test_categories_count_by_agreement(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """Three categories give 4·3·2 kinds of rows; a release that changes none of them leaves one in that many linked."""
    con.execute(
        """
        CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
        CREATE TABLE t AS SELECT i AS id, ['a', 'b', 'c', 'd'][1 + i % 4] AS c1,
            ['red', 'green', 'blue'][1 + i // 4 % 3]::colour AS c2, i // 12 % 2 = 0 AS c3 FROM range(240) r(i)
        """
    )
    [row] = ask("FROM record_linkage('t', 't', key='id')")
    assert row["linked"] == pytest.approx(24)
    rows = ask("FROM record_linkage('t', 't', key='id', detail='columns')")
    assert {row["without"]: row["linked"] for row in rows} == pytest.approx({None: 24, "c1": 6, "c2": 8, "c3": 12})
    con.execute("CREATE TABLE r AS SELECT * REPLACE ('a' AS c1) FROM t")
    rows = ask("FROM record_linkage('t', 'r', conf=['c1','c2'], key='id', detail='columns')")
    # Only 60 rows agree in c1; the others are nearer to those who are 'a'.
    assert {row["without"]: row["linked"] for row in rows} == pytest.approx({None: 3, "c1": 3, "c2": 1})
    con.execute("DROP TABLE t; DROP TYPE colour")


def test_numbers_and_categories_together(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """A disagreement counts as one standard deviation does."""
    con.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 0.0, 'a'), (2, 10.0, 'a'), (3, 5.0, 'b')) AS r(id, x, c)")
    con.execute(
        "CREATE TABLE near AS SELECT * FROM (VALUES (1, 3.0, 'a'), (2, 10.0, 'a'), (3, 5.0, 'b')) AS r(id, x, c)"
    )
    rows = ask("FROM record_linkage('t', 'near', conf=['x','c'], key='id', detail='records')")
    assert rows == [{"id": 1, "linked": 1.0}, {"id": 2, "linked": 1.0}, {"id": 3, "linked": 1.0}]
    rows = ask("FROM record_linkage('t', 'near', conf=['x'], key='id', detail='records')")
    assert [row["linked"] for row in rows] == [0.0, 1.0, 1.0]


def test_records_tell_keys_only_and_sum_to_the_count(
    con: duckdb.DuckDBPyConnection, ask: Ask, table: np.ndarray
) -> None:
    con.execute("CREATE TABLE t2 AS SELECT id // 100 AS a, 'k' || id % 100 AS b, x1, x2 FROM t")
    con.execute("CREATE TABLE r2 AS SELECT id // 100 AS a, 'k' || id % 100 AS b, x1, x2 FROM r")
    [row] = ask("FROM record_linkage('t2', 'r2', conf=['x1','x2'], key=['a','b'])")
    records = ask("FROM record_linkage('t2', 'r2', conf=['x1','x2'], key=['a','b'], detail='records')")
    assert list(records[0]) == ["a", "b", "linked"]
    assert len({(each["a"], each["b"]) for each in records}) == 2000
    assert sum(each["linked"] for each in records) == pytest.approx(row["linked"])
    y = matrix(con, "SELECT x1, x2 FROM r ORDER BY id")
    x = table[:, :2]
    first = next(each for each in records if each["linked"] == 1)
    i = first["a"] * 100 + int(first["b"][1:])
    assert (((x - y[i]) / x.std(axis=0)) ** 2).sum(axis=1).argmin() == i


def test_a_sample_seeks_some_records_among_all(con: duckdb.DuckDBPyConnection, ask: Ask, table: np.ndarray) -> None:
    [row] = ask("FROM record_linkage('t', 'r', key='id', sample=500)")
    assert (row["rows"], row["among"]) == (500, 2000)
    records = ask("FROM record_linkage('t', 'r', key='id', sample=500, detail='records')")
    assert sum(each["linked"] for each in records) == pytest.approx(row["linked"])
    whole = {each["id"]: each["linked"] for each in ask("FROM record_linkage('t', 'r', key='id', detail='records')")}
    assert all(whole[each["id"]] == each["linked"] for each in records)
    con.execute("CREATE TABLE r_sorted AS FROM r ORDER BY x1")
    assert ask("FROM record_linkage('t', 'r_sorted', key='id', sample=500)") == [row]


def test_order_and_threads_do_not_matter(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    rng = np.random.default_rng(4)
    insert(con, "t", ["x1", "x2"], rng.normal(size=(150_000, 2)))
    con.execute("CREATE TABLE r AS FROM noise_mask('t', conf=['x1','x2'], level=0.00001, key='id', seed=1)")
    con.execute("CREATE TABLE r_shuffled AS FROM r ORDER BY hash(id)")
    found = []
    for threads in (1, 2):
        con.execute(f"SET threads = {threads}")
        found += [ask(f"FROM record_linkage('t', '{other}', key='id')")[0]["linked"] for other in ("r", "r_shuffled")]
    assert len(set(found)) == 1
    assert 0.3 < found[0] / 150_000 < 0.999


def test_incomplete_pairs_are_left_out(con: duckdb.DuckDBPyConnection, ask: Ask, table: np.ndarray) -> None:
    con.execute("UPDATE t SET x1 = NULL WHERE id < 100; UPDATE r SET x2 = NULL WHERE id >= 1900")
    [row] = ask("FROM record_linkage('t', 'r', key='id')")
    assert (row["rows"], row["among"]) == (1800, 1800)


def test_probabilistic_linkage_finds_what_distance_finds(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    pytest.importorskip("splink")
    insert(con, "t", ["x1", "x2", "x3"], random_table(np.random.default_rng(1), 300, 0, 3))
    con.execute("CREATE TABLE r AS FROM noise_mask('t', conf=['x1','x2','x3'], level=0.01, key='id', seed=1)")
    [likely] = ask("FROM record_linkage('t', 'r', key='id', method='probabilistic')")
    assert likely["method"] == "probabilistic"
    assert likely["linked_share"] > 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'t', 'r', conf=['x1','c'], key='id'", r'conf names column "c", which does not exist'),
        ("'t', 'few', conf=['x1'], key='id'", r'1990 of the 2000 rows of "t" have no partner in "few"'),
        ("'t', 'text', conf=['x1'], key='id'", r'column "x1" is of type DOUBLE in "t" and of type VARCHAR in "text"; they cannot be compared'),
        ("'t', 'nan', conf=['x1'], key='id'", r'column "x1" holds NaN or infinity'),
        ("'t', 'r', conf=['x1'], key='id', method='guess'", r"method takes one of 'distance', 'mahalanobis', 'probabilistic', got 'guess'"),
        ("'t', 'r', conf=['x1'], key='id', method='mahalanobis', standardise='own'", r"standardise is for method := 'distance'"),
        ("'t', 'r', conf=['x1'], key='id', sample=0", r"sample must be at least 1"),
        ("'t', 'r', conf=['x1'], key='id', detail='all'", r"detail takes one of 'columns', 'records'"),
        ("'t', 'r', conf=['id'], key='id'", r'column "id" is in both key and conf'),
        ("'bare', 'bare', key='id'", r"there is no column to compare that both tables have, beside the key"),
        ("'names', 'names', key='id'", r'column "name" is in both tables and has more than 100 values.* it may tell by itself who somebody is'),
        ("'names', 'names', conf=['name'], key='id'", r'column "name" has 2000 different values, more than the 100'),
    ],
)  # fmt: skip
def test_bad_input_is_told(con: duckdb.DuckDBPyConnection, table: np.ndarray, call: str, message: str) -> None:
    con.execute(
        """
        CREATE TABLE few AS FROM r WHERE id < 10;
        CREATE TABLE text AS SELECT id, x1::VARCHAR AS x1 FROM r;
        CREATE TABLE nan AS SELECT id, CASE WHEN id = 3 THEN 'inf'::DOUBLE ELSE x1 END AS x1 FROM r;
        CREATE TABLE bare AS SELECT id FROM t;
        CREATE TABLE names AS SELECT id, 'name ' || id AS name FROM t;
        """
    )
    with pytest.raises(duckdb.InvalidInputException, match=message):
        con.execute(f"FROM record_linkage({call})").fetchall()


def test_what_was_moved_as_a_whole_is_found_by_tables_standardised_by_themselves(
    con: duckdb.DuckDBPyConnection, ask: Ask, table: np.ndarray
) -> None:
    """Another unit and another origin hide nobody."""
    con.execute("CREATE TABLE moved AS SELECT id, 3 * x1 - 50 AS x1, x2 / 7 + 1 AS x2 FROM t")
    call = "FROM record_linkage('t', 'moved', conf=['x1','x2'], key='id'{})"
    assert ask(call.format(""))[0]["linked_share"] < 0.01
    assert ask(call.format(", standardise='original'")) == ask(call.format(""))
    assert ask(call.format(", standardise='own'"))[0]["linked_share"] == pytest.approx(1)


def test_keys_are_the_same_number_whatever_their_type(
    con: duckdb.DuckDBPyConnection, ask: Ask, table: np.ndarray
) -> None:
    [row] = ask("FROM record_linkage('t', 'r', conf=['x1'], key='id')")
    for type_ in ("DOUBLE", "DECIMAL(9, 2)", "VARCHAR", "UTINYINT"):
        other = f"(SELECT id::{type_} AS id, x1 FROM r WHERE id < 200)"
        [found] = ask(f"FROM record_linkage('(FROM t WHERE id < 200)', '{other}', conf=['x1'], key='id')")
        assert found["rows"] == 200
    assert row["rows"] == 2000


def test_a_key_that_is_spelt_in_two_ways_is_said_to_be(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t (k VARCHAR COLLATE NOCASE, x DOUBLE); CREATE TABLE r (k VARCHAR COLLATE NOCASE, x DOUBLE)"
    )
    con.execute("INSERT INTO t SELECT 'k' || i, i FROM range(9) s(i); INSERT INTO r SELECT upper(k), x FROM t")
    with pytest.raises(duckdb.InvalidInputException, match="keys that count as equal are spelt in different ways"):
        con.execute("FROM record_linkage('t', 'r', conf=['x'], key='k')").fetchall()


def test_what_would_take_hours_is_refused(
    con: duckdb.DuckDBPyConnection, ask: Ask, table: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppduck.measures.record_linkage.MOST_WORK", 1e6)
    con.execute(
        "CREATE TABLE wide AS SELECT *, " + ", ".join(f"sin(id * {j}) AS w{j}" for j in range(1, 9)) + " FROM t"
    )
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r"2000 records in 11 dimensions, .* among 2000; seek some of them with sample := 10000",
    ):
        con.execute("FROM record_linkage('wide', 'wide', key='id')").fetchall()
    assert ask("FROM record_linkage('wide', 'wide', key='id', sample=10)")[0]["linked_share"] == 1


def test_many_rows_are_too_many_for_the_probabilistic_method(
    con: duckdb.DuckDBPyConnection, table: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppduck.measures.fellegi_sunter.MAX_ROWS", 1999)
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r'record_linkage on "t": the probabilistic method takes at most 1,999 rows, and there are 2,000',
    ):
        con.execute("FROM record_linkage('t', 'r', key='id', method='probabilistic')").fetchall()
