"""The temporary macros through which SQL reaches ppduck, on each connection that is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import duckdb

from ppduck.call import plain_macros
from ppduck.call.registry import Function, PlainMacro
from ppduck.catalogue import operators
from ppduck.query import tree as sql

PLAN = "ppduck_plan"
PLAN_TYPES = ["VARCHAR", "VARCHAR", "VARCHAR[]", "VARCHAR[]", "VARCHAR"]


def statements(wanted: Sequence[Function], udf: Callable[[str], str], connection: str) -> list[str]:
    """What makes the macros of some functions; ``connection`` tells the planner who is asking."""
    own = tuple(function.name for function in wanted if isinstance(function, PlainMacro))
    return [*(_plain(own) if own else ()), *(_planned(each, udf(PLAN), connection) for each in wanted)]


def _planned(function: Function, plan: str, connection: str) -> str:
    """The table macro of a function: its arguments' texts go to the planner, its answer to query()."""
    # Every parameter has a default here, so that it is ppduck that says which one is missing. To DuckDB conf=[…] is an
    # argument without a name: such ones have places of their own, or they would take that of one that := names.
    names = [sql.render(sql.name(parameter.name)) for parameter in function.parameters]
    names = [*(f"_{place}" for place in range(1, len(names) + 1)), *names]
    takes = ", ".join(f"{name} := NULL" for name in names)
    texts = ", ".join(f"system.main.alias(CASE WHEN false THEN {name} END)" for name in names)
    # integer_division is heeded when a text is read, which the probe was long before: it cannot show it.
    place = (
        "system.main.current_database(), system.main.current_schema(), system.main.current_setting('search_path'), "
        "CAST(system.main.current_setting('integer_division') AS VARCHAR)"
    )
    told = (
        f"{_text(function.name)}, {_text(connection)}, system.main.list_value({place}), "
        f"CAST(system.main.list_value({texts}) AS VARCHAR[]), {operators.PROBE}"
    )
    return (
        f"CREATE OR REPLACE TEMP MACRO {function.name}({takes}) AS TABLE "
        f"FROM system.main.query(system.main.{plan}({told}))"
    )


@cache
def own_syntax() -> tuple[str, ...]:
    """What DuckDB makes of the expressions that are probed, where there are no macros."""
    with duckdb.connect() as con:
        [found] = con.execute(f"SELECT {operators.PARTS}").fetchall()
    return tuple(found)


def _plain(wanted: Sequence[str]) -> list[str]:
    """What makes these plain macros; those that ppduck has a method of its own for are left out."""
    own, builtins = _known()
    return plain_macros.as_temporary(own, wanted, builtins)


@cache
def _known() -> tuple[list[str], frozenset[str]]:
    """The statements of the file of macros, and the names of DuckDB's functions."""
    with duckdb.connect() as con:
        own = [statement.query for statement in con.extract_statements(plain_macros.text())]
        names = con.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    return own, frozenset(name.casefold() for (name,) in names)


def _text(text: str) -> str:
    return sql.render(sql.text(text))
