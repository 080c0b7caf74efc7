"""The planner's cursor: it stands where the caller stands, and knows the functions that the caller knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import duckdb

from ppduck.call.registry import Function, functions
from ppduck.catalogue.trip import Trip
from ppduck.errors import UnreadError
from ppduck.query import tree as sql
from ppduck.query.whole_names import Home, qualified
from ppduck.values import folded

Teach = Callable[[duckdb.DuckDBPyConnection, Function], None]
# DuckDB's words for a function that it does not know: the whole name, for one function's may be a part of another's.
_MISSING = re.compile(
    r"Catalog Error: (?:\w+ )*Function with name \"?(?P<name>.*?)\"? does not exist!"
)
_WORD = re.compile(r"\w+")
# What DuckDB says of names, places and grammar; all other messages may quote the values that they are about.
_OF_NAMES = (
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.ParserException,
    duckdb.IOException,
)
_OURS = re.compile(
    r"Python exception occurred while executing the UDF: PpduckError: (?P<words>.*?)\s*(?:\n\n|$)",
    re.S,
)


class PlanningCursor:
    """A cursor for the planner that learns a function of ppduck's once it meets a view that uses it.

    What DuckDB says of a failure comes as an ``UnreadError``, without the values that it may quote.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection, teach: Teach, home: Home) -> None:
        self._cursor = cursor
        self._teach = teach
        self._home = home
        self._known: set[str] = set()

    def execute(self, query: str, parameters: object = None) -> PlanningCursor:
        query = qualified(query, self._home)
        while True:
            try:
                self._cursor.execute(query, parameters)
            except duckdb.Error as error:
                missing = _missing(str(error))
                # All macros would take longer than most plans do.
                if missing is None or missing.name in self._known:
                    raise _without_values(error) from None
                self._known.add(missing.name)
                self._teach(self._cursor, missing)
            else:
                return self

    def meet(self, texts: Iterable[str | None], trip: Trip) -> None:
        """Learns the functions that some texts, and the views that these name, may call.

        A function that is missing would be learnt when it is met; in the place of one that somebody has planted in
        the database under the same name, ppduck's own must be there before.
        """
        views = {
            entry.name.lower(): entry.created.lower()
            for entry in trip.entries(self)
            if entry.is_view
        }
        reached = [text.lower() for text in texts if text]
        for text in reached:  # which grows on the way
            for name in [name for name in views if name in text]:
                reached.append(views.pop(name))
        words = set(_WORD.findall(" ".join(reached)))
        for function in functions():
            if function.name in words and function.name not in self._known:
                self._known.add(function.name)
                self._teach(self._cursor, function)

    def fetchone(self) -> Any:
        """The next row; DuckDB may meet a value that it cannot read only here."""
        try:
            return self._cursor.fetchone()
        except duckdb.Error as error:
            raise _without_values(error) from None

    def fetchall(self) -> list[Any]:
        try:
            return self._cursor.fetchall()
        except duckdb.Error as error:
            raise _without_values(error) from None

    def extract_statements(self, query: str) -> list[Any]:
        try:
            return list(self._cursor.extract_statements(query))
        except duckdb.Error as error:
            raise _without_values(error) from None


def _without_values(error: duckdb.Error) -> Exception:
    """What may be repeated of DuckDB's message."""
    if isinstance(error, duckdb.InterruptException):
        return error
    ours = _OURS.search(str(error))
    if ours is not None:  # a view that holds a call, which was planned on the way
        return UnreadError(ours["words"], unseen=True)
    if isinstance(error, _OF_NAMES):
        return UnreadError(f"DuckDB says: {str(error).splitlines()[0]}", unseen=True)
    kind = str(error).partition(":")[0]
    return UnreadError(
        f"DuckDB cannot read it ({kind}), and what it says may quote a value. To see it, read the table or the file "
        "without ppduck; of a CSV file, read_csv(…, store_rejects=true) tells lines and columns in reject_errors.",
        unseen=False,
    )


def _missing(error: str) -> Function | None:
    """The function of ppduck's that a message says does not exist."""
    said = _MISSING.match(error)
    if said is None:
        return None
    return next((each for each in functions() if folded(each.name) == folded(said["name"])), None)


def move(cursor: duckdb.DuckDBPyConnection, database: str, schema: str, search_path: str) -> None:
    """Names are to mean to the cursor what they mean to the caller."""
    if search_path:
        cursor.execute(f"SET search_path = {sql.render(sql.text(search_path))}")
    else:
        cursor.execute(f"USE {sql.render(sql.name(database))}.{sql.render(sql.name(schema))}")
