"""What a Python function has answered becomes rows, whose lists stay lists."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.query import tree as sql
from ppduck.query.answer import each_row

pytestmark = pytest.mark.core


def rows_of(answer: str) -> tuple[list[str], list[tuple[object, ...]]]:
    with duckdb.connect() as con:
        con.execute(f'CREATE TABLE solved AS SELECT {answer} AS "the answer"')
        found = con.execute(sql.render(each_row("solved", "the answer")))
        return [column[0] for column in found.description or ()], found.fetchall()


def test_each_struct_is_a_row() -> None:
    names, rows = rows_of("[{'name': 'x', 'items': ['a', 'b']}, {'name': NULL, 'items': []}]")
    assert names == ["name", "items"]
    assert rows == [("x", ["a", "b"]), (None, [])]


def test_an_empty_answer_has_columns_and_no_rows() -> None:
    assert rows_of("CAST([] AS STRUCT(name VARCHAR, value DOUBLE)[])") == (["name", "value"], [])
