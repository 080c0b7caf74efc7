"""Rows that are known while planning are texts in every column, quotes and NULL included."""

from __future__ import annotations

import duckdb

from ppduck.query import tree as sql
from ppduck.query.text_rows import text_rows


def test_rows_of_text() -> None:
    rows = [("it's", None, "a"), ('"b"', None, "")]
    with duckdb.connect() as con:
        relation = con.sql(sql.render(text_rows(["one", "two words", "three"], rows)))
        assert relation.columns == ["one", "two words", "three"]
        assert set(map(str, relation.types)) == {"VARCHAR"}
        assert relation.fetchall() == rows
