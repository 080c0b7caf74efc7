"""Pseudonyms: every original has one of its own, none is an original, and none tells what it stands for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from ppduck.gate import _look, _pseudonyms
from ppduck.gate._pseudonyms import Counts, Pseudonym, different, domains
from tests.gate.releases import Rows, failed, of_rule, people
from tests.laws import steady

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]
OFF = "limits={'linkage': NULL, 'cc_gain': NULL, 'r2_gain': NULL, 'interval': NULL, 'order': NULL}"
SECRET = "sha256('a secret' || {})"
NEW, ONE, DOMAIN, TELLS = (("pseudonym", "c"), ("one_to_one", "c"), ("identifier", "c"), ("tells", "c"))


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    people(con, 400)
    con.execute(f"""
        CREATE TABLE o AS SELECT t.*, 'customer ' || id AS name, 7000000 + 13 * id AS account,
            'c' || substr(md5('mail' || id), 1, 8) || if(id % 2 = 0, '@web.example', '@post.example') AS email,
            id // 4 AS house, {SECRET.format("id")}::VARCHAR AS token, DATE '1960-01-01' + (id * 37)::INTEGER AS birth
        FROM t
        """)
    return con


@pytest.fixture
def look(tables: duckdb.DuckDBPyConnection, ask: Ask) -> Callable[..., Rows]:
    """What the gate says of a release that has another column c, or one in place of the original's."""

    def asked(value: str, stands_for: str = "id", limits: str = OFF) -> Rows:
        tables.execute(f"CREATE OR REPLACE TABLE r AS SELECT m.*, {value} AS c FROM m JOIN o USING (id) ORDER BY id")
        said = f"pseudonyms={{'c': '{stands_for}'}}"
        return ask(f"FROM release_check('o', 'r', conf=['x'], key='id', {said}, {limits})")

    return asked


KEYED = {
    "hexadecimal": SECRET.format("o.{}"),
    "uuid": "md5('a secret' || o.{})::UUID",
    "text of a uuid": "md5('a secret' || o.{})::UUID::VARCHAR",
    "number": "('0x' || substr(md5('a secret' || o.{}), 1, 12))::BIGINT",
    "huge number": "(md5_number('a secret' || o.{}) >> 16)::HUGEINT",
    "digits": "printf('%09d', ('0x' || substr(md5('a secret' || o.{}), 1, 12))::BIGINT % 1000000000)",
    "blob": "unhex(md5('a secret' || o.{}))",
    "e-mail": "'u' || substr(md5('a secret' || o.{}), 1, 10) || '@pseudonym.example'",
}


@pytest.mark.parametrize("of", ["id", "name", "account", "email", "birth"])
@pytest.mark.parametrize("kind", KEYED)
def test_what_a_secret_makes_passes_and_is_told(look: Callable[..., Rows], kind: str, of: str) -> None:
    rows = look(KEYED[kind].format(of), of)
    assert failed(rows) == set()
    said = of_rule(rows, "declared")["c"]
    assert (said["passed"], said["why"]) == (True, "new, and declared by pseudonyms")
    mine = {row["rule"]: row for row in rows if row["column_name"] == "c"}
    assert set(mine) == {"declared", "pseudonym", "one_to_one", "tells", "copy"}, "neither identifier nor pattern"
    assert (mine["pseudonym"]["value"], mine["one_to_one"]["value"]) == (0, 0)
    assert "400 originals" in mine["one_to_one"]["why"]


@pytest.mark.parametrize("of", ["house", "token"])
def test_of_several_rows_with_one_original(look: Callable[..., Rows], of: str) -> None:
    assert failed(look(KEYED["hexadecimal"].format(of), of)) == set()


def test_without_the_parameter_the_same_release_fails(look: Callable[..., Rows], ask: Ask) -> None:
    look(KEYED["e-mail"].format("email"), "email")
    without = ask(f"FROM release_check('o', 'r', conf=['x'], key='id', {OFF})")
    assert failed(without) == {("declared", "c"), ("identifier", "c"), ("pattern", "c")}
    assert not [row for row in without if row["rule"] in _pseudonyms.RULES]


def test_in_place_of_the_column_it_stands_for(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute(f"""
        CREATE TABLE r AS SELECT m.*, {SECRET.format("name")} AS name, ('0x' || substr(md5('s' || account), 1, 9))::BIGINT AS account
        FROM m JOIN o USING (id)
        """)
    question = f"FROM release_check('o', 'r', conf=['x'], key='id', {OFF}, pseudonyms="
    both = ask(question + "['name', 'account'])")
    assert failed(both) == set()
    assert of_rule(both, "declared")["name"]["why"] == "changed, and declared by pseudonyms"
    mapped = ask(question + "{'name': 'name', 'account': 'account'})")
    # Rules that are not asked stand in any order.
    one_way, other_way = (sorted(str(tuple(row.values())) for row in rows) for rows in (both, mapped))
    assert one_way == other_way
    swapped = ask(question + "{'name': 'account', 'account': 'name'})")
    assert failed(swapped) == set(), "each is one for each of the other, too"
    one = ask(question + "'name')")
    assert failed(one) == {("declared", "account"), ("identifier", "account")}


@pytest.mark.parametrize(
    ("value", "of", "found"),
    [
        ("o.name", "name", {NEW, TELLS}),
        ("upper(o.name)", "name", {NEW, TELLS}),
        ("o.id::VARCHAR", "id", {NEW, TELLS}),
        ("printf('%05d', o.id)", "id", {NEW, TELLS}),
        ("o.id::DOUBLE", "id", {NEW, TELLS}),
        (f"if(o.id % 2 = 0, o.name, {SECRET.format('o.id')})", "name", {NEW, TELLS}),
        (f"if(o.id = 7, o.name, {SECRET.format('o.id')})", "name", {NEW}),
        ("'customer ' || (o.id + 37) % 400", "name", {TELLS}),
        ("o.id + 17", "id", {TELLS}),
        ("3 * o.account", "account", {TELLS}),
        ("md5(o.id::VARCHAR)", "id", {TELLS}),
        ("sha256(o.name)", "name", {TELLS}),
        ("base64(encode(o.name))", "name", {TELLS}),
        ("hash(o.id)", "id", {NEW, TELLS}),  # that of 0 is 0
        ("hash(o.name)", "name", {TELLS}),
        ("to_hex(hash(o.birth))", "birth", {TELLS}),
        ("reverse(o.account::VARCHAR)::BIGINT", "account", {TELLS}),
        ("'A' || lpad((row_number() OVER (ORDER BY o.email))::VARCHAR, 6, '0')", "email", {TELLS}),
        ("md5('a secret' || o.id // 2)", "id", {ONE}),
        ("md5('a secret' || o.id)", "house", {ONE}),
        ("uuid()", "house", {ONE}),
        ("md5('a secret' || o.x)", "id", set()),
        ("round(o.x, 2)::VARCHAR || substr(md5('s' || o.id), 1, 4)", "id", {TELLS}),
        ("md5(o.name)", "email", set()),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_its_rule(look: Callable[..., Rows], value: str, of: str, found: set[Any]) -> None:
    assert failed(look(value, of)) == found


def test_counts_are_told_and_no_values(look: Callable[..., Rows]) -> None:
    rows = look("if(o.id < 30, o.name, if(o.id < 40, 'all alike', md5('a secret' || o.id)))", "name")
    assert (of_rule(rows, "pseudonym")["c"]["value"], of_rule(rows, "one_to_one")["c"]["value"]) == (30, 1)
    assert (
        "0 of 400 originals have more than one pseudonym, and 1 of 391 pseudonyms"
        in of_rule(rows, "one_to_one")["c"]["why"]
    )
    assert not any("customer" in row["why"] or "alike" in row["why"] for row in rows)
    rows = look("(SELECT list(email ORDER BY id) FROM o)[1 + (o.id * 7 + 3) % 400]", "email")
    assert failed(rows) >= {NEW}
    row = of_rule(rows, "pseudonym")["c"]
    assert (row["value"], row["why"].split(",")[0]) == (400, "pseudonyms that are the values of others in the original")


def test_null_on_either_side_is_no_pseudonym(tables: duckdb.DuckDBPyConnection, look: Callable[..., Rows]) -> None:
    tables.execute("UPDATE o SET name = NULL WHERE id % 5 = 0")
    token = SECRET.format("o.name")
    assert failed(look(f"if(o.name IS NULL, NULL, {token})", "name")) == set()
    assert failed(look(f"if(o.id % 7 = 0, NULL, {token})", "name")) == set()
    assert failed(look("NULL::VARCHAR", "name")) == set()


def test_a_pseudonym_of_what_nobody_names_cannot_be_asked_and_fails(
    tables: duckdb.DuckDBPyConnection, ask: Ask
) -> None:
    tables.execute(f"CREATE TABLE r AS SELECT m.*, {SECRET.format('id')} AS c FROM m")
    rows = ask(f"FROM release_check('o', 'r', conf=['x'], key='id', pseudonyms=['c'], {OFF})")
    assert failed(rows) == {NEW}
    row = of_rule(rows, "pseudonym")["c"]
    assert row["value"] is None
    assert row["why"].endswith("say which it stands for: pseudonyms := {'c': …}")
    tables.execute("CREATE OR REPLACE TABLE r AS SELECT m.*, md5(id::VARCHAR) AS c FROM m")
    rows = ask(f"FROM release_check('o', 'r', conf=['x'], key='id', pseudonyms=['c'], {OFF})")
    assert failed(rows) == {NEW, TELLS}, "the key is tried whatever it stands for"


def test_an_e_mail_address_may_keep_a_domain_that_three_have(
    tables: duckdb.DuckDBPyConnection, look: Callable[..., Rows]
) -> None:
    kept = "substr(md5('a secret' || o.email), 1, 10) || '@' || split_part(o.email, '@', 2)"
    rows = look(kept, "email")
    assert failed(rows) == set()
    row = of_rule(rows, "identifier")["c"]
    assert (row["value"], row["at_most"]) == (1 / 200, 1 / 3)
    assert "2 domains of e-mail addresses are kept" in row["why"]
    tables.execute("UPDATE o SET email = 'someone@own.example' WHERE id = 17")
    rows = look(kept, "email")
    assert failed(rows) == {DOMAIN}
    assert of_rule(rows, "identifier")["c"]["value"] == 1
    tables.execute("UPDATE o SET email = 'c' || id || '@OWN.example' WHERE id < 3")
    assert failed(look(kept, "email")) == set()
    assert not of_rule(look(KEYED["e-mail"].format("email"), "email"), "identifier").get("c")


def test_a_domain_may_tell_of_conf(tables: duckdb.DuckDBPyConnection, look: Callable[..., Rows]) -> None:
    tables.execute("UPDATE o SET email = split_part(email, '@', 1) || if(x > 1150, '@rich.example', '@poor.example')")
    kept = "substr(md5('a secret' || o.email), 1, 10) || '@' || split_part(o.email, '@', 2)"
    rows = look(kept, "email")
    assert failed(rows) == {TELLS}
    assert of_rule(rows, "tells")["c"]["why"].startswith("tells x")


def test_limits(look: Callable[..., Rows]) -> None:
    value = "if(o.id < 2, o.name, if(o.id < 40, 'all alike', md5('a secret' || o.id)))"
    assert failed(look(value, "name")) == {NEW, ONE, TELLS}
    for given, passed in (("NULL", None), ("1", True), ("0.5", False)):
        rows = look(value, "name", OFF.replace("{", f"{{'one_to_one': {given}, "))
        assert [row["passed"] for row in rows if row["rule"] == "one_to_one"] == [passed]
    with pytest.raises(duckdb.Error, match='rule "pseudonym" has no limit, and cannot be switched off: replace every'):
        look(value, "name", OFF.replace("{", "{'pseudonym': NULL, "))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("pseudonyms=['d']", 'pseudonyms names column "d", which does not exist'),
        ("pseudonyms={'c': 'nam'}", 'pseudonyms names column "nam", which does not exist. Did you mean "name"'),
        ("pseudonyms={'c': 5}", "pseudonyms takes a column name or a list of column names"),
        ("pseudonyms=5", "pseudonyms takes a column name or a list of column names"),
        ("pseudonyms=['c', 'C']", 'pseudonyms names column "c" twice'),
        ("pseudonyms=['id']", 'pseudonyms names column "id", by which rows are matched: leave the key'),
        ("pseudonyms={'c': 'id'}, keep=['c']", 'column "c" is in both pseudonyms and keep'),
        ("pseudonyms={'c': 'id'}, qi=['c']", 'column "c" is in both pseudonyms and qi'),
        ("pseudonyms=['age'], nonconf=['age']", 'column "age" is in both pseudonyms and nonconf'),
        ("pseudonyms=['x']", 'column "x" is in both pseudonyms and conf'),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(look: Callable[..., Rows], ask: Ask, more: str, message: str) -> None:
    look("7")
    with pytest.raises(duckdb.Error, match=re.escape(message)):
        ask(f"FROM release_check('o', 'r', conf=['x'], key='id', {more})")


def test_what_was_replaced_is_not_known_beside_the_release(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """A number in both tables is one that an intruder sees: but not where the release has pseudonyms of it."""
    tables.execute("""
        CREATE TABLE n AS SELECT *, (10 * x)::BIGINT AS number FROM t;
        CREATE TABLE r AS SELECT m.*, ('0x' || substr(md5('a secret' || number), 1, 12))::BIGINT AS number, n.x + id % 7 AS near
        FROM m JOIN n USING (id)
        """)
    rows = ask(f"FROM release_check('n', 'r', conf=['x'], key='id', keep=['near'], pseudonyms=['number'], {OFF})")
    assert failed(rows) == {("tells", "near")}


def test_quoted_names_views_and_queries_and_any_threads(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute(f"""
        CREATE SCHEMA "a b"; CREATE TABLE "a b"."o'1" AS SELECT id, x AS "the x", name AS "na'me", age FROM o;
        CREATE VIEW "a b"."r 2" AS SELECT id, m.x AS "the x", {SECRET.format("name")} AS "to'ken 1", m.age
        FROM m JOIN o USING (id)
        """)
    question = """
        FROM release_check('"a b"."o''1"', '{}', conf=['the x'], key='ID', pseudonyms={{'TO''KEN 1': 'NA''ME'}})
        """
    view = question.format('"a b"."r 2"')
    tables.execute("SET threads = 1")
    one = ask(view)
    assert failed(one) == set()
    assert {"declared", "pseudonym", "one_to_one", "tells"} <= {
        row["rule"] for row in one if row["column_name"] == "to'ken 1"
    }
    tables.execute("SET threads = 2")
    query = ask(question.format('(FROM "a b"."r 2" ORDER BY md5(id::VARCHAR))'))
    rows = [[steady(value) for value in row.values()] for row in one if row["rule"] in _pseudonyms.RULES]
    assert rows == [[steady(value) for value in row.values()] for row in query if row["rule"] in _pseudonyms.RULES]


def test_an_empty_release_and_one_of_few_rows(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    for rows in (0, 5):
        tables.execute(f"CREATE OR REPLACE TABLE r AS SELECT m.*, {SECRET.format('id')} AS c FROM m WHERE id < {rows}")
        found = ask(
            f"FROM release_check('(FROM o WHERE id < {rows})', 'r', conf=['x'], key='id', pseudonyms={{'c': 'id'}}, {OFF})"
        )
        assert [(row["value"], row["passed"]) for row in found if row["rule"] in _pseudonyms.RULES] == [(0, True)] * 2
        assert ("tells", "c") in failed(found), "what so few rows tell cannot be judged"


def test_every_row_is_counted_and_not_a_sample(look: Callable[..., Rows], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_look, "SAMPLED", 50)
    for row in (3, 311):
        assert failed(look(f"if(o.id = {row}, o.name, md5('a secret' || o.id))", "name")) >= {NEW}


def test_pairs_are_taken_once_each() -> None:
    assert different(["a", "a", None, "b"], ["1", "1", "2", None]) == [["a"], ["1"]]
    assert different(["a", "b"], ["1", "1"], ["7", None]) == [["a", "b"], ["1", "1"], ["7", ""]]
    assert different([], []) == [[], []]


def test_domains_of_addresses() -> None:
    assert domains(["a@B.example", "none", None, "a@b@c.example"]) == ["b.example", None, None, "c.example"]


def test_without_counts_nothing_is_said_but_that_it_could_not_be_asked() -> None:
    [row] = _pseudonyms.rows(Pseudonym("c", None), Counts(), [], [])
    assert (row.rule, row.value, row.at_most) == ("pseudonym", None, 0)
