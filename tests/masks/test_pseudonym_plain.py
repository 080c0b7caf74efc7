"""pseudonym_plain replaces values by tokens: HMAC as Python computes it, joins, refusals, DuckDB's shell."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ppduck
from tests.masks.test_egadp_plain import SECRET, rows, shell
from tests.test_plain_sql import connection

pytestmark = pytest.mark.core

TABLES = """
    CREATE TABLE people AS
    SELECT i AS id, 'name ' || i % 700 AS "Name", if(i % 10 = 0, NULL, DATE '2000-01-01' + i::INT) AS born, i * 1.5 AS income FROM range(1000) r(i);
    CREATE TABLE visits AS SELECT i AS visit, (i % 1000)::VARCHAR AS person FROM range(3000) r(i)
"""
CALL = f"pseudonym_plain('people', ['id', 'name'], 'person', secret := '{SECRET}')"


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with connection() as con:
        con.execute(TABLES)
        yield con


def token(value: str, domain: str, secret: str = SECRET) -> str:
    lengths = ",".join(f"{len(text)}:{text}" for text in ("pseudonym_plain", secret, domain))
    own = hashlib.sha256(lengths.encode()).digest()
    return hmac.new(own, value.encode(), hashlib.sha256).hexdigest()[:32]


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@settings(deadline=None, max_examples=40)
@given(
    values=st.lists(st.none() | WORDS, min_size=1, max_size=5),
    domain=WORDS.filter(bool),
    secret=st.text("abc,:1 ü", min_size=30),
)
def test_a_token_is_the_hmac_of_the_values_text(
    con: duckdb.DuckDBPyConnection, values: list[str | None], domain: str, secret: str
) -> None:
    if len(secret.strip()) < 16:
        return
    con.execute("CREATE OR REPLACE TABLE odd AS SELECT unnest($1::VARCHAR[]) AS v, unnest(range($2)) AS place", [values, len(values)])  # fmt: skip
    found = con.execute("SELECT v FROM pseudonym_plain('odd', 'v', $1, $2) ORDER BY place", [domain, secret]).fetchall()
    assert found == [(None if value is None else token(value, domain, secret),) for value in values]


def test_tables_of_one_domain_can_be_joined_and_those_of_two_cannot(con: duckdb.DuckDBPyConnection) -> None:
    joined = (
        "SELECT count(*) FROM {} AS p JOIN pseudonym_plain('visits', 'person', '{}', '"
        + SECRET
        + "') AS v ON p.id = v.person"
    )
    assert con.execute(joined.format(CALL, "person")).fetchall() == [(3000,)]
    assert con.execute(joined.format(CALL, "visitor")).fetchall() == [(0,)]
    other = CALL.replace(SECRET, "another secret, as long")
    assert con.execute(joined.format(other, "person")).fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("one", "another"), [(("a" * 16, "b:c"), ("a" * 16 + "b", ":c")), (("x" * 20 + ",1:", "y"), ("x" * 20, ",1:y"))]
)
def test_secret_and_domain_do_not_run_together(
    con: duckdb.DuckDBPyConnection, one: tuple[str, str], another: tuple[str, str]
) -> None:
    tokens = [con.execute("SELECT id FROM pseudonym_plain('people', 'id', $1, $2)", [domain, secret]).fetchone() for secret, domain in (one, another)]  # fmt: skip
    assert tokens[0] != tokens[1]


def test_equal_values_and_only_those_share_a_token(con: duckdb.DuckDBPyConnection) -> None:
    found = con.execute(f'SELECT count(DISTINCT p.id), count(DISTINCT p."Name") FROM {CALL} AS p').fetchall()
    assert found == [(1000, 700)]
    assert con.execute(f"SELECT DISTINCT length(id), regexp_full_match(id, '[0-9a-f]+') FROM {CALL}").fetchall() == [
        (32, True)
    ]


def test_columns_rows_and_their_order_come_out_as_they_were(con: duckdb.DuckDBPyConnection) -> None:
    described = [row[:2] for row in con.execute(f"DESCRIBE FROM {CALL}").fetchall()]
    assert described == [("id", "VARCHAR"), ("name", "VARCHAR"), ("born", "DATE"), ("income", "DECIMAL(21,1)")]
    rest = "SELECT born, income FROM"
    assert con.execute(f"{rest} {CALL}").fetchall() == con.execute(f"{rest} people").fetchall()
    born = con.execute(f"SELECT born FROM pseudonym_plain('people', 'born', 'day', '{SECRET}')").fetchall()
    assert [place for place, (value,) in enumerate(born) if value is None] == list(range(0, 1000, 10))
    assert born[1] == (token("2000-01-02", "day"),)


@pytest.mark.parametrize(
    "type_",
    ["BOOLEAN", "UUID", "BLOB", "DOUBLE", "INTEGER[]", "STRUCT(a INTEGER)", "INTERVAL", "TIMESTAMP", "ENUM('a')"],
)
def test_every_type_becomes_a_token(con: duckdb.DuckDBPyConnection, type_: str) -> None:
    value = {"BLOB": "'a'", "UUID": "uuid()", "ENUM('a')": "'a'", "INTEGER[]": "[1]", "STRUCT(a INTEGER)": "{'a': 1}", "INTERVAL": "'1 day'", "TIMESTAMP": "'2024-01-01'"}.get(type_, "true")  # fmt: skip
    con.execute(f"CREATE OR REPLACE TABLE typed AS SELECT NULL::{type_} AS v, 1 AS rest")
    con.execute(f"INSERT INTO typed VALUES ({value}, 2)")
    assert con.execute(f"SELECT length(v), rest, typeof(v) FROM pseudonym_plain('typed', 'v', 'any', '{SECRET}')").fetchall() == [(None, 1, "VARCHAR"), (32, 2, "VARCHAR")]  # fmt: skip


def test_a_point_in_time_has_one_token_in_every_time_zone(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE times AS SELECT TIMESTAMPTZ '2024-10-27 00:30:00.5+00' + i * INTERVAL 1 HOUR AS v FROM range(2) r(i)"
    )
    found = set()
    for zone in ("UTC", "Europe/Berlin", "America/St_Johns"):
        con.execute(f"SET TimeZone = '{zone}'")
        found |= set(con.execute(f"FROM pseudonym_plain('times', 'v', 'time', '{SECRET}')").fetchall())
    con.execute("RESET TimeZone")
    assert len(found) == 2


def test_every_way_to_name_the_rows(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    file = (tmp_path / "my people.parquet").as_posix()
    con.execute(f"COPY people TO '{file}'")
    con.execute('CREATE OR REPLACE TABLE "odd \'name" AS SELECT id AS "x ""#~@", 1 AS _pp_given FROM people')
    whole = con.execute(f"FROM {CALL}").fetchall()
    for tbl in (file, "main.people -- all", "(FROM people)"):
        assert con.execute("FROM " + CALL.replace("'people'", f"'{tbl}'")).fetchall() == whole
    odd = con.execute(f"FROM pseudonym_plain('\"odd ''name\"', ['x \"#~@'], 'person', '{SECRET}')").fetchall()
    assert odd == [(id_, 1) for id_, *_ in whole]
    assert con.execute("FROM " + CALL.replace("'people'", "'(FROM people LIMIT 0)'")).fetchall() == []


def test_ppduck_loads_it_too(con: duckdb.DuckDBPyConnection) -> None:
    with ppduck.connect() as loaded:
        loaded.execute(TABLES)
        assert loaded.execute(f"FROM {CALL}").fetchall() == con.execute(f"FROM {CALL}").fetchall()


REFUSED = [
    ("'people', 'id', 'person'", r"secret is missing\. Give a text of 16 characters or more"),
    ("'people', 'id', 'person', 'fifteen letters'", r"secret has only 15 characters\. Give 16 or more"),
    ("'people', 'id', 'person', 12345678901234567", r"secret is missing"),
    *((f"'people', 'id', {domain}, '{SECRET}'", r"domain is missing\. Name in a text what the values are") for domain in ("NULL", "''", "7")),
    (f"'', 'id', 'person', '{SECRET}'", r"tbl is missing\. Give a table name"),
    (f"'people', [], 'person', '{SECRET}'", r"columns is empty\. Name the columns"),
    (f"'people', NULL, 'person', '{SECRET}'", r"columns must be a list of column names"),
    (f"'people', ['id', 'ID'], 'person', '{SECRET}'", r"columns names a column twice"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_is_refused(con: duckdb.DuckDBPyConnection, arguments: str, message: str) -> None:
    for wanted in ("*", "count(*)"):
        with pytest.raises(duckdb.InvalidInputException, match=f"pseudonym_plain: {message}"):
            con.execute(f"SELECT {wanted} FROM pseudonym_plain({arguments})").fetchall()


def test_a_missing_column_is_named_and_no_key_is_shown(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"SET VARIABLE hush = '{SECRET}'")
    with pytest.raises(duckdb.BinderException, match='"absent"') as raised:
        con.execute("FROM pseudonym_plain('people', 'absent', 'person', getvariable('hush'))")
    assert SECRET not in str(raised.value)
    assert not re.search("[0-9a-f]{32}", str(raised.value))


def test_the_shell_makes_the_same_tokens(tmp_path: Path) -> None:
    told = CALL.replace(f"'{SECRET}'", "getenv('OUR_SECRET')")
    ran = shell(
        tmp_path / "my.db",
        "-bail",
        "-json",
        "-c",
        ".read sql/ppduck.sql",
        "-c",
        TABLES,
        "-c",
        f"SELECT id FROM {told} LIMIT 3",
    )
    assert [row["id"] for row in rows(ran)] == [token(str(i), "person") for i in range(3)]
