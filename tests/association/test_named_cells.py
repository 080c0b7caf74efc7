"""The levels of a table's columns as texts, beside its cells."""

from __future__ import annotations

import pytest

from ppduck.association.named_cells import NamedCells, level_texts
from ppduck.call.udf import told_types
from ppduck.catalogue.tables import Column, Source
from ppduck.designs.design import Attribute
from ppduck.estimators.cells import CellCounts, Cells
from ppduck.estimators.design_source import Release
from ppduck.query import tree as sql

pytestmark = pytest.mark.core


def test_levels_come_in_the_order_of_the_columns() -> None:
    columns = (Column("a", "INTEGER"), Column("b", "DATE"))
    attributes = tuple(Attribute(column.name, column.type, None, 1.0) for column in columns)
    counted = Cells(Release("f", Source("t", "t", columns), columns, attributes), 100)
    first, second = (sql.render(counted.levels(i)) for i in range(2))
    assert sql.render(level_texts(counted)).lower() == (
        f"any_value(cast(list_value(cast({first} as text[]), cast({second} as text[])) as text[][]))"
    )


def test_they_are_told_behind_the_cells() -> None:
    own = told_types(NamedCells)
    assert list(own) == [*told_types(CellCounts), "levels"]
    assert own["levels"] == "VARCHAR[][]"
