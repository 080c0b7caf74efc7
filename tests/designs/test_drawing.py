"""Draws publish levels with the probabilities of the matrix: evenly spread draws give its columns exactly."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

from ppduck.designs import drawing
from ppduck.designs.design import Attribute
from ppduck.query import tree as sql

pytestmark = pytest.mark.core
DRAWS = 2**32
LEVELS = ("a", "b", "c")
SKEW = ((0.625, 0.25, 0.25), (0.25, 0.75, 0.0), (0.125, 0.0, 0.75))
OTHERS = ((0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))


def asked(rows: str, value: sql.Expr) -> list[Any]:
    with duckdb.connect() as con:
        return [row[0] for row in con.execute(f"SELECT {sql.render(value)} FROM ({rows})").fetchall()]


@pytest.mark.parametrize(
    "attribute",
    [
        Attribute("x", "VARCHAR", LEVELS, 0.625),
        Attribute("x", "VARCHAR", LEVELS, 0.0),
        Attribute("x", "VARCHAR", LEVELS, None, SKEW),
        Attribute("x", "VARCHAR", LEVELS, None, OTHERS),
        Attribute("x", "", LEVELS, None, SKEW),  # of a type that the planner cannot see
    ],
)
def test_every_level_is_published_as_often_as_the_matrix_says(attribute: Attribute) -> None:
    size = 4096
    matrix = np.array(attribute.rows) if attribute.rows else np.full((3, 3), (1 - (attribute.p or 0.0)) / 2)
    np.fill_diagonal(matrix, np.diag(matrix) if attribute.rows else attribute.p)
    place = drawing.place(attribute, null_is_level=False)
    value = drawing.published(attribute, place, sql.column("draw"), sql.text("stranger"), null_is_level=False)
    for j, level in enumerate(LEVELS):
        # The lowest digit, which chooses among the two others, is spread too.
        rows = f"SELECT '{level}' AS x, CAST(i AS UBIGINT) * {DRAWS // size} + i % 2 AS draw FROM range({size}) r(i)"
        found = asked(rows, value)
        shares = [found.count(each) / size for each in LEVELS]
        assert shares == pytest.approx(matrix[:, j], abs=0.002)


@pytest.mark.parametrize("enum", [None, ("c", "a", "b"), LEVELS])
def test_places_are_those_of_the_levels_whatever_the_enum(enum: tuple[str, ...] | None) -> None:
    attribute = Attribute("x", "VARCHAR" if enum is None else f"ENUM{enum}", LEVELS, 0.9, enum=enum)
    cast = "x" if enum is None else f"x::ENUM{enum} AS x"
    rows = f"SELECT {cast} FROM (VALUES ('a'), ('b'), ('c'), (NULL)) v(x)"
    assert asked(rows, drawing.place(attribute, null_is_level=False)) == [0, 1, 2, None]


def test_null_is_a_level_or_stays() -> None:
    attribute = Attribute("x", "VARCHAR", ("a", None), 0.0)
    rows = "SELECT NULL::VARCHAR AS x, 0::UBIGINT AS draw"
    place = drawing.place(attribute, null_is_level=True)
    assert asked(rows, place) == [1]
    level = drawing.published(attribute, place, sql.column("draw"), sql.text(""), null_is_level=True)
    assert asked(rows, level) == ["a"]
    stays = drawing.published(
        Attribute("x", "VARCHAR", ("a", "b"), 0.0), sql.null(), sql.column("draw"), sql.text(""), null_is_level=False
    )
    assert asked(rows, stays) == [None]


def test_a_stranger_is_refused_without_its_value() -> None:
    attribute = Attribute("x", "VARCHAR", LEVELS, 0.9)
    place = drawing.place(attribute, null_is_level=False)
    value = drawing.published(attribute, place, sql.column("draw"), sql.text("no level"), null_is_level=False)
    with pytest.raises(duckdb.InvalidInputException, match="no level") as caught:
        asked("SELECT 'secret' AS x, 0::UBIGINT AS draw", value)
    assert "secret" not in str(caught.value)


def test_levels_come_back_in_the_type_of_their_column() -> None:
    attribute = Attribute("x", "DATE", ("2024-01-01", "2024-01-02"), 0.0)
    place = drawing.place(attribute, null_is_level=False)
    value = drawing.published(attribute, place, sql.column("draw"), sql.text(""), null_is_level=False)
    assert asked("SELECT DATE '2024-01-01' AS x, 0::UBIGINT AS draw", sql.call("typeof", value)) == ["DATE"]


def test_a_word_has_two_draws() -> None:
    word = f"SELECT {(5 << 32) + 7}::UBIGINT AS w"
    assert [asked(word, drawing.half(sql.column("w"), i)) for i in (0, 1)] == [[7], [5]]
