"""The macros through which SQL reaches the planner: what they hand over, told by a planner that only listens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from ppduck.call.registry import PlainMacro, function_named, functions
from ppduck.extension import macros

pytestmark = pytest.mark.core


@pytest.fixture
def heard() -> Iterator[tuple[duckdb.DuckDBPyConnection, list[tuple[Any, ...]]]]:
    """A connection whose planner notes what it is told, and answers with one row."""
    found: list[tuple[Any, ...]] = []

    def plan(first: str, others: list[list[str | None]], function: str, here: list[str]) -> str:
        found.append((first, others, function, here))
        return "SELECT 1 AS one"

    with duckdb.connect() as con:
        types = [con.sqltype(each) for each in macros.PLAN_TYPES]
        con.create_function("listening", plan, types, con.sqltype("VARCHAR"), null_handling="special")
        for statement in [*macros.shared("listening", "who"), *macros.of_functions([function_named("egadp_mask")])]:
            con.execute(statement)
        found.clear()  # DuckDB 1.4 binds the body of a macro when it is made
        yield con, found


def test_the_texts_of_arguments_arrive_unevaluated(
    heard: tuple[duckdb.DuckDBPyConnection, list[tuple[Any, ...]]],
) -> None:
    con, found = heard
    assert con.execute("FROM egadp_mask('t', conf=[no_such_column], key := 'i' || 'd')").fetchall() == [(1,)]
    first, others, function, (asking, database, schema, path, divides, probe, statement) = found[-1]
    assert (function, asking, database, schema, path, divides) == ("egadp_mask", "who", "memory", "main", "", "false")
    texts = [first, *(text for part in others for text in part)]
    names = [parameter.name for parameter in function_named("egadp_mask").parameters]
    assert len(texts) >= 2 * len(names)
    by_place, by_name = texts[: len(names)], dict(zip(names, texts[len(names) :], strict=False))
    assert "'t'" in by_place[0]
    assert "conf" in by_place[1]
    assert "no_such_column" in by_place[1]
    assert "'i' || 'd'" in by_name["key"].replace("(", "").replace(")", "")
    assert probe
    assert statement


def test_every_function_has_one_macro_and_the_plain_ones_their_bodies() -> None:
    for function in functions():
        made = macros.of_functions([function])
        assert made[-1].startswith(f"CREATE OR REPLACE TEMP MACRO {function.name}(")
        assert (len(made) > 1) == isinstance(function, PlainMacro)


def test_every_parameter_may_be_left_out() -> None:
    """So that it is ppduck that says which one is missing."""
    [made] = macros.of_functions([function_named("noise_mask")])
    head = made[made.index("(") + 1 : made.index(") AS TABLE")]
    count = len(function_named("noise_mask").parameters)
    assert head.count(" := NULL") == len(head.split(", ")) == 2 * count


def test_syntax_is_told_apart_by_an_untouched_database() -> None:
    assert macros.own_syntax() is macros.own_syntax()
    assert all(macros.own_syntax())
