"""What the planner reads of a source: each thing once on a trip, and names as DuckDB finds them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from ppduck.catalogue.source import Column
from ppduck.catalogue.tables import Catalog
from ppduck.catalogue.trip import Trip
from ppduck.errors import PpduckError
from tests.catalogue.reading import Reader

pytestmark = pytest.mark.core


@pytest.fixture
def reader() -> Iterator[Reader]:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i AS \"Id\", 'level ' || i % 3 AS x FROM range(30) r(i)")
        con.execute("CREATE VIEW v AS SELECT x FROM t")
        con.execute("CREATE SCHEMA other")
        con.execute("CREATE TABLE other.t AS SELECT 1 AS one")
        con.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
        con.execute("CREATE TABLE moods AS SELECT 'glad'::mood AS m")
        yield Reader(con)


def catalog(reader: Reader, schema: str = "main", trip: Trip | None = None) -> Catalog:
    return Catalog(reader, trip or Trip(), ("memory", schema, ""))


def test_a_table_is_described_once_on_a_trip(reader: Reader) -> None:
    trip = Trip()
    source = catalog(reader, trip=trip).source("f", "t")
    assert source.columns == (Column("Id", "BIGINT"), Column("x", "VARCHAR"))
    assert (source.has_rowid, source.repeatable, source.sql) == (True, True, '"t"')
    assert source.row_type.replace('"', "") == "STRUCT(Id BIGINT, x VARCHAR)"
    assert source.find("ID") == source.columns[0]
    before = reader.queries
    assert catalog(reader, trip=trip).source("f", "t") == source
    assert catalog(reader, trip=trip).columns_of(source) == source.columns
    assert reader.queries == before
    catalog(reader).source("f", "t")
    assert reader.queries > before


def test_another_place_is_another_question(reader: Reader) -> None:
    trip = Trip()
    assert [c.name for c in catalog(reader, trip=trip).source("f", "t").columns or ()] == ["Id", "x"]
    reader.con.execute("USE other")
    assert [c.name for c in catalog(reader, "other", trip).source("f", "t").columns or ()] == ["one"]


def test_a_view_has_no_row_number_and_is_kept(reader: Reader) -> None:
    source = catalog(reader).source("f", "v")
    assert (source.has_rowid, source.repeatable) == (False, False)


def test_a_select_and_what_is_none(reader: Reader) -> None:
    source = catalog(reader).source("f", "(SELECT x AS y FROM t)")
    assert (source.columns, source.repeatable) == ((Column("y", "VARCHAR"),), False)
    with pytest.raises(PpduckError, match="must hold exactly one SELECT between its parentheses"):
        catalog(reader).source("f", "(DROP TABLE t)")
    with pytest.raises(PpduckError, match="must be named as one table or view, a file, or a parenthesised SELECT"):
        catalog(reader).source("f", "t u; v")


def test_what_cannot_be_seen_may_still_run(reader: Reader) -> None:
    source = catalog(reader).source("f", "tt")
    assert (source.columns, source.repeatable) == (None, False)
    assert 'the planner cannot see "tt". Did you mean "t"?' in catalog(reader).unseen(source)


def test_levels_are_texts_in_the_order_of_their_type(reader: Reader) -> None:
    own = catalog(reader)
    table, moods = own.source("f", "t"), own.source("f", "moods")
    assert own.levels(table, table.column("x"), 3) == ["level 0", "level 1", "level 2"]
    assert own.levels(table, table.column("x"), 2) is None
    assert own.levels(table, table.column("Id"), 30) == [str(i) for i in range(30)]
    assert own.levels(moods, moods.column("m"), 10) == ["sad", "glad"]
    before = reader.queries
    assert own.levels(table, table.column("x"), 2) is None
    assert reader.queries == before
    assert own.counts(table, table.column("x"), ["level 1", "none"]) == [10, 0]


def test_the_place_where_one_stands_comes_first(reader: Reader) -> None:
    assert [home.schema for home in catalog(reader).homes("T")] == ["main", "other"]
    assert [home.schema for home in catalog(reader, "other").homes("t")] == ["other", "main"]
    assert [home.schema for home in catalog(reader).homes("other.t")] == ["other"]
    assert [home.schema for home in catalog(reader).homes("memory.main.t")] == ["main"]
    home = catalog(reader).home("v")
    assert home is not None
    assert (home.sql, home.created) == ('"memory"."main"."v"', "CREATE VIEW v AS SELECT x FROM t;")
    assert catalog(reader).home("nowhere") is None


def test_about_how_many_rows(reader: Reader) -> None:
    own = catalog(reader)
    assert own.about_how_many_rows(own.source("f", "t")) == 30
    assert own.about_how_many_rows(own.source("f", "v")) is None


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        ("1", "INTEGER", "1"),
        (1.0, "INTEGER", "1"),
        (1.5, "INTEGER", None),
        (True, "BOOLEAN", "true"),
        ("x", "DATE", None),
    ],
)
def test_a_value_as_a_type_writes_it(reader: Reader, value: object, type_: str, text: str | None) -> None:
    assert catalog(reader).as_type(value, type_) == text


def test_arguments_are_constant(reader: Reader) -> None:
    assert catalog(reader).evaluate("1 + 1") == 2
    with pytest.raises(PpduckError, match=r"an argument must be constant, and random\(\) is not"):
        catalog(reader).constant("random()")


def test_extremes_are_asked_once_of_all_columns(reader: Reader) -> None:
    own = catalog(reader)
    source = own.source("f", '(SELECT "Id", if("Id" > 90, 1, NULL) AS none FROM t WHERE "Id" > 4)')
    before = reader.queries
    asked = [source.column("id"), source.column("none")]
    for _ in range(2):
        assert own.extremes(source, asked) == {"Id": ("5", "29"), "none": None}
    assert reader.queries == before + 1
