"""What is known of a source: kinds of columns, names as DuckDB finds them, where a table is."""

from __future__ import annotations

import pytest

from ppduck.catalogue.source import Column, Home, Source

pytestmark = pytest.mark.core


@pytest.mark.parametrize(
    ("type_", "kinds"),
    [
        ("INTEGER", {"integer", "numeric"}),
        ("UHUGEINT", {"integer", "numeric"}),
        ("DECIMAL(18,3)", {"decimal", "numeric"}),
        ("DOUBLE", {"fraction", "numeric"}),
        ("BOOLEAN", {"boolean"}),
        ("ENUM('a', 'b')", {"enum", "category"}),
        ("VARCHAR", {"category"}),
        ("INTEGER[]", set()),
        ("", set()),
    ],
)
def test_kinds_of_columns(type_: str, kinds: set[str]) -> None:
    column = Column("x", type_)
    every = ("integer", "fraction", "decimal", "numeric", "boolean", "enum", "category")
    assert {kind for kind in every if getattr(column, f"is_{kind}")} == kinds


def test_columns_are_found_whatever_the_case() -> None:
    source = Source("t", "t", (Column("Income", "DOUBLE"),))
    assert source.find("INCOME") == Column("Income", "DOUBLE")
    assert source.find("age") is None
    assert source.column("age") == Column("age", "")


def test_nothing_is_found_in_what_the_planner_cannot_see() -> None:
    assert Source("t", "t", None).column("x") == Column("x", "")


def test_a_home_is_written_as_a_whole_name() -> None:
    assert Home("my db", "main", 'a"b', None).sql == '"my db"."main"."a""b"'
