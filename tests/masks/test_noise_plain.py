"""noise_plain adds noise as noise_mask does, without Python: its law, a reference in Python, refusals, DuckDB's shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

import ppduck
from tests.masks.test_egadp_plain import BAD, CUSTOMERS, SECRET, numbers, rows, shell
from tests.test_plain_sql import connection

pytestmark = pytest.mark.core

KEYED = f"secret := '{SECRET}', key := 'id'"
TALL = "CREATE TABLE tall AS SELECT i AS id, sin(i * 4.1) * 30 AS a, (i * 7 % 11)::DECIMAL(9, 1) AS b, i % 3 AS c FROM range(50000) r(i)"  # fmt: skip
CALL = f"noise_plain('tall', ['a', 'b'], [0.25, 4], {KEYED})"


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with connection() as con:
        con.execute(CUSTOMERS)
        con.execute(TALL)
        yield con


def noise(con: duckdb.DuckDBPyConnection, call: str, columns: list[str]) -> np.ndarray:
    """What was added, in units of the column's standard deviation."""
    original = numbers(con, "tall", columns)
    return (numbers(con, call, columns) - original) / original.std(axis=0, ddof=1)


def test_the_noise_is_normal_of_the_variance_that_was_asked_for(con: duckdb.DuckDBPyConnection) -> None:
    added = noise(con, CALL, ["a", "b"])
    for column, level in zip(added.T, (0.25, 4), strict=True):
        assert kstest(column / np.sqrt(level), "norm").pvalue > 1e-3
    original = numbers(con, "tall", ["a", "b"])
    between = np.corrcoef(np.column_stack([original, added, added[:, :1] ** 2, added[:, 1:] ** 2]).T)
    assert np.abs(between[2:] - np.eye(6)[2:])[:, [0, 1, 2, 3]][:2].max() < 0.02
    assert abs(between[4, 5]) < 0.02
    assert np.abs([np.corrcoef(column[1:], column[:-1])[0, 1] for column in added.T]).max() < 0.02


@settings(deadline=None, max_examples=30)
@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=12, max_size=40, unique_by=lambda x: round(x, 3)),
    level=st.sampled_from([1e-6, 0.1, 2.5, 1e6]),
    missing=st.integers(0, 11),
)
def test_any_numbers_get_noise_in_proportion_and_null_stays_null(
    con: duckdb.DuckDBPyConnection, values: list[float], level: float, missing: int
) -> None:
    given_values = [None if place == missing else value for place, value in enumerate(values)]
    con.execute("CREATE OR REPLACE TABLE some_values AS SELECT unnest($1) AS v, unnest(range($2)) AS id", [given_values, len(values)])  # fmt: skip
    present = np.array([value for value in given_values if value is not None])
    sd = present.std(ddof=1)
    call = f"SELECT v FROM noise_plain('some_values', 'v', $1, {KEYED}) ORDER BY id"
    if np.abs(present - present.mean()).max() ** 2 > 0.8 * sd**2 * (len(present) - 1):
        return
    found, again, louder = ([v for (v,) in con.execute(call, [each]).fetchall()] for each in (level, level, 2 * level))
    assert found == pytest.approx(again)
    assert [place for place, v in enumerate(found) if v is None] == [missing]
    scores = (np.array([v for v in found if v is not None]) - present) / (sd * np.sqrt(level))
    assert 0 < np.abs(scores).max() < 8.6
    assert np.abs(scores).mean() == pytest.approx(0.8, abs=0.75)
    others = (np.array([v for v in louder if v is not None]) - present) / (sd * np.sqrt(2 * level))
    assert np.abs(scores - others).max() > 1e-3  # no noise of its own at another level would be noise to remove


def test_the_same_call_gives_the_same_rows(con: duckdb.DuckDBPyConnection) -> None:
    first = numbers(con, CALL, ["a", "b"])
    for other in (
        f"noise_plain('tall', ['B', 'A'], [4, 0.250], {KEYED})",
        f"noise_plain('(FROM tall ORDER BY c, b DESC)', ['a', 'b'], [0.25, 4], '{SECRET}', ['ID'])",
    ):
        np.testing.assert_allclose(numbers(con, other, ["a", "b"]), first, rtol=0, atol=1e-9)
    alone = numbers(con, f"noise_plain('tall', 'a', 0.25, {KEYED})", ["a"])
    np.testing.assert_allclose(alone[:, 0], first[:, 0], rtol=0, atol=1e-9)  # nothing to average


@pytest.mark.parametrize("setting", ["default_order = 'DESC'", "default_collation = 'nocase'", "default_null_order = 'nulls_first'", "threads = 1"])  # fmt: skip
def test_no_setting_gives_other_noise(con: duckdb.DuckDBPyConnection, setting: str) -> None:
    con.execute("SET threads = 2")
    first = numbers(con, CALL, ["a", "b"])
    con.execute(f"SET {setting}")
    try:
        np.testing.assert_allclose(np.array(con.execute(f"SELECT a, b FROM {CALL} ORDER BY id ASC").fetchall(), dtype=float), first, rtol=0, atol=1e-9)  # fmt: skip
    finally:
        con.execute(f"RESET {setting.partition(' ')[0]}; RESET threads")


@pytest.mark.parametrize(
    "other",
    [
        "noise_plain('tall', 'a', 0.25, secret := 'another secret, as long', key := 'id')",
        f"noise_plain('(SELECT *, id + 1 AS other FROM tall)', 'a', 0.25, secret := '{SECRET}', key := 'other')",
        f"noise_plain('tall', 'a', 0.2500001, {KEYED})",
        f"noise_plain('(SELECT * REPLACE (if(id = 7, a + 0.1, a) AS a) FROM tall)', 'a', 0.25, {KEYED})",
        f"noise_plain('(FROM tall WHERE id < 49999 UNION ALL BY NAME SELECT 50000 AS id, 1 AS a)', 'a', 0.25, {KEYED})",
    ],
    ids=["secret", "key", "level", "one value", "one row"],
)
def test_another_release_has_noise_of_its_own(con: duckdb.DuckDBPyConnection, other: str) -> None:
    """From two releases that share noise it could be removed, and the values computed."""
    first, second = noise(con, f"noise_plain('tall', 'a', 0.25, {KEYED})", ["a"]), noise(con, other, ["a"])
    assert abs(np.corrcoef(first[:, 0], second[:, 0])[0, 1]) < 0.02


def test_columns_and_rows_come_out_as_they_were(con: duckdb.DuckDBPyConnection) -> None:
    call = f"noise_plain('customers', ['X1', 'x 2'], 0.1, {KEYED})"
    described = con.execute(f"DESCRIBE FROM {call}").fetchall()
    assert [row[0] for row in described] == ["id", "half", "s1", "s2", "name", "x1", "X 2"]
    assert [row[1] for row in described][-2:] == ["DOUBLE", "DOUBLE"]
    rest = "SELECT id, half, s1, s2, name FROM"
    assert (
        con.execute(f"{rest} {call} ORDER BY id").fetchall() == con.execute(f"{rest} customers ORDER BY id").fetchall()
    )


def test_every_way_to_name_the_rows(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    file = (tmp_path / "my customers.parquet").as_posix()
    con.execute(f"COPY customers TO '{file}'")
    con.execute(
        'CREATE OR REPLACE TABLE "odd \'name" AS SELECT id, x1 AS "x ""#~@p1", 1 AS _pp_x1, 2 AS n FROM customers'
    )
    first = numbers(con, f"noise_plain('customers', 'x1', 0.1, {KEYED})", ["x1"])
    for tbl in (file, "main.customers -- all", "(FROM customers)"):
        np.testing.assert_allclose(numbers(con, f"noise_plain('{tbl}', 'x1', 0.1, {KEYED})", ["x1"]), first)
    odd = con.execute(f"SELECT count(*) FROM noise_plain('\"odd ''name\"', ['x \"#~@p1'], 0.1, {KEYED})").fetchall()
    assert odd == con.execute(f"SELECT count(*) FROM noise_plain('customers', 'x1', 0.1, '{SECRET}', 'rowid')").fetchall() == [(1000,)]  # fmt: skip


def test_a_view_of_many_rows_is_read_in_part(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE OR REPLACE TABLE taller AS SELECT i AS id, sin(i) AS x FROM range(300000) r(i)")
    con.execute(f"CREATE OR REPLACE VIEW of_taller AS FROM noise_plain('taller', 'x', 0.1, {KEYED})")
    whole = dict(con.execute("SELECT id, x FROM of_taller").fetchall())
    for threads in (1, 2):
        con.execute(f"SET threads = {threads}")
        assert con.execute("SELECT EXISTS (FROM of_taller)").fetchall() == [(True,)]
        for id_, x in [*con.execute("SELECT id, x FROM of_taller LIMIT 7").fetchall(), con.execute("SELECT id, x FROM of_taller").fetchone()]:  # fmt: skip
            assert x == pytest.approx(whole[id_])
    con.execute("RESET threads")


def test_ppduck_loads_it_too(con: duckdb.DuckDBPyConnection) -> None:
    with ppduck.connect() as loaded:
        loaded.execute(TALL)
        np.testing.assert_allclose(numbers(loaded, CALL, ["a", "b"]), numbers(con, CALL, ["a", "b"]), rtol=0, atol=1e-9)


REFUSED = [
    ("'bad', 'x', 0.1, key := 'id'", r"secret is missing\. Give a text of 16 characters or more"),
    ("'bad', 'x', 0.1, 'much too short', 'id'", r"secret has only 14 characters"),
    ("'bad', 'x', 0.1, 12345678901234567, 'id'", r"secret is missing"),
    (f"'bad', 'x', 0.1, '{SECRET}'", r"key is missing\. Name the column"),
    (f"'', 'x', 0.1, {KEYED}", r"tbl is missing\. Give a table name"),
    (f"'bad', [], 0.1, {KEYED}", r"conf is empty\. Name the columns"),
    (f"'bad', ['x', 'X'], 0.1, {KEYED}", r"conf names a column twice"),
    (f"'bad', 'x', [0.1, 0.2], {KEYED}", r"level holds 2 numbers for 1 columns"),
    *(
        (f"'bad', 'x', {level}, {KEYED}", r"level must be a number from 0\.000001 to 1e12: with less")
        for level in ("0", "-1", "1e-7", "1e13", "NULL", "'nan'::DOUBLE", "'much'", "[NULL]")
    ),
    (f"'bad', 'words', 0.1, {KEYED}", r'column "words" is of type VARCHAR, and only numbers can be masked'),
    (f"'bad', 'yes', 0.1, {KEYED}", r'column "yes" is of type BOOLEAN, and only numbers'),
    (f"'bad', 'nan', 0.1, {KEYED}", r'column "nan" holds NaN or infinity'),
    (f"'bad', 'same', 0.1, {KEYED}", r'column "same" is constant'),
    (f"'bad', 'far', 0.1, {KEYED}", r'column "far" has more than 80 % of its variance from a single row'),
    (f"'(FROM bad LIMIT 2)', 'x', 0.1, {KEYED}", r'column "x" has a value in 2 rows, and at least 3 are needed'),
    (f"'(FROM bad LIMIT 0)', 'x', 0.1, {KEYED}", r'column "x" has a value in 0 rows'),
    (f"'(SELECT id, NULL::INT AS x FROM bad)', 'x', 0.1, {KEYED}", r'column "x" has a value in 0 rows'),
    (f"'bad', 'x', 0.1, '{SECRET}', 'twice'", r"key is not unique: 100 rows have 50 keys"),
    (f"'bad', 'x', 0.1, '{SECRET}', 'missing'", r"key is NULL in 1 of 100 rows"),
]  # fmt: skip


@pytest.fixture(scope="module")
def bad() -> Iterator[duckdb.DuckDBPyConnection]:
    with connection("TEMP MACRO") as con:
        con.execute(BAD)
        yield con


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
@pytest.mark.parametrize("wanted", ["*", "count(*)"])
def test_what_is_refused(bad: duckdb.DuckDBPyConnection, wanted: str, arguments: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=f"noise_plain: {message}") as raised:
        bad.execute(f"SELECT {wanted} FROM noise_plain({arguments})").fetchall()
    assert "secret 3" not in str(raised.value)
    assert "1000000000" not in str(raised.value)


def test_a_missing_column_is_named_and_no_key_is_shown(bad: duckdb.DuckDBPyConnection) -> None:
    bad.execute(f"SET VARIABLE hush = '{SECRET}'")
    for call in ("'absent', 0.1, getvariable('hush'), 'id'", "'x', 0.1, getvariable('hush'), 'absent'"):
        with pytest.raises(duckdb.BinderException, match='"absent"') as raised:
            bad.execute(f"FROM noise_plain('bad', {call})")
        assert SECRET not in str(raised.value)
        assert not re.search("[0-9a-f]{32}", str(raised.value))


def test_the_shell_adds_the_same_noise(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    call = f"noise_plain('customers', ['x1', 'X 2'], 0.1, {KEYED})"
    told = call.replace(f"'{SECRET}'", "getenv('OUR_SECRET')")
    ran = shell(tmp_path / "my.db", "-bail", "-json", "-c", ".read sql/ppduck.sql", "-c", CUSTOMERS, "-c", f'SELECT x1, "X 2" FROM {told} ORDER BY id')  # fmt: skip
    found = np.array([list(map(float, row.values())) for row in rows(ran)])
    np.testing.assert_allclose(found, numbers(con, call, ["x1", "X 2"]), rtol=0, atol=1e-9)
