"""Pseudonyms: equal values have equal ones wherever they stand, nothing else does, and no message tells a value."""

from __future__ import annotations

import hashlib
import re
import uuid
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ppduck
from ppduck.call.guarantees import LossKind, Promise
from ppduck.masks import pseudonym
from tests.conftest import SECRET

pytestmark = pytest.mark.core
ONCE = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
OTHER, DROP = ("domain='other'",), "drop=['mail', 'kept']"
FORMS_OF_NULL = "{'x': 'token', 'y': 'digits', 'z': 'integer'}"
PINNED = [
    "ipeihnkez4bm7zl4u6vslniyqe",
    uuid.UUID("c7598592-c81f-8ae8-ada9-5cd2d4a07dbe"),
    "ccd792ada9abd3bb06290049a42d9cf535caaa8534ff7211a0c8a0581078fcae",
    7526565882386110115,
]
PINNED_EMAIL, PINNED_DIGITS = "knr7rzrzsve5vx42ravxygxx3u@example.invalid", "0242-0974103"
EVERY = (
    "{'id': 'integer', 'code': 'token', 'mail': {'as': 'email', 'domain': 'keep'}, 'phone': 'digits', 'since': 'uuid', "
    "'number': 'digits', 'amount': {'as': 'hash', 'salt': 's'}}"
)


def mask(table: str, columns: str, *others: str) -> str:
    return f"pseudonym_mask('{table}', {', '.join([f'columns={columns}', *others])})"


def alone(column: str, form: str) -> str:
    """One column as the parameter has it."""
    return f"{{'{column}': '{form}'}}"


def one(con: duckdb.DuckDBPyConnection, value: str, form: str, *others: str) -> Any:
    """The pseudonym of one SQL value."""
    written = form if form.startswith("{") else f"'{form}'"
    table = f"(SELECT {value} AS x)".replace("'", "''")
    [(found,)] = con.execute(f"FROM {mask(table, f'{{x: {written}}}', *others)}").fetchall()
    return found


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()


@pytest.fixture
def people(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute(
        """
        CREATE TABLE people AS SELECT i AS id, 'P' || i AS code, 'p' || i || '@home' || i % 3 || '.example' AS mail,
               '+49 (0)171 ' || (1000000 + i) AS phone, DATE '2020-01-01' + i::INTEGER AS since, (i / 4)::DECIMAL(9, 2) AS amount,
               123456 + i AS number, i % 5 AS kept, 'x' || i % 7 AS "odd ""name" FROM range(1000) r(i)
        """
    )
    return con


SEVEN = [
    "7", "7::TINYINT", "7::BIGINT", "7::UBIGINT", "7::HUGEINT", "7::DECIMAL(4, 0)", "7.00::DECIMAL(9, 2)", "7::DOUBLE",
    "7::FLOAT", "'7'", "'7'::ENUM('x', '7')",
]  # fmt: skip


@pytest.mark.parametrize("form", ["token", "uuid", "hash", "integer"])
def test_equal_values_have_equal_pseudonyms_in_every_type(con: duckdb.DuckDBPyConnection, form: str) -> None:
    [found] = {one(con, value, form) for value in SEVEN}
    for other in ("8", "'07'", "'7 '", "7.5", "DATE '2020-01-07'", "true"):
        assert one(con, other, form) != found


def test_the_shape_of_each_form(con: duckdb.DuckDBPyConnection) -> None:
    assert re.fullmatch("[a-z2-7]{26}", one(con, "7", "token"))
    own = one(con, "7", "uuid")
    assert isinstance(own, uuid.UUID)
    assert (own.version, own.variant) == (8, uuid.RFC_4122)
    assert re.fullmatch("[0-9a-f]{64}", one(con, "7", "hash"))
    assert 0 <= one(con, "7", "integer") < 2**63
    assert -(2**63) <= one(con, "-7", "integer") < 0
    assert re.fullmatch(r"[a-z2-7]{26}@example\.invalid", one(con, "'A.B@home.example'", "email"))
    assert re.fullmatch(r"\+\d\d \(\d\)\d{3} \d{3}-\d{4}", one(con, "'+49 (0)171 123-4567'", "digits"))


def test_the_types_of_the_output(people: duckdb.DuckDBPyConnection) -> None:
    released, before = people.sql(f"FROM {mask('people', EVERY)}"), people.sql("FROM people")
    assert released.columns == before.columns
    assert list(map(str, released.types)) == [
        "BIGINT", "VARCHAR", "VARCHAR", "VARCHAR", "UUID", "VARCHAR", "BIGINT", "BIGINT", "VARCHAR",
    ]  # fmt: skip


@pytest.mark.parametrize("type_", ["INTEGER", "UINTEGER", "UBIGINT", "HUGEINT", "DECIMAL(9,0)", "DECIMAL(38,0)"])
def test_digits_of_a_number_are_a_number_of_its_type(con: duckdb.DuckDBPyConnection, type_: str) -> None:
    low = 0 if type_.startswith("U") else -300_000
    con.execute(f"CREATE TABLE t AS SELECT (100000 + i)::{type_} AS x FROM range({low}, 900000, 333) r(i)")
    con.execute("DELETE FROM t WHERE x BETWEEN -99999 AND 99999")
    con.execute(f"CREATE TABLE released AS FROM {mask('t', alone('x', 'digits'))}")
    assert list(map(str, con.sql("FROM released").types)) == [type_]
    found, before = rows(con, "FROM released"), rows(con, "FROM t")
    assert len(set(found)) == len(before) > 2000
    assert [(len(str(x)), x < 0) for (x,) in found] == [(len(str(x)), x < 0) for (x,) in before]
    assert rows(con, f"FROM {mask('released', alone('x', 'digits'), 'reverse=true')}") == before


def test_digits_of_a_number_are_those_of_its_text(con: duckdb.DuckDBPyConnection) -> None:
    for number in (100_000, 123_456, 999_999, 12_345_678_901, 10**17):
        found = {str(one(con, f"{number}::{type_}", "digits")) for type_ in ("BIGINT", "VARCHAR", "DECIMAL(20, 0)")}
        assert len(found) == 1
        assert one(con, f"'no. {number}'", "digits") == f"no. {found.pop()}", "whatever stands beside them"


@pytest.mark.parametrize("form", ["token", "uuid", "hash", "integer", "email", "digits"])
def test_another_domain_or_secret_has_nothing_in_common(people: duckdb.DuckDBPyConnection, form: str) -> None:
    def phones(con: duckdb.DuckDBPyConnection, *others: str) -> list[str]:
        released = mask("people", alone("phone", form), *others)
        return [str(phone) for (phone,) in rows(con, f"SELECT phone FROM {released}")]

    own = phones(people, "domain='crm'")
    assert len(set(own)) == 1000
    assert phones(people, "domain := 'crm'") == own
    with ppduck.connect(secret="another secret of some length") as stranger:
        stranger.execute("CREATE TABLE people AS SELECT '+49 (0)171 ' || (1000000 + i) AS phone FROM range(1000) r(i)")
        for others in (phones(people), phones(people, "domain='CRM'"), phones(stranger, "domain='crm'")):
            assert len(set(own) & set(others)) < (20 if form == "digits" else 1)
            assert sum(map(str.__eq__, own, others)) == 0


def test_the_same_secret_gives_the_same_in_another_database(people: duckdb.DuckDBPyConnection) -> None:
    with ppduck.connect(secret=SECRET) as other:
        other.execute("CREATE TABLE t AS SELECT i::VARCHAR AS x FROM range(50) r(i)")
        found = rows(other, f"FROM {mask('t', alone('x', 'token'))}")
    assert found == rows(people, f"SELECT id FROM {mask('people', alone('id', 'token'))} LIMIT 50")


def test_pinned_pseudonyms(con: duckdb.DuckDBPyConnection) -> None:
    """What was released once must be joined with what is released later: these never change."""
    assert [one(con, "7", form) for form in ("token", "uuid", "hash", "integer")] == PINNED
    assert one(con, "'A@home.example'", "email") == PINNED_EMAIL
    assert one(con, "'0171-1234567'", "digits") == PINNED_DIGITS


def test_different_values_have_different_pseudonyms(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS a, i AS b, i AS c, i AS d, 100000 + i AS e FROM range(100_000) r(i)")
    con.execute("CREATE TABLE r AS FROM " + mask("t", "{a: 'token', b: 'uuid', c: 'hash', d: 'integer', e: 'digits'}"))
    query = (
        "SELECT count(DISTINCT a), count(DISTINCT b), count(DISTINCT c), count(DISTINCT d), count(DISTINCT e) FROM r"
    )
    assert rows(con, query) == [(100_000,) * 5]
    assert rows(con, "SELECT count(*) FROM r POSITIONAL JOIN (SELECT a AS x, e AS y FROM t) WHERE d = x") == [(0,)]


def test_tables_can_be_joined_as_before(people: duckdb.DuckDBPyConnection) -> None:
    people.execute("CREATE TABLE orders AS SELECT i AS no, (i * 7 % 1200)::VARCHAR AS person FROM range(3000) r(i)")
    people.execute(f"CREATE VIEW a AS FROM {mask('people', alone('id', 'token'))}")
    people.execute(f"CREATE VIEW b AS FROM {mask('orders', alone('person', 'token'))}")
    before = "SELECT count(*), sum(kept * no) FROM people JOIN orders ON person = id::VARCHAR"
    after = "SELECT count(*), sum(kept * no) FROM a JOIN b ON person = id"
    assert rows(people, before) == rows(people, after)


@ONCE
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
def test_integers_lead_back(con: duckdb.DuckDBPyConnection, values: list[int]) -> None:
    con.execute("CREATE OR REPLACE TABLE t (x BIGINT, y VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [[value, str(value)] for value in values])
    both = "{x: 'integer', y: 'integer'}"
    con.execute(f"CREATE OR REPLACE TABLE released AS FROM {mask('t', both)}")
    found = rows(con, "FROM released")
    assert all(x == y and (x < 0) == (old < 0) for (x, y), old in zip(found, values, strict=True))
    assert rows(con, f"FROM {mask('released', both, 'reverse=true')}") == [(value, value) for value in values]
    other = rows(con, f"FROM {mask('released', both, 'reverse=true', *OTHER)}")
    assert other != [(value, value) for value in values], "only the same domain leads back"


@ONCE
@given(values=st.lists(st.from_regex(r"\A[+(a-zé]?(?:[0-9][ /-]?){6,40}\Z"), min_size=1, max_size=20))
def test_digits_of_texts_lead_back(con: duckdb.DuckDBPyConnection, values: list[str]) -> None:
    con.execute("CREATE OR REPLACE TABLE t (x VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?)", [[value] for value in values])
    con.execute(f"CREATE OR REPLACE TABLE released AS FROM {mask('t', alone('x', 'digits'))}")
    found = [x for (x,) in rows(con, "FROM released")]
    assert [re.sub("[0-9]", "#", x) for x in found] == [re.sub("[0-9]", "#", x) for x in values]
    assert len(set(found)) == len(set(values))
    assert rows(con, f"FROM {mask('released', alone('x', 'digits'), 'reverse=true')}") == [(x,) for x in values]


def test_an_address_is_the_same_however_it_is_written(con: duckdb.DuckDBPyConnection) -> None:
    [found] = {
        one(con, f"'{each}'", "email") for each in ("a.b@home.example", " A.B@Home.Example ", "\ta.b@HOME.example\n")
    }
    assert found != one(con, "'a.c@home.example'", "email")
    kept = "{'as': 'email', 'domain': 'keep'}"
    assert one(con, "' A.B@Home.Example'", kept) == found.replace("example.invalid", "home.example")
    assert one(con, "'a.b@home.example'", "{'as': 'email', 'domain': 'reserved'}") == found


@pytest.mark.parametrize(
    ("value", "domain"),
    [
        ("no address", None), ("", None), ("a@", None), ("a@home", None), ("a@home.example thanks, Bob", None),
        ("a@192.168.0.1", None), ("a@[10.0.0.1]", None), ("a@-x.example", None), ("a@home..example", None), ("a@x_y.example", None),
        (f"a@{'x' * 64}.example", None), (f"a@{'x.' * 125}example", None), ("call me: a@home.example", "home.example"),
        ("a@b@home.example", "home.example"), ("a@sub.müller.example", "sub.müller.example"), ("@home.example", "home.example"),
        (f"a@{'x' * 63}.example", f"{'x' * 63}.example"),
    ],
)  # fmt: skip
def test_only_a_domain_is_kept(con: duckdb.DuckDBPyConnection, value: str, domain: str | None) -> None:
    token, _, found = one(con, f"'{value}'", "{'as': 'email', 'domain': 'keep'}").partition("@")
    assert re.fullmatch("[a-z2-7]{26}", token)
    assert found == (domain or "example.invalid")


def test_salts_are_apart(con: duckdb.DuckDBPyConnection) -> None:
    salted = [one(con, "7", f"{{'as': 'hash', 'salt': '{salt}'}}") for salt in ("a", "b", "a")]
    assert salted[0] == salted[2] != salted[1]
    assert one(con, "7", "hash") not in salted


def test_null_stays_null_and_nothing_else_is(people: duckdb.DuckDBPyConnection) -> None:
    people.execute("CREATE TABLE gaps AS FROM people")
    people.execute(
        "UPDATE gaps SET id = NULL, code = NULL, mail = NULL, phone = NULL, since = NULL, amount = NULL WHERE id % 3 = 0"
    )
    found = rows(people, f"SELECT id, code, mail, phone, since, amount, number FROM {mask('gaps', EVERY)}")
    assert [[value is None for value in row] for row in found] == [[i % 3 == 0] * 6 + [False] for i in range(1000)]
    nothing = "(SELECT NULL AS x, NULL::VARCHAR AS y, NULL::INTEGER AS z)"
    assert rows(people, f"FROM {mask(nothing, FORMS_OF_NULL)}") == [(None, None, None)]


def test_an_empty_table_stays_empty(people: duckdb.DuckDBPyConnection) -> None:
    people.execute("CREATE TABLE nobody AS FROM people LIMIT 0")
    assert rows(people, f"FROM {mask('nobody', EVERY)}") == []
    assert people.sql(f"FROM {mask('nobody', EVERY)}").columns == people.sql("FROM people").columns


def test_other_columns_and_the_order_of_rows_stay(people: duckdb.DuckDBPyConnection) -> None:
    others = 'SELECT kept, "odd ""name" FROM {}'
    assert rows(people, others.format(mask("people", EVERY))) == rows(people, others.format("people"))
    dropped = people.sql(f"FROM {mask('people', alone('id', 'token'), DROP)}")
    assert dropped.columns == ["id", "code", "phone", "since", "amount", "number", 'odd "name']


def test_the_same_rows_by_one_thread_or_two_in_any_order(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE people AS SELECT i AS id, 'P' || i AS code, i || '@home.example' AS mail, '0171 ' || (1000000 + i) AS phone, "
        "DATE '2020-01-01' + (i % 9999)::INTEGER AS since, i / 4 AS amount, 1000000 + i AS number FROM range(300_000) r(i)"
    )
    con.execute("CREATE TABLE shuffled AS FROM people ORDER BY hash(id)")
    found = set()
    for threads, table in ((1, "people"), (2, "people"), (2, "shuffled"), (2, "(FROM people)")):
        con.execute(f"SET threads = {threads}")
        query = f"SELECT bit_xor(hash(p)), count(*) FROM {mask(table, EVERY)} AS p"
        found |= set(rows(con, query))
    assert len(found) == 1
    con.execute("SET threads = 2")
    both = "{'id': 'token', 'phone': 'digits'}"
    for table in ("people", "(FROM people)"):
        released = con.execute(f"SELECT number FROM {mask(table, both)}").fetchnumpy()
        assert (released["number"][1:] > released["number"][:-1]).all(), "rows come in their order"
    assert len(rows(con, f"FROM {mask('people', EVERY)} LIMIT 3")) == 3


def test_every_way_in(people: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    people.execute(
        'CREATE SCHEMA "my schema"; CREATE TABLE "my schema"."a ""table" AS FROM people; CREATE VIEW seen AS FROM people'
    )
    people.execute(f"COPY people TO '{tmp_path / 'people.parquet'}'; COPY people TO '{tmp_path / 'people.csv'}'")
    people.execute("CREATE TEMP TABLE mine AS FROM people")
    ways = [
        '"my schema"."a ""table"',
        "seen",
        "mine",
        str(tmp_path / "people.parquet"),
        "(SELECT * FROM people WHERE true)",
    ]
    columns = "{'id': 'integer', 'code': 'token', 'phone': 'digits', 'mail': 'email'}"
    expected = rows(people, f"FROM {mask('people', columns)}")
    for table in ways:
        assert rows(people, f"FROM {mask(table, columns)}") == expected, table
    texts = "{'code': 'token', 'phone': 'digits'}"
    of_csv = f"SELECT code, phone FROM {mask(str(tmp_path / 'people.csv'), texts)}"
    assert rows(people, of_csv) == rows(people, f"SELECT code, phone FROM {mask('people', texts)}")
    layered = mask("(FROM rr_mask(''people'', p={''kept'': 0.9}, key=''id''))", columns)
    shown = "SELECT id, code, mail, phone FROM {}"
    assert rows(people, shown.format(layered)) == [row[:4] for row in expected], "over another mask"


def test_odd_names(people: duckdb.DuckDBPyConnection) -> None:
    people.execute('CREATE TABLE odd AS SELECT "odd ""name", id AS "select", id AS "it\'s" FROM people')
    released = people.sql(
        "FROM pseudonym_mask('odd', columns=MAP {'odd \"name': 'token', 'SELECT': 'token', 'it''s': 'token'})"
    )
    assert released.columns == ['odd "name', "select", "it's"]
    found = released.fetchall()
    assert all(select == its for _, select, its in found)
    assert found[0][1] == one(people, "0", "token")


def test_no_row_is_released_before_all_were_looked_at(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, if(i = 99999, '4711', '0171 1234567') AS x FROM range(100_000) r(i)")
    for reading in (
        "FROM {} LIMIT 1",
        "SELECT id FROM {} LIMIT 1",
        "SELECT count(*) FROM {}",
        "SELECT EXISTS (FROM {})",
    ):
        with pytest.raises(
            duckdb.InvalidInputException, match=r'column "x" has fewer than 6 digits in 1 of 100000 rows'
        ) as refused:
            con.execute(reading.format(mask("t", alone("x", "digits")))).fetchall()
        assert "4711" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ("columns={'id': 'tokn'}", [r"form 'tokn', which there is not, for column \"id\"\. Did you mean \"token\"\? Forms: \"token\""]),
        ("columns={'id': {'salt': 'x'}}", [r'gives no form for column "id"']),
        ("columns={'id': {'as': 3}}", ["gives the form 3, which there is not"]),
        ("columns={'id': {'as': 'hash', 'slat': 'x'}}", [r"'hash' for column \"id\" the option 'slat', which it has not\. Did you mean \"salt\"\? Options: \"salt\""]),
        ("columns={'id': {'as': 'token', 'salt': 'x'}}", ["the option 'salt', which it has not. It has none"]),
        ("columns={'id': {'as': 'hash', 'salt': ''}}", [r'takes as salt for column "id" a text in single quotes that is not empty']),
        ("columns={'id': {'as': 'hash', 'salt': 3}}", ["a text in single quotes that is not empty, got 3"]),
        ("columns={'mail': {'as': 'email', 'domain': 'kept'}}", [r"takes as domain for column \"mail\" one of 'reserved', 'keep', got 'kept'"]),
        ("columns={'idd': 'token'}", [r'columns names column "idd", which does not exist\. Did you mean "id"']),
        ("columns=MAP {'id': 'token', 'ID': 'hash'}", [r'columns names column "id" twice']),
        ("columns=MAP {}", ["columns is empty; name at least one column"]),
        ("columns=['id']", [r"columns takes a form for each column, such as .*, got \['id'\]"]),
        ("columns={'id': 3}", ["columns takes a form for each column"]),
        ("columns={'id': 'token'}, domain=''", ["domain takes a text in single quotes that is not empty, got ''"]),
        ("columns={'id': 'token'}, drop=['ID']", [r'column "id" is in both columns and drop']),
        ("columns={'since': 'digits'}", [r"the form 'digits' for column \"since\" of type DATE, and it is for texts and whole numbers of 6 digits"]),
        ("columns={'amount': 'digits'}", [r"of type DECIMAL\(9,2\), and it is for texts and whole numbers"]),
        ("columns={'id': 'email'}", ["of type BIGINT, and it is for texts"]),
        ("columns={'id': 'token'}, reverse=true", ["reverse is for 'integer' and 'digits' only"]),
        ("columns={'since': 'integer'}, reverse=true", ["of type DATE, and it is for whole numbers, as numbers or texts"]),
        ("columns={'code': 'integer'}, reverse=true", [r'column "code" holds no whole number of 64 bits in 1000 of 1000 rows']),
        ("columns={'id': 'digits'}", [r'column "id" has fewer than 6 digits in 1000 of 1000 rows; so few could be tried out']),
        ("columns={'x': 'token', 'id': 'hsh', 'code': {'as': 'email', 'domain': 'x'}}, drop=['y']", ['"x", which does not', "'hsh'", "takes as domain", 'drop names column "y"']),
    ],
)  # fmt: skip
def test_refusals(people: duckdb.DuckDBPyConnection, arguments: str, messages: list[str]) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="pseudonym_mask") as refused:
        people.execute(f"FROM pseudonym_mask('people', {arguments})").fetchall()
    for message in messages:
        assert re.search(message, str(refused.value)), str(refused.value)


@pytest.mark.parametrize(
    ("value", "form", "message"),
    [
        ("'PIN 4711'", "digits", "has fewer than 6 digits in 1 of 1 rows"),
        ("''", "digits", "has fewer than 6 digits in 1 of 1 rows"),
        ("repeat('4711', 33)", "digits", "has more than 128 digits in 1 of 1 rows"),
        ("'4711471147١'", "digits", "holds digits other than 0 to 9 in 1 of 1 rows"),
        ("'4711471147 ²'", "digits", "holds digits other than 0 to 9 in 1 of 1 rows"),
        (
            "2147471147::INTEGER",
            "digits",
            "has 10 digits in 1 of 1 rows; not every number of so many is a INTEGER: cast",
        ),
        ("(-4711471147471147471)::BIGINT", "digits", "has 19 digits in 1 of 1 rows"),
        ("4711::DECIMAL(9, 0)", "digits", "has fewer than 6 digits"),
        ("[4711]", "token", r"of type INTEGER\[\], and it is for single values"),
        ("{'a': 4711}", "hash", "and it is for single values"),
        ("'[4711]'::JSON", "token", "of type JSON, and it is for single values"),
        ("'nan'::DOUBLE", "token", "holds NaN or infinity in 1 of 1 rows"),
        ("'-inf'::FLOAT", "integer", "holds NaN or infinity in 1 of 1 rows"),
        ("4711.5::DOUBLE", "digits", "of type DOUBLE, and it is for texts and whole numbers"),
        ("'4711'::BLOB", "email", "of type BLOB, and it is for texts"),
    ],
)
def test_what_a_form_cannot_take_is_refused_and_not_told(
    con: duckdb.DuckDBPyConnection, value: str, form: str, message: str
) -> None:
    con.execute(f"CREATE TABLE t AS SELECT {value} AS x")
    with pytest.raises(duckdb.InvalidInputException, match=message) as refused:
        con.execute(f"FROM {mask('t', alone('x', form))}").fetchall()
    assert "4711" not in str(refused.value)


@pytest.mark.parametrize(
    "value",
    ["7", "7.25", "7.25::DOUBLE", "'x'", "'x'::ENUM('x')", "true", "uuid()", "'x'::BLOB", "'01'::BIT", "DATE '2020-01-01'",
     "TIME '10:00'", "'10:00:00+02'::TIMETZ", "TIMESTAMP '2020-01-01'", "TIMESTAMP_NS '2020-01-01'", "TIMESTAMP_S '2020-01-01'",
     "TIMESTAMPTZ '2020-01-01 10:00:00+00'", "INTERVAL 3 DAYS", "170141183460469231731687303715884105727::HUGEINT", "NULL"],
)  # fmt: skip
def test_single_values_of_every_type(con: duckdb.DuckDBPyConnection, value: str) -> None:
    for form in ("token", "uuid", "hash", "integer"):
        assert (one(con, value, form) is None) == (value == "NULL")


def test_numbers_that_stand_for_several_values_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    """The number of a text that is none is 63 bits of its digest, which is here a value too."""
    own = int.from_bytes(hashlib.sha256(b"1:x").digest()[:8], "big") >> 1
    con.execute(f"CREATE TABLE t AS SELECT unnest(['x', '{own}', 'y']) AS a, unnest([1, 2, 3]) AS b")
    message = r'pseudonym_mask on "t": column "a" has 3 values, and only 2 numbers stand for them'
    with pytest.raises(duckdb.InvalidInputException, match=message):
        con.execute(f"FROM {mask('t', alone('a', 'integer'))}").fetchall()
    con.execute("DELETE FROM t WHERE b = 2")
    assert len(set(rows(con, f"SELECT a FROM {mask('t', alone('a', 'integer'))}"))) == 2


@pytest.mark.parametrize("form", ["token", "integer", "digits"])
def test_a_table_of_other_types_in_its_place_is_refused_without_a_value(
    people: duckdb.DuckDBPyConnection, form: str
) -> None:
    people.execute("CREATE TEMP TABLE people AS SELECT 'SENTINEL 471147' AS number")
    with pytest.raises(duckdb.InvalidInputException, match=r"of another type than|has fewer than") as refused:
        people.execute(f"FROM {mask('people', alone('number', form))}").fetchall()
    assert not re.search("SENTINEL|471147", str(refused.value))


def test_a_table_that_the_planner_cannot_see(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TEMP TABLE t AS SELECT '0171-1234567' AS phone, 7 AS id, [7] AS list, 'nan'::DOUBLE AS f")
    both = "{'phone': 'digits', 'id': 'token'}"
    found = rows(con, f"SELECT phone, id FROM {mask('t', both)}")
    assert found == [(one(con, "'0171-1234567'", "digits"), one(con, "7", "token"))]
    assert rows(con, f"SELECT id FROM {mask('t', alone('id', 'integer'))}") == [(one(con, "7", "integer"),)]
    for column, form, message in (
        ("id", "digits", "fewer than 6 digits|not for"), ("list", "token", "is of a type that the form 'token' is not for"),
        ("f", "token", "holds NaN"),
    ):  # fmt: skip
        with pytest.raises(duckdb.InvalidInputException, match=message):
            con.execute(f"FROM {mask('t', alone(column, form))}").fetchall()
    con.execute("CREATE OR REPLACE TEMP TABLE t AS SELECT 1234567 AS id")
    with pytest.raises(duckdb.InvalidInputException, match="cast it to VARCHAR in tbl"):
        con.execute(f"FROM {mask('t', alone('id', 'digits'))}").fetchall()


def test_the_secret_is_in_no_statement(people: duckdb.DuckDBPyConnection) -> None:
    shown = str(rows(people, f"EXPLAIN ANALYZE FROM {mask('people', EVERY)}"))
    assert SECRET not in shown
    assert hashlib.sha256(b"ppduck pseudonyms 1\0" + SECRET.encode()).hexdigest() not in shown


def test_without_a_secret_pseudonyms_last_as_long_as_the_database() -> None:
    found = []
    for _ in range(2):
        with ppduck.connect() as con:
            found.append({one(con, "7", "token"), one(con, "7", "token")})
    assert [len(each) for each in found] == [1, 1]
    assert not found[0] & found[1]


def test_what_becomes_of_each_column_is_explained(people: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT column_name, role, note FROM mask_explain('pseudonym_mask', 'people', columns={}, drop=['kept']{})"
    told = {name: (role, note) for name, role, note in rows(people, query.format(EVERY, "")) if name}
    assert list(told) == people.sql("FROM people").columns
    assert told["id"][1] == (
        "replaced by a BIGINT, a number for a number of the same sign; equal values of domain 'ppduck' have the same; "
        "NULL stays NULL"
    )
    assert "or example.invalid where that is no name of a host" in told["mail"][1]
    assert "with a salt of its own" in told["amount"][1]
    assert told["kept"] == ("dropped", "left out of the output")
    assert told['odd "name'][0] == "not used"
    back = rows(people, query.format("{'id': 'integer'}", ", reverse=true"))
    assert back[0] == (
        "id",
        "pseudonym",
        "the value that the form 'integer' of domain 'ppduck' replaced; NULL stays NULL",
    )
    losses = [note for _, role, note in back if role == "not guaranteed"]
    assert len(losses) == 1
    assert losses[0].startswith("any secrecy")


def test_what_is_promised_depends_on_the_call() -> None:
    def call(**given: Any) -> pseudonym.PseudonymCall:
        return pseudonym.PseudonymCall(tbl="t", **given)

    def lost(**given: Any) -> str:
        return " ".join(map(str, pseudonym.FUNCTION.lost(call(**given))))

    plain: dict[str, Any] = {"columns": {"x": {"as": "token"}}}
    assert pseudonym.FUNCTION.promises(Promise.EQUALITY, call(**plain))
    assert any(each.kind is LossKind.FREQUENCIES for each in pseudonym.FUNCTION.lost(call(**plain)))
    assert not pseudonym.FUNCTION.promises(Promise.EQUALITY, call(columns={"x": {"as": "integer"}}, reverse=True))
    assert "words beside a number" in lost(columns={"x": {"as": "digits"}})
    assert "domain of an address" in lost(columns={"x": {"as": "email", "domain": "keep"}})
    assert "domain of an address" not in lost(columns={"x": {"as": "email"}})
    assert "the sign" not in lost(**plain)
