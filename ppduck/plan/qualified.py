"""Every function that planned SQL calls is DuckDB's own or ppduck's, whatever macros the user's schemas hold.

A name without a schema finds the macros of the user, of the database file and of the connection before DuckDB's
functions. Planned statements, and the planner's own queries, therefore pass through ``qualified``, which puts
``system.main`` before each name that is called. Nobody can make a macro there.

Text that the user wrote (a SELECT as ``tbl``, a condition) means what it means to the user: ``foreign`` marks it, and
it is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_CALL = r"(?<![\w.])(?P<name>[A-Za-z_]\w*)\("
# Strings, quoted names and what stands between them are skipped; a mark tells how much of what follows is the user's.
_TOKENS = re.compile(rf"""(?:'[^']*'|"[^"]*"|[^\w'"\x00]+)+|\x00(?P<length>\d+):|{_CALL}""")
_CALLS = re.compile(_CALL)

# What is written like a call and is none, or never looked up in the catalogue.
_NO_FUNCTIONS = {
    "all", "and", "any", "by", "cast", "coalesce", "columns", "else", "except", "exclude", "exists", "filter", "from",
    "grouping", "in", "join", "not", "on", "or", "over", "select", "sets", "then", "try_cast", "using", "values",
    "when", "where",
}  # fmt: skip
# Types that take arguments.
_TYPES = {"BIT", "CHAR", "DECIMAL", "ENUM", "MAP", "NUMERIC", "STRUCT", "UNION", "VARCHAR"}

Home = Callable[[str], str]
"""Where a function is, as SQL: its whole name."""


def foreign(text: str) -> str:
    """SQL that the user wrote, to stand in a planned statement as it is."""
    return f"\x00{len(text)}:{text}"


def systems(name: str) -> str:
    return f"system.main.{name}"


def qualified(statement: str, home: Home = systems) -> str:
    """A statement with the whole name of each function that it calls; marks of the user's text are gone."""
    parts: list[str] = []
    written = at = 0
    while found := _TOKENS.search(statement, at):
        at = found.end()
        if found["length"]:
            start, at = at, at + int(found["length"])
            parts += [statement[written : found.start()], statement[start:at]]
        elif _is_function(found):
            parts += [statement[written : found.start()], home(found["name"]), "("]
        else:
            continue
        written = at
    return "".join([*parts, statement[written:]])


def qualified_within(text: str, home: Home, known: Callable[[str], bool]) -> str:
    """SQL that holds more SQL in its strings: the ``known`` functions have their whole names there too."""

    def named(found: re.Match[str]) -> str:
        return f"{home(found['name'])}(" if known(found["name"]) and _is_function(found) else found[0]

    return _CALLS.sub(named, text)


def _is_function(found: re.Match[str]) -> bool:
    name = found["name"]
    return name is not None and name not in _TYPES and name.casefold() not in _NO_FUNCTIONS
