"""Every function that planned SQL calls is DuckDB's own or ppduck's, whatever macros the user's schemas hold.

A name without a schema finds the macros of the user, of the database file and of the connection before DuckDB's
functions. Planned statements, and the planner's own queries, therefore pass through ``qualified``, which puts
``system.main`` before each name that is called. Nobody can make a macro there. A list such as ``[1, 2]`` is a call too,
and is written as one. Where the setting ``integer_division`` is on, ``a / b`` is no more what a plan means by it and
becomes ``a / 1e0 / b``.

Text that the user wrote (a SELECT as ``tbl``, a condition) means what it means to the user: ``foreign`` marks it, and
it is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ppduck.query import tree as sql

_CALL = r"(?<![\w.])(?P<name>[A-Za-z_]\w*)\("
# A bracket right behind a name or another bracket is an index, or a type: x[1], DOUBLE[].
_BRACKETS = r"""(?P<list>(?<![\w"'\])])\[)|(?P<index>\[)|(?P<end>\])"""
# Strings, quoted names and what stands between them are skipped; a mark tells how much of what follows is the user's.
_TOKENS = re.compile(
    rf"""(?:'[^']*'|"[^"]*"|//|[^\w'"\x00\[\]/]+)+|\x00(?P<length>\d+):|{_BRACKETS}|(?P<by>/)|{_CALL}"""
)
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


def theirs(text: str) -> sql.Expr:
    """The same as a part of a tree."""
    return sql.raw(foreign(text))


def systems(name: str) -> str:
    return f"system.main.{name}"


def qualified(statement: str, home: Home = systems, *, integer_division: bool = False) -> str:
    """A statement with the whole name of each function that it calls; marks of the user's text are gone."""
    parts: list[str] = []
    ends: list[str] = []  # what closes each bracket that is open
    written = at = 0
    while found := _TOKENS.search(statement, at):
        at = found.end()
        if found["length"]:
            start, at = at, at + int(found["length"])
            parts += [statement[written : found.start()], statement[start:at]]
        elif _is_function(found):
            parts += [statement[written : found.start()], home(found["name"]), "("]
        elif found["list"] or found["index"]:
            ends.append(")" if found["list"] else "]")
            parts += [
                statement[written : found.start()],
                f"{home('list_value')}(" if found["list"] else "[",
            ]
        elif found["end"]:
            parts += [statement[written : found.start()], ends.pop()]
        elif found["by"] and integer_division:
            parts += [statement[written : found.start()], "/ 1e0 /"]
        else:
            continue
        written = at
    return "".join([*parts, statement[written:]])


def qualified_within(text: str, home: Home, known: Callable[[str], bool]) -> str:
    """SQL that holds more SQL in its strings: the ``known`` functions have their whole names there too."""

    def named(found: re.Match[str]) -> str:
        return (
            f"{home(found['name'])}(" if known(found["name"]) and _is_function(found) else found[0]
        )

    return _CALLS.sub(named, text)


def _is_function(found: re.Match[str]) -> bool:
    name = found["name"]
    return name is not None and name not in _TYPES and name.casefold() not in _NO_FUNCTIONS
