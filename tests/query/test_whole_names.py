"""Every call of a plan is qualified; what the user wrote, and what only looks like a call, is left alone."""

from __future__ import annotations

import pytest

from ppduck.query import tree as sql
from ppduck.query.whole_names import foreign, qualified, qualified_within, systems, theirs


@pytest.mark.parametrize(
    ("written", "whole"),
    [
        ("SELECT sum(x)", "SELECT system.main.sum(x)"),
        ("SELECT 'sum(x)', \"sum(x)\"", "SELECT 'sum(x)', \"sum(x)\""),
        ("SELECT CAST(x AS DECIMAL(8, 2)) IN (1)", "SELECT CAST(x AS DECIMAL(8, 2)) IN (1)"),
        ("SELECT [1, 2]", "SELECT system.main.list_value(1, 2)"),
        ("SELECT x[1], CAST(x AS DOUBLE[])", "SELECT x[1], CAST(x AS DOUBLE[])"),
        ("SELECT s.sum(x)", "SELECT s.sum(x)"),
        (f"SELECT sum({foreign('sum(y)')})", "SELECT system.main.sum(sum(y))"),
    ],
)
def test_calls(written: str, whole: str) -> None:
    assert qualified(written) == whole


def test_division_where_it_would_be_whole() -> None:
    assert qualified("SELECT a / b // c", integer_division=True) == "SELECT a / 1e0 / b // c"
    assert qualified("SELECT a / b") == "SELECT a / b"


def test_sql_within_strings() -> None:
    found = qualified_within("'SELECT sum(x)' || upper(y) || word(z)", systems, lambda name: name != "word")
    assert found == "'SELECT system.main.sum(x)' || system.main.upper(y) || word(z)"


def test_the_users_words_within_a_tree() -> None:
    tree = sql.query([sql.call("sum", theirs("sum(y)"))])
    assert qualified(sql.render(tree)) == "SELECT system.main.sum(sum(y))"
