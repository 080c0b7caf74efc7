"""The names that a connection knows, and how they are to be written where the session stands."""

from __future__ import annotations

import contextlib
import re
import shlex
from functools import cached_property
from typing import Any

import duckdb

from ppduck.call.registry import functions
from ppduck.frozen import frozen
from ppduck.query.whole_names import qualified

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_RAW_IN_A_LITERAL = re.compile(r'[^\s("][^."]*')
Chain = tuple[str, ...]  # names between dots, casefolded

_RELATIONS = """
    SELECT database_name, schema_name, table_name, list(column_name ORDER BY column_index),
           database_name IN (current_database(), 'temp'),
           database_name = current_database() AND schema_name = current_schema() OR database_name = 'temp'
    FROM duckdb_columns() WHERE NOT internal
    GROUP BY database_name, schema_name, table_name ORDER BY ALL
"""
_BUILTINS = """
    SELECT DISTINCT function_name FROM duckdb_functions() WHERE regexp_full_match(function_name, '[a-z]\\w*')
    AND NOT starts_with(function_name, 'ppduck_') ORDER BY ALL
"""
# The words that are no names of columns or tables unless they are quoted.
_RESERVED = """
    SELECT keyword_name FROM duckdb_keywords() GROUP BY keyword_name
    HAVING NOT bool_or(keyword_category IN ('unreserved', 'column_name'))
"""


@frozen
class Relation:
    """A table or view."""

    database: str
    schema: str
    name: str
    columns: tuple[str, ...]
    is_here: bool  # in the current database
    is_visible: bool  # by its name alone

    @property
    def path(self) -> Chain:
        """The names it takes to find it."""
        full = (self.database, self.schema, self.name)
        return full[2:] if self.is_visible else full[1:] if self.is_here else full

    @cached_property
    def spellings(self) -> frozenset[Chain]:
        """All that it may be called."""
        full = chain(self.database, self.schema, self.name)
        found = {full}
        if self.is_here:
            found.add(full[1:])
        if self.schema == "main":
            found.add((full[0], full[2]))
        if self.is_visible:
            found.add(full[2:])
        return frozenset(found)


def chain(*names: str) -> Chain:
    return tuple(name.casefold() for name in names)


class Names:
    """What may be written; asked of the connection when it is needed, and anew after each statement."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con

    def forget(self) -> None:
        for found in ("relations", "keywords", "builtins", "_reserved"):
            self.__dict__.pop(found, None)

    @cached_property
    def relations(self) -> list[Relation]:
        """All tables and views, those first that are found by their names alone."""
        found = [
            Relation(database, schema, name, tuple(columns), here, visible)
            for database, schema, name, columns, here, visible in self._rows(_RELATIONS)
        ]
        return sorted(found, key=lambda relation: (len(relation.path), relation.path))

    @cached_property
    def keywords(self) -> list[str]:
        return [
            name
            for (name,) in self._rows(
                "SELECT DISTINCT keyword_name FROM duckdb_keywords() ORDER BY ALL"
            )
        ]

    @cached_property
    def builtins(self) -> list[str]:
        own = {function.name for function in functions()}
        return [name for (name,) in self._rows(_BUILTINS) if name not in own]

    @cached_property
    def _reserved(self) -> frozenset[str]:
        return frozenset(name for (name,) in self._rows(_RESERVED))

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        with contextlib.suppress(duckdb.Error):  # in a transaction that failed nothing can be asked
            return self._con.execute(qualified(query)).fetchall()
        return []

    def written(self, *path: str) -> str:
        """Names between dots, in quotes where SQL wants them."""
        return ".".join(self._one(name) for name in path)

    def _one(self, name: str) -> str:
        plain = _PLAIN_NAME.fullmatch(name.casefold()) and name.casefold() not in self._reserved
        return name if plain else in_quotes(name)

    def as_argument(self, relation: Relation, *, of_sql: bool) -> str:
        """A table as the text that a function takes: SQL if that is all it reads, or just a name that stands alone."""
        if relation.is_visible and not of_sql and _RAW_IN_A_LITERAL.fullmatch(relation.name):
            return relation.name
        return self.written(*relation.path)


def in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def as_word(relation: Relation) -> str:
    """A table as one word of a dot command."""
    return shlex.quote(".".join(relation.path))
