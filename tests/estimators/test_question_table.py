"""Levels that a row may have had, and their weights: on average 1 for the true one and 0 for all others."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

from ppduck.designs.design import Attribute
from ppduck.estimators.question_table import CELLS, RandomizedColumn
from ppduck.query import tree as sql

pytestmark = pytest.mark.core
SKEW = ((0.6, 0.25, 0.2), (0.3, 0.7, 0.05), (0.1, 0.05, 0.75))
DESIGNS = [
    Attribute("x", "VARCHAR", ("a", "b", "c"), 0.7),
    Attribute("x", "VARCHAR", ("a", "b", "c"), None, SKEW),
    Attribute("x", "VARCHAR", ("a", "b", None), None, SKEW),
]


def asked(query: sql.Expr, cells: str = "SELECT 1 AS _pp_published_place0") -> list[Any]:
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE {CELLS} AS {cells}")
        return con.execute(sql.render(query)).fetchall()


@pytest.mark.parametrize("attribute", DESIGNS)
def test_weights_are_the_inverse_of_the_matrix(attribute: Attribute) -> None:
    """So that Σ_v P[v, t]·W(u, v) is 1 where u is the true t, and else 0."""
    column = RandomizedColumn(attribute, 0)
    places = sql.query([sql.named(sql.call("unnest", sql.call("range", sql.number(1), sql.number(4))), "i")])
    pairs = sql.query(
        [
            sql.named(sql.column("i", "u"), column.place),
            sql.named(sql.column("i", "v"), column.published_place),
        ],
        sql.derived(places, "u").cross(sql.derived(places.copy(), "v")),
    )
    order = [sql.column(column.place), sql.column(column.published_place)]
    found = asked(sql.query([column.weight()], sql.derived(pairs, "pairs"), order=order))
    weights = np.array(found).reshape(3, 3)
    assert weights @ column.matrix == pytest.approx(np.eye(3), abs=1e-12)


def test_null_that_stays_weighs_for_itself() -> None:
    column = RandomizedColumn(DESIGNS[0], 0)
    pairs = "(SELECT * FROM (VALUES (4, 4), (4, 1), (2, 4)) AS v(_pp_place0, _pp_published_place0))"
    assert column.stays_null
    assert asked(sql.query([column.weight()], sql.source(pairs))) == [(1.0,), (0.0,), (0.0,)]


def test_a_grid_has_null_where_a_row_has_it() -> None:
    column = RandomizedColumn(DESIGNS[0], 0)
    levels = [(1, "a"), (2, "b"), (3, "c")]
    assert asked(column.grid()) == levels
    assert asked(column.grid(), "SELECT 4 AS _pp_published_place0") == [*levels, (4, None)]
    assert asked(RandomizedColumn(DESIGNS[2], 0).grid()) == [(1, "a"), (2, "b"), (3, None)]


def test_a_published_value_has_its_place_or_is_refused() -> None:
    rows = sql.source("(SELECT * FROM (VALUES ('c'), (NULL), ('a')) AS v(_pp_published0))")
    fault = sql.call("error", sql.text("no level"))
    for attribute, expected in ((DESIGNS[0], [3, 4, 1]), (DESIGNS[2], None)):
        query = sql.query([RandomizedColumn(attribute, 0).place_published(fault.copy())], rows)
        if expected is not None:
            assert [row[0] for row in asked(query)] == expected
        else:
            with pytest.raises(duckdb.InvalidInputException, match="no level"):
                asked(query)
