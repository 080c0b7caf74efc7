"""What could follow: keywords, tables, columns, functions, and the parameters of ppduck's functions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import duckdb

from ppduck.plan.arguments import Parameter
from ppduck.plan.registry import Function, functions
from ppduck.shell.scan import Bracket, Place, scan

TABLE_PARAMETERS = ("tbl", "original", "masked")
_WORD = re.compile(r'("?)([^\W\d][\w$]*|)$')
_IN_QUOTES = re.compile(r"([\w$ ]*)$")
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_MENTIONED = re.compile(r"\w+")
_OWNER = re.compile(r'("(?:[^"]|"")+"|\w+)\.("?)([\w$]*)$')


class Offer(NamedTuple):
    """A way to go on: the text that takes the place of the last ``replaces`` characters, and what it is."""

    text: str
    replaces: int
    meaning: str = ""


class Names:
    """The names that a connection knows; tables and columns are read anew after each statement."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._columns: dict[tuple[str, str], list[str]] | None = None

    def forget(self) -> None:
        self._columns = None

    @property
    def columns(self) -> dict[tuple[str, str], list[str]]:
        """The columns of each table, by schema and table."""
        if self._columns is None:
            self._columns = {}
            query = """
                SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE NOT internal
                ORDER BY database_name, schema_name, table_name, column_index
            """
            for schema, table, column in self._rows(query):
                self._columns.setdefault((schema, table), []).append(column)
        return self._columns

    @cached_property
    def keywords(self) -> list[str]:
        return [name for (name,) in self._rows("SELECT keyword_name FROM duckdb_keywords() ORDER BY ALL")]

    @cached_property
    def builtins(self) -> list[str]:
        query = """
            SELECT DISTINCT function_name FROM duckdb_functions() WHERE regexp_full_match(function_name, '[a-z]\\w*')
            AND NOT starts_with(function_name, 'ppduck_') ORDER BY ALL
        """
        own = {function.name for function in functions()}
        return [name for (name,) in self._rows(query) if name not in own]

    def _rows(self, query: str) -> list[tuple[str, ...]]:
        with contextlib.suppress(duckdb.Error):  # in a transaction that failed nothing can be asked
            return self._con.execute(query).fetchall()
        return []


def offers(names: Names, before: str) -> Iterator[Offer]:
    """What could follow a text, the likeliest first, each once."""
    place = scan(before)
    if place.quote not in ("", "'", '"'):
        return
    seen = set()
    for offer in _all_offers(names, place):
        if offer.text.casefold() not in seen:
            seen.add(offer.text.casefold())
            yield offer


def _all_offers(names: Names, place: Place) -> Iterator[Offer]:
    call = place.call
    function = next((each for each in functions() if call and each.name == call.function), None)
    if place.quote == "'":
        if call and function:
            yield from _in_a_literal(names, place, call, function)
        return
    if owned := _OWNER.search(place.statement):
        yield from _owned(names, place.statement, *owned.groups())
        return
    found = _WORD.search(place.statement)
    quote, word = found.groups() if found else ("", "")
    length = len(quote) + len(word)
    if quote:
        every = [*_columns(names, place.statement), *((name, "table") for _, name in names.columns)]
        yield from (Offer(_quoted(name), length, kind) for name, kind in _beginning(every, word))
        return
    if call and function and place.brackets[-1] is call and _WORD.sub("", call.arguments[-1]).strip() == "":
        parameters = list(_parameters(call, function, word))
        yield from parameters
        if parameters:
            return  # a literal may stand here too, but no column and no keyword
    yield from (Offer(_written(name), length, kind) for name, kind in _beginning(_objects(names, place), word))
    if not word:
        return  # the rest would be a dictionary
    own = ((each.name, each.summary) for each in functions())
    yield from (Offer(f"{name}(", length, kind) for name, kind in _beginning(own, word))
    lower = word.islower()
    every_word = ((each if lower else each.upper(), "keyword") for each in names.keywords)
    yield from (Offer(name, length, kind) for name, kind in _beginning(every_word, word))
    built_in = ((each, "function") for each in names.builtins)
    yield from (Offer(f"{name}(", length, kind) for name, kind in _beginning(built_in, word))


def _objects(names: Names, place: Place) -> Iterator[tuple[str, str]]:
    """Tables first where one must stand, columns first elsewhere."""
    tables = [(name, "table") for _, name in names.columns]
    before = re.search(r"(\w+)\s+\"?\w*$", place.statement)
    if before and before[1].casefold() in ("from", "join", "into", "update", "table", "view", "describe", "summarize"):
        yield from tables
        return
    yield from _columns(names, place.statement)
    yield from tables


def _columns(names: Names, statement: str) -> Iterator[tuple[str, str]]:
    """The columns of all tables, those of tables that the statement mentions first."""
    mentioned = {word.casefold() for word in _MENTIONED.findall(statement)}
    for wanted in (True, False):
        for (_, table), columns in names.columns.items():
            if (table.casefold() in mentioned) == wanted:
                yield from ((column, f"column of {table}") for column in columns)


def _owned(names: Names, statement: str, owner: str, quote: str, word: str) -> Iterator[Offer]:
    """What follows a schema, a table or an alias and a dot."""
    name = owner[1:-1].replace('""', '"') if owner.startswith('"') else owner
    aliased = re.search(rf'([\w"]+)\s+(?:as\s+)?{re.escape(name)}\b(?!\s*\.)', statement, re.IGNORECASE)
    targets = {name.casefold()} | ({aliased[1].strip('"').casefold()} if aliased else set())
    every: list[tuple[str, str]] = []
    for (schema, table), columns in names.columns.items():
        if table.casefold() in targets:
            every += [(column, f"column of {table}") for column in columns]
        if schema.casefold() == name.casefold():
            every.append((table, "table"))
    write = _quoted if quote else _written
    yield from (Offer(write(each), len(quote) + len(word), kind) for each, kind in _beginning(every, word))


def _parameters(call: Bracket, function: Function, word: str) -> Iterator[Offer]:
    """Parameters that are not given yet, by name or by place."""
    given = {name.casefold() for name in _given(call, function)}
    for parameter in function.parameters:
        if parameter.name not in given and parameter.name.startswith(word.casefold()):
            yield Offer(f"{parameter.name}=", len(word), _explained(parameter))


def _explained(parameter: Parameter) -> str:
    return parameter.doc if parameter.default is None else f"{parameter.doc} (default {parameter.default})"


def _given(call: Bracket, function: Function) -> dict[str, str]:
    """The texts of the arguments before the one at the cursor, by parameter."""
    found = {}
    for position, argument in enumerate(call.arguments[:-1]):
        named = Bracket("(", None, [argument]).parameter
        if named or position < len(function.parameters):
            found[named or function.parameters[position].name] = argument
    return found


def _in_a_literal(names: Names, place: Place, call: Bracket, function: Function) -> Iterator[Offer]:
    """Names of tables, or of columns of the tables that the call names, within single quotes."""
    position = len(call.arguments) - 1
    by_place = function.parameters[position].name if position < len(function.parameters) else None
    parameter = call.parameter or by_place
    found = _IN_QUOTES.search(place.statement)
    word = found[1] if found else ""
    if parameter in TABLE_PARAMETERS:
        every = [(table, "table") for _, table in names.columns]
    else:
        every = list(_columns(names, " ".join(_given(call, function).values())))
    yield from (Offer(f"{name}'", len(word), kind) for name, kind in _beginning(every, word))


def _beginning(every: Iterable[tuple[str, str]], word: str) -> Iterator[tuple[str, str]]:
    return ((name, kind) for name, kind in every if name.casefold().startswith(word.casefold()))


def _written(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name.casefold()) else _quoted(name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
