"""The temporary macros through which SQL reaches ppduck, on each connection that is loaded.

    egadp_mask(_1 := NULL, …, tbl := NULL, …)  FROM query(_pp_planned('egadp_mask', [_pp_written(_1, …), …]))
    _pp_planned(function, texts)               ppduck_plan(function, who asks, where, texts, probe)
    _pp_written(_1 := NULL, …, _8 := NULL)     the texts of eight arguments, which are not evaluated

The shared ones are scalar: DuckDB refuses a table macro in whose expansion it meets the same again, as in a measure of
a view that holds a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import duckdb

from ppduck.call import plain_macros
from ppduck.call.registry import Function, PlainMacro
from ppduck.catalogue import operators
from ppduck.errors import quoted
from ppduck.query import tree as sql

PLAN = "ppduck_plan"
PLAN_TYPES = ["VARCHAR", "VARCHAR", "VARCHAR[]", "VARCHAR[][]", "VARCHAR"]
_PLANNED, _WRITTEN = "temp.main._pp_planned", "temp.main._pp_written"
_AT_ONCE = 8  # so many texts, because DuckDB takes long to parse a call for each


def shared(plan: str, connection: str) -> list[str]:
    """What makes the macros that those of all functions call; ``connection`` tells the planner who is asking."""
    # integer_division is heeded when a text is read, which the probe was long before: it cannot show it.
    place = (
        "system.main.current_database(), system.main.current_schema(), system.main.current_setting('search_path'), "
        "CAST(system.main.current_setting('integer_division') AS VARCHAR)"
    )
    told = (
        f"function, {sql.render(sql.text(connection))}, system.main.list_value({place}), CAST(texts AS VARCHAR[][]), "
        f"{operators.PROBE}"
    )
    places = _places(_AT_ONCE)
    texts = ", ".join(f"system.main.alias(CASE WHEN false THEN {place} END)" for place in places)
    return [
        f"CREATE OR REPLACE TEMP MACRO {_WRITTEN}({_optional(places)}) AS system.main.list_value({texts})",
        f"CREATE OR REPLACE TEMP MACRO {_PLANNED}(function, texts) AS system.main.{plan}({told})",
    ]


def of_functions(wanted: Sequence[Function]) -> list[str]:
    """What makes the macros of some functions."""
    plain = tuple(function.name for function in wanted if isinstance(function, PlainMacro))
    return [*_plain(plain), *map(_planned, wanted)]


@cache
def _plain(wanted: tuple[str, ...]) -> list[str]:
    return plain_macros.as_temporary(plain_macros.bodies(), wanted) if wanted else []


def _planned(function: Function) -> str:
    """The table macro of a function: its arguments' texts go to the planner, its answer to query()."""
    # Every parameter has a default here, so that it is ppduck that says which one is missing. To DuckDB conf=[…] is an
    # argument without a name: such ones have places of their own, or they would take that of one that := names.
    names = [quoted(parameter.name) for parameter in function.parameters]
    names = _places(len(names)) + names
    parts = [names[first : first + _AT_ONCE] for first in range(0, len(names), _AT_ONCE)]
    texts = ", ".join(f"{_WRITTEN}({', '.join(part)})" for part in parts)
    return (
        f"CREATE OR REPLACE TEMP MACRO {function.name}({_optional(names)}) AS TABLE "
        f"FROM system.main.query({_PLANNED}('{function.name}', system.main.list_value({texts})))"
    )


def _places(count: int) -> list[str]:
    return [f"_{place}" for place in range(1, count + 1)]


def _optional(names: Sequence[str]) -> str:
    return ", ".join(f"{name} := NULL" for name in names)


@cache
def own_syntax() -> tuple[str, ...]:
    """What DuckDB makes of the expressions that are probed, where there are no macros."""
    with duckdb.connect() as con:
        [found] = con.execute(f"SELECT {operators.PARTS}").fetchall()
    return tuple(found)
