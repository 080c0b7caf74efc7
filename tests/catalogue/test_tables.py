"""What the catalogue says of a table: its columns, its home, and what stands in the way of reading it."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from ppduck.catalogue.tables import Catalog, Column, Home, Source, _bytes, _table_name
from ppduck.errors import PpduckError

pytestmark = pytest.mark.core


@pytest.mark.parametrize(
    ("type_", "kinds"),
    [
        ("INTEGER", {"integer", "numeric"}),
        ("DECIMAL(8,2)", {"decimal", "numeric"}),
        ("DOUBLE", {"numeric"}),
        ("BOOLEAN", {"boolean"}),
        ("VARCHAR", {"category"}),
        ("ENUM('a', 'b')", {"enum", "category"}),
        ("DATE", set()),
    ],
)
def test_kinds_of_columns(type_: str, kinds: set[str]) -> None:
    column = Column("x", type_)
    every = ("integer", "decimal", "numeric", "boolean", "enum", "category")
    assert {kind for kind in every if getattr(column, f"is_{kind}")} == kinds


def test_columns_are_found_whatever_their_case() -> None:
    source = Source("t", "t", (Column("Age", "INTEGER"),))
    assert source.find("aGE") == Column("Age", "INTEGER")
    assert source.find("agee") is None
    assert source.column("other") == Column("other", "")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("t", '"t"'),
        ('db."odd name".t', '"db"."odd name"."t"'),
        ("(SELECT 1)", None),
        ("t AS u", None),
        ("read_csv('a.csv')", None),
        ("not a name", None),
    ],
)
def test_what_is_a_name(text: str, name: str | None) -> None:
    assert _table_name(text) == name


def test_sizes_of_settings() -> None:
    assert _bytes("2.0 GiB") == 2 * 2**30
    assert Home("d", 's "x', "t", None).sql == '"d"."s ""x"."t"'


class Plain:
    """A connection where the planner's cursor would be."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con

    def execute(self, query: str, parameters: object = None) -> Any:
        from ppduck.query.whole_names import qualified

        return self._con.execute(qualified(query), parameters)

    def extract_statements(self, query: str) -> list[Any]:
        return list(self._con.extract_statements(query))


def test_a_table_is_described() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS id, 'a' AS g, 2.5::DOUBLE AS x")
        source = Catalog(Plain(con)).source("a_mask", "t")
        assert source.columns == (Column("id", "INTEGER"), Column("g", "VARCHAR"), Column("x", "DOUBLE"))
        assert source.has_rowid
        assert not Catalog(Plain(con)).source("a_mask", "(SELECT * FROM t)").has_rowid


def test_an_argument_that_is_not_constant_is_refused() -> None:
    with duckdb.connect() as con:
        catalog = Catalog(Plain(con))
        assert catalog.constant("1 + 1") == 2
        with pytest.raises(PpduckError, match=r"an argument must be constant, and random\(\) is not"):
            catalog.constant("random()")
