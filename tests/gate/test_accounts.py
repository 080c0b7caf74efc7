"""Every column of a release is accounted for, and what tells who somebody is fails."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest

from ppduck.gate._accounts import DAY, DIALLED, EMAIL, PHONE, Figures, Other, declared_row, identifier_rows
from tests.gate.releases import Rows, failed, of_rule, people

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]
ABOUT = ("declared", "identifier", "pattern")


@pytest.fixture
def look(con: duckdb.DuckDBPyConnection, ask: Ask) -> Callable[..., Rows]:
    """What is said of a release as to its columns; no other rule is asked that can be left out."""
    people(con)
    con.execute("""
        CREATE TABLE persons AS SELECT *, 'person ' || id AS name, 700000 + id AS account,
            100000000 + (('0x' || substr(md5('n' || id), 1, 12))::BIGINT % 900000000) AS insurance,
            if(id = 7, 'a@example.org', 'none') AS contact, printf('+41 7%08d', id * 7919) AS phone,
            DATE '1980-01-01' + (id % 50)::INTEGER AS birth, (DATE '1980-01-01' + (id % 50)::INTEGER)::VARCHAR AS born,
            (id % 50) * INTERVAL 1 HOUR + TIMESTAMP '2020-01-01' AS seen, id * 1.25 AS spent, 1000 + (id % 40) AS zip,
            if(id % 9 = 0, NULL, insurance)::DOUBLE AS member, (1000 + id % 40)::DOUBLE AS code,
            if(id = 3, 0.5, insurance)::DECIMAL(18, 2) AS paid
        FROM t
        """)
    off = ", ".join(f"'{rule}': NULL" for rule in ("tells", "order", "linkage", "cc_gain", "r2_gain", "interval"))

    def asked(release: str, more: str = "", original: str = "persons") -> Rows:
        con.execute(f"CREATE OR REPLACE TABLE r AS {release}")
        rows = ask(f"FROM release_check('{original}', 'r', conf=['x'], key='id', limits={{{off}}}{more})")
        return [row for row in rows if row["rule"] in ABOUT]

    return asked


def test_every_column_of_both_tables_is_accounted_for_once_with_its_why(look: Callable[..., Rows]) -> None:
    rows = look("SELECT *, age * 2 AS double_age, 1 AS one FROM m", ", keep=['one']", "t")
    why = {row["column_name"]: (row["passed"], row["why"]) for row in rows if row["rule"] == "declared"}
    assert sum(row["rule"] == "declared" for row in rows) == len(why)
    assert why.pop("double_age")[0] is False
    assert why == {
        "x": (True, "masked: named in conf"),
        "id": (True, "key: rows are matched by it"),
        "disease": (True, "dropped"),
        "age": (True, "kept: equal to the original's"),
        "region": (True, "kept: equal to the original's"),
        "one": (True, "new, and declared by keep"),
    }


def test_what_is_new_or_changed_fails_unless_somebody_declares_it(look: Callable[..., Rows]) -> None:
    release = "SELECT * REPLACE (if(id < 30, age + 1, age) AS age, upper(region) AS region), 1 AS one FROM m"
    found = of_rule(look(release, original="t"), "declared")
    assert {name: row["value"] for name, row in found.items() if not row["passed"]} == {
        "age": pytest.approx(0.1), "region": 1, "one": 1,
    }  # fmt: skip
    assert found["age"]["why"].startswith("differs from the original's, and nobody declared it")
    assert found["one"]["why"].startswith("is new, and nobody declared it")
    declared = of_rule(look(release, ", keep=['one'], nonconf=['age'], qi=['region']", "t"), "declared")
    assert all(row["passed"] for row in declared.values())
    assert [declared[name]["why"] for name in ("age", "region", "one")] == [
        "changed, and declared by nonconf", "changed, and declared by qi", "new, and declared by keep",
    ]  # fmt: skip


def test_null_in_place_of_a_value_is_a_change_and_null_for_null_is_none(
    con: duckdb.DuckDBPyConnection, look: Callable[..., Rows]
) -> None:
    con.execute("CREATE TABLE gaps AS SELECT * REPLACE (if(id < 30, NULL, age) AS age) FROM t")
    gaps = "SELECT * REPLACE (if(id < {}, NULL, age) AS age) FROM m"
    assert of_rule(look(gaps.format(30), original="gaps"), "declared")["age"]["passed"]
    assert of_rule(look(gaps.format(60), original="gaps"), "declared")["age"]["value"] == pytest.approx(0.1)
    assert of_rule(look(gaps.format(0), original="gaps"), "declared")["age"]["value"] == pytest.approx(0.1)


EXPECTED = {
    ("identifier", "name"), ("identifier", "account"), ("identifier", "insurance"), ("identifier", "phone"),
    ("identifier", "member"),
    ("pattern", "contact"), ("pattern", "phone"), ("pattern", "birth"), ("pattern", "born"), ("pattern", "seen"),
}  # fmt: skip
KEPT = "SELECT m.*, p.* EXCLUDE (id, age, region, x, disease) FROM m JOIN persons p USING (id)"
NAMES = "['name', 'account', 'insurance', 'contact', 'phone', 'birth', 'born', 'seen', 'spent', 'zip', 'member', 'code', 'paid']"


def test_what_tells_who_somebody_is_fails_though_it_is_kept(look: Callable[..., Rows]) -> None:
    assert failed(look(KEPT)) == EXPECTED


def test_declared_numbers_and_days_may_be_released_texts_may_not(look: Callable[..., Rows]) -> None:
    rows = look(KEPT, f", keep={NAMES}")
    assert failed(rows) == {
        ("identifier", "name"),
        ("identifier", "phone"),
        ("pattern", "contact"),
        ("pattern", "phone"),
    }


def test_texts_that_tell_who_somebody_is_fail_though_they_are_declared(look: Callable[..., Rows]) -> None:
    release = "SELECT *, md5('salt' || id) AS token, 'mail' || id || '@example.org' AS mail FROM m"
    assert failed(look(release, original="t")) >= {("identifier", "token"), ("declared", "token"), ("pattern", "mail")}
    told = {("identifier", "token"), ("identifier", "mail"), ("pattern", "mail")}
    assert failed(look(release, ", keep=['token', 'mail']", "t")) == told


def test_one_address_among_a_thousand_values_is_too_many() -> None:
    other = Other("c", "VARCHAR", old=True, declared="keep")
    for emails in (0.0, 1.0):
        [_, pattern] = identifier_rows(other, Figures(1000, 1000, 1000, 3, [emails, 0, 0, 0]), [])
        assert (pattern.rule, pattern.value, pattern.at_most) == ("pattern", emails / 1000, 0)


@pytest.mark.parametrize(
    ("kind", "least", "most", "different", "texts", "judged"),
    [
        ("BIGINT", 1, 1000, 1000, ["1", "22", "333"], True),  # one behind the other
        ("BIGINT", 7001, 8000, 999, ["7001"] * 3, True),
        ("BIGINT", 1e8, 9e8, 1000, ["123456789"] * 3, True),  # all of nine digits
        ("DECIMAL(9,0)", 1e8, 9e8, 1000, ["123456789"] * 3, True),
        ("BIGINT", 0, 9e5, 1000, ["7", "90", "1234", "56789", "123456"], False),  # amounts
        ("BIGINT", 1000, 9999, 900, ["1234"] * 3, False),  # years, postal codes
        ("BIGINT", 1, 300, 300, ["1", "22", "300"], False),  # three rows a value
        ("DOUBLE", 1e8, 9e8, 1000, ["123456789.0"] * 3, True),
        ("DECIMAL(18,2)", 1, 1000, 1000, ["1.00", "22.00"], True),
    ],
)
def test_whole_numbers_that_number_people_identify_them(
    kind: str, least: float, most: float, different: int, texts: list[str], judged: bool
) -> None:
    figures = Figures(1000, 1000, 1000, different, [least, most, 0])
    [row] = identifier_rows(Other("c", kind, old=True, declared=""), figures, texts)
    assert row.value == pytest.approx(different / 1000)
    assert (row.value > row.at_most) == judged
    [row] = identifier_rows(Other("c", kind, old=True, declared="nonconf"), figures, texts)
    assert (row.at_most, "declared by nonconf" in row.why) == (1, True)


@pytest.mark.parametrize("different", [90, 250])
def test_telephone_numbers_that_several_rows_have_are_still_somebodys(different: int) -> None:
    """Four rows of each person; codes that look so are fewer."""
    other = Other("c", "VARCHAR", old=True, declared="keep")
    [identifier, pattern] = identifier_rows(other, Figures(1000, 1000, 1000, different, [0, 1000, 0, 1000]), [])
    assert identifier.value is not None
    assert identifier.value <= identifier.at_most
    assert pattern.value is not None
    assert (pattern.value > pattern.at_most) == (different == 250)
    [_, ranges] = identifier_rows(other, Figures(1000, 1000, 1000, different, [0, 1000, 0, 0]), [])
    assert ranges.value == 0


@pytest.mark.parametrize("kind", ["BIGINT", "VARCHAR", "DATE", "DOUBLE", "BOOLEAN"])
def test_a_column_without_values_identifies_nobody(kind: str) -> None:
    assert identifier_rows(Other("c", kind, old=True, declared=""), Figures(9, 9, 0, 0, [None, None, None]), []) == []


def test_groups_of_anatomy_mask_are_no_identifiers() -> None:
    groups = Other("group_id", "BIGINT", old=False, declared="", of_groups=True)
    assert identifier_rows(groups, Figures(9, 0, 9, 9, [1, 9]), ["1"]) == []
    row = declared_row(groups, Figures(9, 0))
    assert (row.value, row.why) == (0, "new: the groups of anatomy_mask")


def test_of_no_rows_nothing_is_equal() -> None:
    row = declared_row(Other("c", "BIGINT", old=True, declared=""), Figures(0, 0))
    assert row.value is not None
    assert row.value <= 1


@pytest.mark.parametrize(
    ("look_alike", "texts", "others"),
    [
        (EMAIL, ["a@b.org", "write to a.b+c@d-e.co.uk!", "<A@B.COM>"], ["a@b", "@home", "a @ b.org", "at b.org"]),
        (PHONE, ["+41 44 123 45 67", "(030) 123-4567", "0041441234567", "555/12-34-5"], ["12345", "1234 a", "1.5"]),
        (
            DIALLED,
            ["+41 44 123 45 67", "(030) 123-4567", "044 123 45 67", "(212) 555-0100", "123-45-6789", "+41441234567"],
            ["12345-6789", "1000-1999", "1234.567", "0.1234567", "2020-01-31", "012345678", "31.12.1980"],
        ),
        (DAY, ["1980-01-31", "31.12.1980", "1/2/80", "2020-01-01 12:00:00"], ["1980-01", "1980", "Q1 1980"]),
    ],
)
def test_looks(con: duckdb.DuckDBPyConnection, look_alike: str, texts: list[str], others: list[str]) -> None:
    function = "regexp_matches" if look_alike == EMAIL else "regexp_full_match"
    for text in [*texts, *others]:
        assert con.execute(f"SELECT {function}(?, ?)", [text, look_alike]).fetchone() == (text in texts,), text
