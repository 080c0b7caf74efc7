"""The temporary macros through which SQL reaches ppduck, on each connection that is loaded.

    egadp_mask(_1 := NULL, …, tbl := NULL, …)  FROM query(_pp_planned(_1, 'egadp_mask', [_pp_written(_2, …), …]))
    _pp_planned(first, function, others)       ppduck_plan(text of the first, texts, function, _pp_here('who asks'))
    _pp_written(_1 := NULL, …, _8 := NULL)     the texts of eight arguments, which are not evaluated
    _pp_here(asking)                           who asks, database, schema, search path, integer_division, the probe,
                                               and which statement it is

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
from ppduck.extension.role import Role

PLAN = "ppduck_plan"
PLAN_TYPES = ["VARCHAR", "VARCHAR[][]", "VARCHAR", "VARCHAR[]"]
NO_STATEMENT = str(2**64 - 1)  # what DuckDB calls a statement that it binds and does not run
_PLANNED, _WRITTEN, _HERE = "temp.main._pp_planned", "temp.main._pp_written", "temp.main._pp_here"
# Arguments whose texts one call of _pp_written gives: one call for each would take DuckDB long to parse.
_AT_ONCE = 8


def shared(plan: str, connection: str) -> list[str]:
    """What makes the macros that those of all functions call; ``connection`` tells the planner who is asking."""
    # The last item numbers statement and transaction: DuckDB may bind a call several times in one
    # statement, and the planner then gives the same plan. The setting integer_division is handed over by
    # itself, as DuckDB heeds it when it parses a slash: that in the probe was parsed when the macro was made.
    here = (
        "asking, system.main.current_database(), system.main.current_schema(), "
        "system.main.current_setting('search_path'), "
        f"CAST(system.main.current_setting('integer_division') AS VARCHAR), {operators.PROBE}, "
        "system.main.concat(system.main.current_query_id(), ' ', system.main.txid_current())"
    )
    places = _places(_AT_ONCE)
    texts = ", ".join(map(_text, places))
    told = f"{_text('first')}, CAST(others AS VARCHAR[][]), function, {_HERE}('{connection}')"
    return [
        f"CREATE OR REPLACE TEMP MACRO {_WRITTEN}({_optional(places)}) AS system.main.list_value({texts})",
        f"CREATE OR REPLACE TEMP MACRO {_HERE}(asking) AS system.main.list_value({here})",
        f"CREATE OR REPLACE TEMP MACRO {_PLANNED}(first, function, others) AS system.main.{plan}({told})",
    ]


def of_functions(wanted: Sequence[Function], role: Role = Role.OWNER) -> list[str]:
    """What makes the macros of some functions; those that the role does not bring are there to be refused."""
    plain = tuple(
        function.name
        for function in wanted
        if isinstance(function, PlainMacro) and role.brings(function)
    )
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
    parts = [names[place : place + _AT_ONCE] for place in range(1, len(names), _AT_ONCE)]
    others = ", ".join(f"{_WRITTEN}({', '.join(part)})" for part in parts)
    # When a macro is made, DuckDB binds no further than to the first of its parameters: that one stands in front.
    told = f"{names[0] if names else 'NULL'}, '{function.name}', system.main.list_value({others})"
    return (
        f"CREATE OR REPLACE TEMP MACRO {function.name}({_optional(names)}) AS TABLE "
        f"FROM system.main.query({_PLANNED}({told}))"
    )


def _text(argument: str) -> str:
    """SQL for what is written in the place of an argument, which is never evaluated."""
    return f"system.main.alias(CASE WHEN false THEN {argument} END)"


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
