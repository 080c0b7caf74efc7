"""egadp_plain keeps what egadp_mask keeps, without Python: laws against numpy, refusals, and DuckDB's own shell."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy.stats import kstest

import ppduck
from ppduck.masks.egadp_plain import MACRO
from tests.test_plain_sql import FILE, connection, shell_binary

pytestmark = pytest.mark.core

SECRET = "an example of a secret"
KEYED = f"secret := '{SECRET}', key := 'id'"
CUSTOMERS = """
    CREATE TABLE customers AS
    SELECT i AS id, i % 2 AS half, CAST(2000 * sin(i * 12.9898) AS DECIMAL(9, 2)) AS s1, cos(i * 78.233) * 2e-6 AS s2,
           'name ' || i AS name, 50 + s1 / 1000 + 5 * sin(i * 4.1414) AS x1,
           CAST(20000 + 1000 * cos(i * 78.233) + 600 * x1 + 2000 * cos(i * 9.7) AS INTEGER) AS "X 2"
    FROM range(1000) AS rows(i)
"""
USED = ["s1", "s2", "x1", "X 2"]
CALL = f"egadp_plain('customers', ['x1', 'X 2'], {KEYED}, nonconf := ['s1', 's2'])"


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with connection() as con:
        con.execute(CUSTOMERS)
        yield con


def numbers(con: duckdb.DuckDBPyConnection, relation: str, columns: list[str] = USED) -> np.ndarray:
    names = ", ".join(f'CAST("{name}" AS DOUBLE)' for name in columns)
    return np.array(con.execute(f"SELECT {names} FROM {relation} ORDER BY id").fetchall())


def residuals(y: np.ndarray, on: np.ndarray) -> np.ndarray:
    x = np.column_stack([np.ones(len(y)), on / np.abs(on).max(axis=0)])
    return y - x @ np.linalg.lstsq(x, y, rcond=None)[0]


def assert_same_moments(original: np.ndarray, masked: np.ndarray) -> None:
    sd = original.std(axis=0, ddof=1)
    np.testing.assert_allclose(masked.mean(axis=0) / sd, original.mean(axis=0) / sd, rtol=0, atol=1e-9)
    covariances = [np.cov(each.T) / np.outer(sd, sd) for each in (original, masked)]
    np.testing.assert_allclose(covariances[1], covariances[0], rtol=0, atol=1e-9)


# The laws of EGADP


def test_means_and_covariances_are_kept(con: duckdb.DuckDBPyConnection) -> None:
    original, masked = numbers(con, "customers"), numbers(con, CALL)
    assert_same_moments(original, masked)
    np.testing.assert_array_equal(masked[:, :2], original[:, :2])
    changed = np.abs(masked - original)[:, 2:] / original[:, 2:].std(axis=0)
    assert (np.median(changed, axis=0) > 0.3).all()


def test_noise_is_orthogonal_to_nonconf_and_to_conf(con: duckdb.DuckDBPyConnection) -> None:
    original, masked = numbers(con, "customers"), numbers(con, CALL)
    kept = original[:, 2:] - residuals(original[:, 2:], original[:, :2])
    noise = masked[:, 2:] - kept
    correlations = np.corrcoef(np.column_stack([original, noise]).T)[:4, 4:]
    np.testing.assert_allclose(correlations, 0, atol=1e-9)
    own = residuals(original[:, 2:], original[:, :2])
    scale = own.std(axis=0)
    np.testing.assert_allclose(
        np.cov(noise.T) / np.outer(scale, scale), np.cov(own.T) / np.outer(scale, scale), atol=1e-9
    )


def test_the_noise_is_normal_and_without_a_pattern(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE flat AS SELECT i AS id, sin(i * 4.1) AS a, i * 7.3 % 11 AS b FROM range(20000) r(i)"
    )
    masked = numbers(con, f"egadp_plain('flat', ['a', 'b'], {KEYED})", ["a", "b"])
    scores = (masked - masked.mean(axis=0)) / masked.std(axis=0)
    assert all(kstest(column, "norm").pvalue > 1e-3 for column in scores.T)
    assert np.abs([np.corrcoef(column[1:], column[:-1])[0, 1] for column in scores.T]).max() < 0.03
    assert abs(np.corrcoef(scores[:, 0] ** 2, scores[:, 1] ** 2)[0, 1]) < 0.03  # one hash makes both


@pytest.mark.parametrize(("p", "q"), [(0, 1), (0, 5), (5, 1), (3, 4), (5, 5)])
def test_any_number_of_columns(con: duckdb.DuckDBPyConnection, p: int, q: int) -> None:
    names = [f"c{k}" for k in range(p + q)]
    columns = ", ".join(
        f"1e{k % 4} * (7 + sin(i * {1.1 + k}) + cos(i * 0.7)) AS {name}" for k, name in enumerate(names)
    )
    con.execute(f"CREATE OR REPLACE TABLE wide AS SELECT i AS id, {columns} FROM range(200) r(i)")
    call = f"egadp_plain('wide', {names[p:]}, {KEYED}, nonconf := {names[:p]}::VARCHAR[])"
    original, masked = numbers(con, "wide", names), numbers(con, call, names)
    assert_same_moments(original, masked)
    if p:
        own, new = (residuals(each[:, p:], original[:, :p]) for each in (original, masked))
    else:
        own, new = (each - each.mean(axis=0) for each in (original, masked))
    between = np.corrcoef(np.column_stack([own, new]).T)[:q, q:]
    np.testing.assert_allclose(between, 0, atol=1e-9)


def test_the_fewest_rows_and_a_column_that_is_nearly_known(con: duckdb.DuckDBPyConnection) -> None:
    few = f"egadp_plain('(FROM customers LIMIT 8)', ['x1', 'X 2'], {KEYED}, nonconf := ['s1', 's2'])"
    assert_same_moments(numbers(con, "(FROM customers LIMIT 8)"), numbers(con, few))
    near = "(SELECT *, s1 + 3 * sin(i * 1.7) AS near FROM customers, (SELECT id AS i) AS again)"
    found = numbers(con, f"egadp_plain('{near}', 'near', {KEYED}, nonconf := ['s1'])", ["s1", "near"])
    assert_same_moments(numbers(con, near, ["s1", "near"]), found)


def test_a_large_mean_beside_a_small_spread(con: duckdb.DuckDBPyConnection) -> None:
    far = "(SELECT id, CAST(s1 AS DOUBLE) AS s1, 1e6 + x1 AS x1 FROM customers)"
    found = numbers(con, f"egadp_plain('{far}', ['x1'], {KEYED}, nonconf := 's1')", ["s1", "x1"])
    assert_same_moments(numbers(con, far, ["s1", "x1"]), found)


# The noise hangs on the secret, the key and the release


def test_the_same_call_gives_the_same_rows(con: duckdb.DuckDBPyConnection) -> None:
    first = numbers(con, CALL)
    for other in (
        f"egadp_plain('customers', ['X 2', 'x1'], {KEYED}, nonconf := ['s2', 's1'])",
        f"egadp_plain('(FROM customers ORDER BY name DESC)', ['x1', 'X 2'], {KEYED}, nonconf := ['s1', 's2'])",
        f"egadp_plain('customers', ['x1', 'X 2'], '{SECRET}', ['id'], ['s1', 's2'])",
    ):
        np.testing.assert_allclose(numbers(con, other), first, rtol=1e-9)


@pytest.mark.parametrize(
    "setting", ["default_order = 'DESC'", "default_collation = 'nocase'", "default_null_order = 'nulls_first'"]
)
def test_neither_spelling_nor_settings_give_noise_of_their_own(con: duckdb.DuckDBPyConnection, setting: str) -> None:
    """Their average would have less noise."""
    written = "SELECT x1, \"X 2\", half FROM egadp_plain('customers', {}, secret := '{}', key := {}, nonconf := {}) ORDER BY id ASC"
    calls = [
        written.format("['x1', 'X 2', 'half']", SECRET, "['id', 'name']", "['s1', 's2']"),
        written.format("['HALF', 'x 2', 'X1']", SECRET, "['NAME', 'id']", "['S2', 's1']"),
    ]
    first, again = (np.array(con.execute(call).fetchall()) for call in calls)
    np.testing.assert_allclose(again, first, rtol=1e-9)
    con.execute(f"SET {setting}")
    try:
        np.testing.assert_allclose(np.array(con.execute(calls[1]).fetchall()), first, rtol=1e-9)
    finally:
        con.execute(f"RESET {setting.partition(' ')[0]}")


def test_a_point_in_time_is_the_same_key_in_every_time_zone(con: duckdb.DuckDBPyConnection) -> None:
    """Also where a clock is put back and shows an hour twice."""
    con.execute(
        "CREATE OR REPLACE TABLE times AS SELECT id, TIMESTAMPTZ '2024-10-26 20:00:00.5+00' + id * INTERVAL 1 MINUTE AS at, x1 FROM customers"
    )
    found = []
    for zone in ("UTC", "Europe/Berlin", "America/St_Johns"):
        con.execute(f"SET TimeZone = '{zone}'")
        found.append(numbers(con, f"egadp_plain('times', 'x1', '{SECRET}', 'at')", ["x1"]))
    con.execute("RESET TimeZone")
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-9)


def test_one_thread_and_two(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE tall AS SELECT i AS id, sin(i) AS s, sin(i) + cos(i * 5.1) AS x FROM range(300000) r(i)"
    )
    found = []
    for threads in (1, 2):
        con.execute(f"SET threads = {threads}")
        found.append(numbers(con, f"egadp_plain('tall', 'x', {KEYED}, nonconf := 's')", ["x"]))
    con.execute("RESET threads")
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "other",
    [
        "egadp_plain('customers', ['x1', 'X 2'], secret := 'another secret, as long', key := 'id', nonconf := ['s1', 's2'])",
        f"egadp_plain('customers', ['x1', 'X 2'], secret := '{SECRET}', key := 'name', nonconf := ['s1', 's2'])",
        f"egadp_plain('customers', ['x1', 'X 2'], {KEYED}, nonconf := ['s1', 's2', 'half'])",
        f"egadp_plain('customers', ['x1', 'X 2', 'half'], {KEYED}, nonconf := ['s1', 's2'])",
        f"egadp_plain('(SELECT * REPLACE (if(id = 7, x1 + 0.1, x1) AS x1) FROM customers)', ['x1', 'X 2'], {KEYED}, nonconf := ['s1', 's2'])",
    ],
    ids=["secret", "key", "nonconf", "conf", "one value"],
)
def test_another_release_has_noise_of_its_own(con: duckdb.DuckDBPyConnection, other: str) -> None:
    """From two releases that share noise, the originals could be computed."""
    open_columns = numbers(con, "customers")[:, :2]
    first, second = (residuals(numbers(con, call)[:, 2:], open_columns) for call in (CALL, other))
    assert np.abs(np.corrcoef(np.column_stack([first, second]).T)[:2, 2:]).max() < 0.15


def test_keys_of_several_columns_do_not_run_together(con: duckdb.DuckDBPyConnection) -> None:
    pairs = "(SELECT CASE i % 2 WHEN 0 THEN '1' ELSE '1,1' END AS a, CASE i % 2 WHEN 0 THEN '1,' || i ELSE '' || (i - 1) END AS b, i AS id, sin(i) AS x FROM range(40) r(i))"
    masked = con.execute(
        f"SELECT x FROM egadp_plain($tbl, 'x', '{SECRET}', ['a', 'b'])".replace(
            "$tbl", "'" + pairs.replace("'", "''") + "'"
        )
    )
    assert len({x for (x,) in masked.fetchall()}) == 40


# What goes in, what comes out


def test_columns_and_rows_come_out_as_they_were(con: duckdb.DuckDBPyConnection) -> None:
    described = con.execute(f"DESCRIBE FROM {CALL}").fetchall()
    assert [row[0] for row in described] == ["id", "half", "s1", "s2", "name", "x1", "X 2"]
    assert [row[1] for row in described][-2:] == ["DOUBLE", "DOUBLE"]
    rest = "SELECT id, half, s1, s2, name FROM"
    assert (
        con.execute(f"{rest} {CALL} ORDER BY id").fetchall() == con.execute(f"{rest} customers ORDER BY id").fetchall()
    )


def test_columns_are_spelled_as_in_the_source(con: duckdb.DuckDBPyConnection) -> None:
    described = con.execute(
        f"DESCRIBE FROM egadp_plain('customers', ['X1', 'x 2'], {KEYED}, nonconf := ['S1'])"
    ).fetchall()
    assert [row[0] for row in described] == ["id", "half", "s1", "s2", "name", "x1", "X 2"]


def test_every_way_to_name_the_rows(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    file = (tmp_path / "my customers.csv").as_posix()
    con.execute(f"COPY customers TO '{file}'")
    con.execute('CREATE OR REPLACE TABLE "odd \'name" AS SELECT id, x1 AS "x ""#~@p1", s1 AS "_pp_z1" FROM customers')
    for tbl, conf in ((file, "x1"), ("main.customers -- all", "x1"), ("\"odd ''name\"", 'x "#~@p1')):
        found = con.execute(f"SELECT count(*) FROM egadp_plain('{tbl}', ['{conf}'], {KEYED})").fetchall()
        assert found == [(1000,)]
    masked = f"egadp_plain('\"odd ''name\"', ['x \"#~@p1'], {KEYED}, nonconf := ['_pp_z1'])"
    found = con.execute(f"SELECT avg(COLUMNS(*)) FROM {masked}").fetchall()
    assert found == [pytest.approx(con.execute('SELECT avg(COLUMNS(*)) FROM "odd \'name"').fetchall()[0], rel=1e-9)]


def test_rows_of_a_table_have_a_number(con: duckdb.DuckDBPyConnection) -> None:
    masked = numbers(con, f"egadp_plain('customers', ['x1'], '{SECRET}', 'rowid', ['s1'])", ["s1", "x1"])
    assert_same_moments(numbers(con, "customers", ["s1", "x1"]), masked)


def test_the_source_is_read_once(con: duckdb.DuckDBPyConnection) -> None:
    """Statistics of one reading do not fit the rows of another."""
    con.execute("CREATE OR REPLACE SEQUENCE readings")
    source = "(SELECT id, nextval(''readings'') + 900 * sin(id) AS x FROM customers)"
    con.execute(f"FROM egadp_plain('{source}', ['x'], {KEYED})").fetchall()
    assert con.execute("SELECT nextval('readings')").fetchall() == [(1001,)]


def test_ppduck_loads_it_too() -> None:
    with ppduck.connect() as con:
        con.execute(CUSTOMERS)
        assert_same_moments(numbers(con, "customers"), numbers(con, CALL))
        con.execute(f"CREATE TABLE released AS FROM {CALL}")
        worst = con.execute(
            "SELECT max(difference) FROM moments_check('customers', 'released', conf=['x1','X 2','s1','s2'])"
        ).fetchone()
        [(taken,)] = con.execute(
            "SELECT parameters FROM duckdb_functions() WHERE function_name = 'egadp_plain'"
        ).fetchall()
    assert worst is not None
    assert worst[0] < 1e-9
    assert taken[len(taken) // 2 :] == [parameter.name for parameter in MACRO.parameters]


# What is refused

BAD = """
    CREATE TABLE bad AS
    SELECT i AS id, i % 50 AS twice, sin(i * 3) AS s, 2 * s + 1 AS copy, sin(i) AS x, 'secret ' || i AS words, '12' AS digits,
           if(i = 3, NULL, i) AS missing, if(i = 3, 'nan'::DOUBLE, i) AS nan, 7 AS same, if(i = 5, 1e9, i) AS far, true AS yes
    FROM range(100) AS rows(i)
"""
REFUSED = [
    ("'bad', ['x']", r"key is missing\. Name the column"),
    ("'bad', ['x'], key := 'id'", r"secret is missing\. Give a text of 16 characters or more"),
    ("'bad', ['x'], 'much too short', 'id'", r"secret has only 14 characters\. Give 16 or more"),
    ("'bad', ['x'], '', 'id'", r"secret is missing\. Give a text"),
    (f"'bad', ['x'], '{' ' * 20}', 'id'", r"secret is missing\. Give a text"),
    (f"'bad', ['x'], 'short{' ' * 20}', 'id'", r"secret has only 5 characters\. Give 16 or more"),
    ("'bad', ['x'], 12345678901234567, 'id'", r"secret is missing\. Give a text"),
    (f"'', ['x'], {KEYED}", r"tbl is missing\. Give a table name"),
    (f"'bad', NULL, {KEYED}", r"conf must be a list of column names"),
    (f"'bad', 7, {KEYED}", r"conf must be a list of column names"),
    (f"'bad', [], {KEYED}", r"conf names 0 columns, and one to five can be masked here"),
    (f"'bad', ['a','b','c','d','e','f'], {KEYED}", r"conf names 6 columns, .* or use egadp_mask of ppduck"),
    (f"'bad', ['x'], {KEYED}, nonconf := ['a','b','c','d','e','f']", r"nonconf names 6 columns, and five at most"),
    (f"'bad', ['x', 'X'], {KEYED}", r"conf names a column twice"),
    (f"'bad', ['x'], {KEYED}, nonconf := ['X']", r"a column is in conf and in nonconf"),
    (f"'bad', ['words'], {KEYED}", r'column "words" is of type VARCHAR, and only numbers'),
    (f"'bad', ['digits'], {KEYED}", r'column "digits" is of type VARCHAR, and only numbers'),
    (f"'bad', ['x'], {KEYED}, nonconf := ['yes']", r'column "yes" is of type BOOLEAN, and only numbers'),
    (f"'bad', ['missing'], {KEYED}", r'column "missing" is NULL in 1 of 100 rows\. Leave these rows out'),
    (f"'bad', ['x'], {KEYED}, nonconf := ['nan']", r'column "nan" holds NaN or infinity'),
    (f"'bad', ['same'], {KEYED}", r'column "same" is constant'),
    (f"'bad', ['copy'], {KEYED}, nonconf := ['s']", r'column "copy" is nearly a linear function of other columns'),
    (f"'bad', ['x'], {KEYED}, nonconf := ['s', 'copy']", r'column "s" is nearly a linear function of other columns'),
    (f"'bad', ['x'], {KEYED}, nonconf := ['far']", r'a row lies so far out in nonconf column "far"'),
    (f"'(SELECT *, s + if(id = 5, 1, 0) AS net FROM bad)', ['x'], {KEYED}, nonconf := ['S', 'net']", r'a row stands apart in nonconf by columns "net", "S" taken together'),
    (f"'(FROM bad LIMIT 4)', ['x'], {KEYED}, nonconf := ['s']", r"4 rows are too few\. With these columns at least 5 are needed"),
    (f"'(FROM bad LIMIT 0)', ['x'], {KEYED}", r"0 rows are too few"),
    (f"'bad', ['x'], '{SECRET}', 'twice'", r"key is not unique: 100 rows have 50 keys"),
    (f"'bad', ['x'], '{SECRET}', 'missing'", r"key is NULL in 1 of 100 rows"),
    (f"'bad', ['x'], '{SECRET}', []", r"key is missing\. Name the column"),
]  # fmt: skip


@pytest.fixture(scope="module")
def bad() -> Iterator[duckdb.DuckDBPyConnection]:
    with connection("TEMP MACRO") as con:
        con.execute(BAD)
        yield con


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
@pytest.mark.parametrize("wanted", ["*", "count(*)"])
def test_what_is_refused(bad: duckdb.DuckDBPyConnection, wanted: str, arguments: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=f"egadp_plain: {message}") as raised:
        bad.execute(f"SELECT {wanted} FROM egadp_plain({arguments})").fetchall()
    assert "secret 3" not in str(raised.value)


def test_a_missing_column_is_named(bad: duckdb.DuckDBPyConnection) -> None:
    for call in (f"['absent'], {KEYED}", f"['x'], {KEYED}, nonconf := 'absent'", f"['x'], '{SECRET}', 'absent'"):
        with pytest.raises(duckdb.BinderException, match='"absent"'):
            bad.execute(f"FROM egadp_plain('bad', {call})")
    with pytest.raises(duckdb.BinderException, match='"rowid"'):
        bad.execute(f"FROM egadp_plain('(FROM bad)', ['x'], '{SECRET}', 'rowid')")


# DuckDB's own shell, with a database on disk


def shell(database: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [shell_binary(), str(database), *arguments]
    environment = os.environ | {"OUR_SECRET": SECRET}
    return subprocess.run(command, cwd=FILE.parents[1], env=environment, capture_output=True, text=True, check=False)


def rows(ran: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert (ran.returncode, ran.stderr) == (0, "")
    found: list[dict[str, Any]] = json.loads(ran.stdout)
    return found


def test_the_macros_stay_in_the_database_of_the_shell(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    database = tmp_path / "my.db"
    assert shell(database, ".read sql/ppduck.sql").returncode == 0  # as sql/README.md has it
    assert shell(database, "-c", CUSTOMERS).returncode == 0
    secret = "secret := getenv('OUR_SECRET'), key := 'id'"
    masked = shell(database, "-json", "-c", f'SELECT s1, s2, x1, "X 2" FROM {CALL.replace(KEYED, secret)} ORDER BY id')
    found = np.array([list(map(float, row.values())) for row in rows(masked)])
    np.testing.assert_allclose(found, numbers(con, CALL), rtol=1e-9)


def test_the_shell_reads_and_masks_at_once(tmp_path: Path) -> None:
    ran = shell(
        tmp_path / "my.db", "-bail", "-json", "-c", ".read sql/ppduck.sql", "-c", CUSTOMERS, "-c", f"CREATE TABLE released AS FROM {CALL}",
        "-c", "SELECT o.mean - m.mean AS off FROM (SELECT avg(x1) AS mean FROM customers) AS o, (SELECT avg(x1) AS mean FROM released) AS m",
    )  # fmt: skip
    assert rows(ran) == [{"off": pytest.approx(0, abs=1e-9)}]


def test_the_shell_refuses_in_words(tmp_path: Path) -> None:
    database = tmp_path / "my.db"
    shell(database, "-c", ".read sql/ppduck.sql", "-c", BAD)
    for arguments, message in (REFUSED[0], REFUSED[2], REFUSED[14], REFUSED[17], REFUSED[24], REFUSED[25]):
        ran = shell(database, "-c", f"SELECT count(*) FROM egadp_plain({arguments})")
        assert ran.returncode != 0
        assert ran.stdout == ""
        with pytest.raises(RuntimeError, match=f"egadp_plain: {message}"):
            raise RuntimeError(ran.stderr)
