"""Keys are values: the same number in every type and order, by a byte form that is stated, and no other value's."""

from __future__ import annotations

import hashlib
import re

import duckdb
import pytest

from ppduck.catalogue.source import Column
from ppduck.query import tree as sql
from ppduck.stages import keys

pytestmark = pytest.mark.core


def stated(*texts: str | None) -> int:
    """The key of some texts, written anew from what the module says of it."""
    [only] = texts if len(texts) == 1 else [None]
    if only is not None and re.fullmatch(r"0|-?[1-9][0-9]*", only) and -(2**63) <= int(only) < 2**63:
        return int(only)
    form = b"".join(b"-" if text is None else b"%d:%s" % (len(text.encode()), text.encode()) for text in texts)
    return int.from_bytes(hashlib.sha256(form).digest()[:8], "big") >> 1


def found(con: duckdb.DuckDBPyConnection, *values: str, typed: bool = True, names: str = "abcdefgh") -> int:
    """The key of a row of these SQL values, in columns of their types; or of types that the planner does not know."""
    given = ", ".join(f'{value} AS "{name}"' for value, name in zip(values, names, strict=False))
    described = con.execute(f"DESCRIBE SELECT {given}").fetchall()
    columns = [Column(name, type_ if typed else "") for name, type_, *_ in described]
    [(key,)] = con.execute(f"SELECT {sql.render(keys.key(columns))} FROM (SELECT {given})").fetchall()
    return int(key)


SEVEN = [
    "7", "7::TINYINT", "7::SMALLINT", "7::BIGINT", "7::UTINYINT", "7::UINTEGER", "7::UBIGINT", "7::HUGEINT",
    "7::UHUGEINT", "7::DECIMAL(4, 0)", "7.00::DECIMAL(9, 2)", "7::DECIMAL(38, 10)", "7::DOUBLE", "7::FLOAT", "'7'",
    "'7'::ENUM('x', '7')", "'7'::BLOB",
]  # fmt: skip


@pytest.mark.parametrize("typed", [True, False])
def test_a_whole_number_is_itself_in_every_type(con: duckdb.DuckDBPyConnection, typed: bool) -> None:
    assert {found(con, value, typed=typed) for value in SEVEN} == {7}
    for value in ("(-7)::TINYINT", "(-7)::BIGINT", "-7.0::DOUBLE", "'-7'", "-7.00::DECIMAL(5, 2)"):
        assert found(con, value, typed=typed) == -7
    for value in ("0", "'0'", "0.00", "0.0::DOUBLE", "-0.0::DOUBLE", "0::UHUGEINT"):
        assert found(con, value, typed=typed) == 0
    for value in (f"{2**63 - 1}", f"{2**63 - 1}::HUGEINT", f"'{2**63 - 1}'", f"{2**63 - 1}::UBIGINT"):
        assert found(con, value, typed=typed) == 2**63 - 1
    assert found(con, f"'{-(2**63)}'", typed=typed) == -(2**63)


FORMS = {
    "'07'": "07", "'7.0'": "7.0", "' 7'": " 7", "'+7'": "+7", "'-0'": "-0", "''": "", "'NULL'": "NULL", "'-'": "-",
    "'ö; --'": "ö; --", "'1:a1:b'": "1:a1:b", f"'{2**63}'": str(2**63), f"{2**63}::UBIGINT": str(2**63),
    f"{2**64}::HUGEINT": str(2**64), "7.50::DECIMAL(9, 2)": "7.5", "7.5::DOUBLE": "7.5", "7.5::FLOAT": "7.5",
    "0.1::DOUBLE": "0.1", "0.10::DECIMAL(3, 2)": "0.1", "1e300::DOUBLE": "1e+300", "'nan'::DOUBLE": "nan",
    "true": "true", "DATE '2024-02-29'": "2024-02-29", "TIMESTAMP '2024-02-29 10:00:00.5'": "2024-02-29 10:00:00.5",
    "'00000000-0000-0000-0000-00000000000a'::UUID": "00000000-0000-0000-0000-00000000000a",
    "'\\x00\\xFF'::BLOB": "\\x00\\xFF", "TIMESTAMPTZ 'infinity'": "infinity", "[1, 2]": "[1, 2]",
    "TIMESTAMP '2024-02-29'": "2024-02-29", "TIMESTAMP_S '2024-02-29'": "2024-02-29",
    "TIMESTAMP_MS '2024-02-29'": "2024-02-29", "TIMESTAMP_NS '2024-02-29'": "2024-02-29",
    "'2024-02-29 00:00:00'": "2024-02-29 00:00:00", "TIMESTAMP '2024-02-29 00:00:00.5'": "2024-02-29 00:00:00.5",
    "TIMESTAMPTZ '2024-02-29 10:00:00+00'": "1709200800000000", "INTERVAL '1 month'": "1 month",
}  # fmt: skip


@pytest.mark.parametrize("typed", [True, False])
def test_every_other_value_goes_by_its_text(con: duckdb.DuckDBPyConnection, typed: bool) -> None:
    assert {value: found(con, value, typed=typed) for value in FORMS} == {
        value: stated(text) for value, text in FORMS.items()
    }


def test_a_time_with_zone_does_not_depend_on_the_session(con: duckdb.DuckDBPyConnection) -> None:
    for zone in ("UTC", "Asia/Kathmandu", "America/New_York"):
        con.execute(f"SET TimeZone = '{zone}'")
        for typed in (True, False):
            assert found(con, "TIMESTAMPTZ '2024-02-29 10:00:00+00'", typed=typed) == 1709200800000000


def test_several_columns_are_told_apart_whatever_they_hold(con: duckdb.DuckDBPyConnection) -> None:
    rows = [
        ("'a'", "'b'"), ("'ab'", "''"), ("''", "'ab'"), ("'a1:b'", "''"), ("'1:a'", "'b'"), ("'a'", "NULL::VARCHAR"),
        ("NULL::VARCHAR", "'a'"), ("'a'", "'-'"), ("'a'", "'NULL'"), ("1", "23"), ("12", "3"), ("-1", "23"),
    ]  # fmt: skip
    assert len({found(con, *row) for row in rows}) == len(rows)
    for row in rows:
        texts = [None if part.startswith("NULL") else part.strip("'") for part in row]
        assert found(con, *row) == found(con, *row, typed=False) == stated(*texts)
    assert found(con, "1", "23") == found(con, "'1'", "23.0::DOUBLE") == found(con, "1::UTINYINT", "23.00")


def test_columns_count_by_their_folded_names_and_not_by_their_place(con: duckdb.DuckDBPyConnection) -> None:
    assert found(con, "'x'", "'y'", names="ab") == found(con, "'y'", "'x'", names="ba") == stated("x", "y")
    assert found(con, "'x'", "'y'", names="Ab") == found(con, "'y'", "'x'", names="bA") == stated("x", "y")
    assert found(con, "'x'", "'y'", names="aB") == stated("x", "y")


def test_pinned_keys(con: duckdb.DuckDBPyConnection) -> None:
    """Answers that are published hang on these numbers: they must never change."""
    assert found(con, "'a'") == 2355803643389800977
    assert found(con, "'a'", "'b'") == 9036172749240751661
    assert found(con, "DATE '2024-02-29'") == stated("2024-02-29")


def test_a_collation_does_not_change_a_key(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t (a VARCHAR COLLATE NOCASE); INSERT INTO t VALUES ('Ab'), ('7')")
    key = sql.render(keys.key([Column("a", "VARCHAR")]))
    assert con.execute(f"SELECT {key} FROM t ORDER BY rowid").fetchall() == [(stated("Ab"),), (7,)]


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize(
    ("value", "whole"),
    [("7.00::DECIMAL(9, 2)", 7), ("'-7'", -7), ("7::DOUBLE", 7), ("'07'", None), ("7.5", None), (f"{2**63}", None)],
)
def test_the_whole_number_that_a_value_is(
    con: duckdb.DuckDBPyConnection, value: str, whole: int | None, typed: bool
) -> None:
    [(_, type_, *_)] = con.execute(f"DESCRIBE SELECT {value} AS x").fetchall()
    column = Column("x", type_ if typed else "")
    query = f"SELECT {sql.render(keys.whole(column))} FROM (SELECT {value} AS x)"
    assert con.execute(query).fetchall() == [(whole,)]
    assert not keys.is_always_whole(column)


def test_which_types_hold_nothing_else() -> None:
    assert [keys.is_always_whole(Column("x", type_)) for type_ in ("BIGINT", "UTINYINT", "UBIGINT", "VARCHAR", "")] == [
        True, True, False, False, False,
    ]  # fmt: skip
