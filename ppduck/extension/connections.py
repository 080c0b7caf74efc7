"""load(): teaches a DuckDB connection ppduck's functions. The only code that holds a connection.

DuckDB keeps UDFs for a whole database and temporary macros for one connection. The UDFs therefore
go to a planner that belongs to the database and knows its connections only by weak reference; the
macros are made anew on every connection that is loaded.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import secrets
import threading
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

import duckdb

from ppduck import interrupts
from ppduck.call import plain_macros
from ppduck.call.registry import Function, function_named, functions, udfs
from ppduck.call.udf import Noise
from ppduck.catalogue.operators import Syntax, refuse_macros
from ppduck.catalogue.tables import Catalog
from ppduck.errors import PpduckError, UnreadError
from ppduck.extension import macros
from ppduck.extension.cursor import Taught, move
from ppduck.extension.udfs import callable_by_duckdb
from ppduck.kernels.noise import KeyedNoise
from ppduck.notes import Speaker
from ppduck.query import tree as sql
from ppduck.query.whole_names import qualified
from ppduck.secret import fingerprint, given_secret

INSTANCE = "ppduck_instance"

# Kept for good: DuckDB goes on calling a UDF when the connection that registered it is gone, but does not keep its
# Python function alive. A planner holds no connection and no data, so that a database can still be closed.
_planners: dict[str, Planner] = {}
_loading = threading.Lock()


def load(con: duckdb.DuckDBPyConnection | ModuleType, secret: str | bytes | None = None) -> duckdb.DuckDBPyConnection:
    """Adds ppduck's functions to a DuckDB connection and returns it.

    Parameters
    ----------
    con:
        The connection. A cursor is a connection of its own and wants loading too; all connections to one database
        share one secret; loading a connection again does no harm. A wrapper that passes its calls on to a connection,
        such as SQLAlchemy's event ``connect`` hands over, is loaded as that connection; ``duckdb`` itself as its
        default connection.
    secret:
        What keys the noise, 16 bytes or more. Without it the environment variable PPDUCK_SECRET counts; without
        either it comes from the operating system, and noise changes when the database is opened again, or when a
        later load gives a secret.

    Raises
    ------
    PpduckError
        If ``con`` is no connection, if the secret is too short or not the one that the database was loaded with, or
        if the first load of a database stands inside a transaction.

    Example
    -------
    >>> import duckdb, ppduck
    >>> con = ppduck.load(duckdb.connect())
    >>> _ = con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(100) r(i)")
    >>> con.sql("FROM egadp_mask('t', conf=['x'], nonconf=['s'], key='id')").aggregate("count(*)").fetchall()
    [(100,)]
    """
    given, raw = given_secret(secret), _connection(con, "load")
    with _loading:
        planner = _planner_of(raw)
        if planner is None:
            planner = Planner(given)
            # On a cursor, so that they stay when an open transaction of the caller is rolled back.
            with raw.cursor() as cursor:
                planner.register(cursor)
            _planners[planner.token] = planner
            if _planner_of(raw) is None:
                raise PpduckError(
                    "ppduck.load: the open transaction cannot see what was added to the database; load before BEGIN."
                )
        elif given is not None:
            planner.set_secret(given)
        planner.teach(raw)
    return cast(duckdb.DuckDBPyConnection, con)


def connect(
    database: str | os.PathLike[str] = ":memory:", *, secret: str | bytes | None = None, **options: Any
) -> duckdb.DuckDBPyConnection:
    """Opens a database with ppduck loaded: ``duckdb.connect``, then ``ppduck.load``.

    Parameters
    ----------
    database:
        The database's file; without one the database is in memory.
    secret:
        What keys the noise, as for ``ppduck.load``.
    options:
        Whatever ``duckdb.connect`` takes: ``read_only=True``, ``config={"threads": 2}``.

    Example
    -------
    >>> import ppduck
    >>> with ppduck.connect() as con:
    ...     con.sql("FROM ppduck_functions()").filter("name = 'egadp_mask'").project("name").fetchall()
    [('egadp_mask',)]
    """
    given = given_secret(secret)  # before a database is opened, or made, that would then be left behind
    return load(duckdb.connect(str(database), **options), given)


def interrupt(con: duckdb.DuckDBPyConnection) -> None:
    """Cancels the query of a connection from another thread: ``con.interrupt()``, and what ppduck reads to plan it.

    A query that ppduck still plans reads on cursors of its own, and a mask may compute in Python, such as networks that
    learn: ``con.interrupt()`` reaches neither. The query ends with a ``duckdb.Error`` that says "Interrupted", leaves
    no table, and the connection stays of use.

    Parameters
    ----------
    con:
        The connection, or cursor, that runs the query.

    Example
    -------
    >>> import threading, ppduck
    >>> con = ppduck.connect()
    >>> watch = threading.Timer(60, lambda: ppduck.interrupt(con))  # start() it: no query takes longer than a minute
    """
    raw = _connection(con, "interrupt")
    raw.interrupt()
    for planner in list(_planners.values()):
        planner.interrupt(raw)


class Planner:
    """What one database's UDFs share: its connections, weakly, and its noise."""

    def __init__(self, secret: bytes | None) -> None:
        self.token = secrets.token_hex(8)
        self._fingerprint = fingerprint(secret)
        self._noise = KeyedNoise(secret or secrets.token_bytes(32))
        self._seeded = KeyedNoise(b"seeded noise is for tests")
        self._connections: dict[str, weakref.ref[duckdb.DuckDBPyConnection]] = {}
        self._speaker = Speaker()
        self._registered: list[Callable[..., Any]] = []
        self._udfs: set[str] = set()
        self._functions = {function.name for function in functions()}
        self._syntax = Syntax(macros.own_syntax())
        # Who asked, and the cursor that reads for it.
        self._reading: list[tuple[str, weakref.ref[duckdb.DuckDBPyConnection]]] = []
        self._thread = threading.local()

    def set_secret(self, secret: bytes) -> None:
        if self._fingerprint not in (None, fingerprint(secret)):
            raise PpduckError(
                "ppduck.load: this database is loaded with another secret; close it first, or give the same secret."
            )
        self._fingerprint = fingerprint(secret)
        self._noise = KeyedNoise(secret)

    def teach(self, con: duckdb.DuckDBPyConnection, only: Function | None = None) -> None:
        """Makes the macros, or one of them, which tell the planner by a name who is asking."""
        wanted = functions() if only is None else [only]
        known = next((name for name, reference in self._connections.items() if reference() is con), None)
        name = known or secrets.token_hex(4)
        if known is None:
            self._connections[name] = weakref.ref(con)
            finalizer: Any = weakref.finalize(con, self._connections.pop, name, None)
            finalizer.atexit = False
        self._thread.teaching = True
        try:
            for statement in macros.statements(wanted, self.udf, name):
                con.execute(statement)
        except duckdb.Error:
            refuse_macros("ppduck.load", con)  # DuckDB binds a macro, in part, when it is made
            raise
        finally:
            self._thread.teaching = False

    def register(self, con: duckdb.DuckDBPyConnection) -> None:
        """Registers the UDFs, once for a database."""
        # DuckDB and pyarrow import these at the first call, in two worker threads at a time, of which one would then
        # see the other's half-made modules.
        for module in ("pandas", "pyarrow.dataset"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
        self._add(con, INSTANCE, lambda: self.token, [], "VARCHAR")
        self._add(con, macros.PLAN, self.plan, macros.PLAN_TYPES, "VARCHAR")
        for udf in udfs():
            noise = functools.partial(self._noise_of, udf.noise)
            function, options = callable_by_duckdb(udf, self._speaker, noise)
            self._add(con, udf.name, function, list(udf.takes), udf.gives, **options)

    def udf(self, name: str) -> str:
        """What a UDF is called in this database. Nobody can have planted a macro of that name in its file."""
        return f"{name}_{self.token}"

    def _home(self, name: str) -> str:
        """The whole name of a function that a plan calls."""
        own = name.casefold()
        if own in self._udfs:
            return f"system.main.{self.udf(own)}"
        taught = own in self._functions or own.startswith(plain_macros.OWN)
        return f"temp.main.{own}" if taught else f"system.main.{own}"

    def plan(self, name: str, asking: str, place: list[str], texts: list[str | None], probed: str) -> str:
        """The statement for a call, from the texts of its arguments."""
        if getattr(self._thread, "teaching", False):
            return "SELECT NULL"  # DuckDB 1.4 binds the body of a macro when it is made
        function = function_named(name)
        cursor = self._cursor(asking)
        reading = (asking, weakref.ref(cursor))
        self._reading.append(reading)
        outermost = getattr(self._thread, "read_levels", None) is None
        if outermost:
            self._thread.read_levels = {}
        try:
            *where, divides_whole = place
            move(cursor, *where)
            reader = Taught(cursor, self.teach, self._home)
            self._syntax.refuse_shadowed(name, reader, probed)
            reader.meet(texts)
            catalog = Catalog(reader, self._thread.read_levels)
            with interrupts.planning_for(asking):
                planned = function.plan(catalog, function.read(texts, catalog))
                text = planned if isinstance(planned, str) else sql.render(planned)
                return qualified(text, self._home, integer_division=divides_whole == "true")
        except UnreadError as error:
            raise PpduckError(f"{name}: {error}") from None
        finally:
            if outermost:
                self._thread.read_levels = None
            self._reading.remove(reading)
            cursor.interrupt()  # after a Ctrl-C, DuckDB 1.4 would else wait for the end of what it was reading
            cursor.close()

    def interrupt(self, con: duckdb.DuckDBPyConnection) -> None:
        """Interrupts what computes for a connection, the cursors that read for it, and those that read for them."""
        names = [name for name, reference in list(self._connections.items()) if reference() is con]
        for name in names:
            interrupts.stop(name)
        for asking, reference in list(self._reading):
            cursor = reference()
            if asking in names and cursor is not None:
                cursor.interrupt()
                self.interrupt(cursor)

    def _cursor(self, asking: str) -> duckdb.DuckDBPyConnection:
        """A cursor beside the connection that asks: another one may be at work in another thread."""
        reference = self._connections.get(asking)
        con = reference() if reference else None
        if con is None:
            raise PpduckError("ppduck: the connection of this query is gone; keep it, or call ppduck.load on another.")
        cursor = con.cursor()
        # Names in SQL shall not find ppduck's own variables. Where the configuration is locked they may go on looking.
        with contextlib.suppress(duckdb.Error):
            cursor.execute("SET python_enable_replacements = false")
        return cursor

    def _noise_of(self, of: Noise | None) -> KeyedNoise:
        return self._seeded if of == "seeded" else self._noise

    def _add(
        self,
        con: duckdb.DuckDBPyConnection,
        name: str,
        function: Callable[..., Any],
        takes: list[str],
        gives: str,
        **options: str,
    ) -> None:
        self._registered.append(function)
        self._udfs.add(name)
        create: Any = con.create_function  # its stubs know the types and options only as enumerations
        create(self.udf(name), function, takes, gives, **({"null_handling": "special"} | options))


def _connection(given: Any, function: str) -> duckdb.DuckDBPyConnection:
    """The connection itself, where a wrapper passes its calls on: the planner wants a cursor beside it, not it."""
    # The module acts as its default connection, of which it has no object that lasts.
    if given is duckdb or isinstance(given, duckdb.DuckDBPyConnection):
        return cast(duckdb.DuckDBPyConnection, given)
    raw = getattr(getattr(given, "execute", None), "__self__", None)
    if not isinstance(raw, duckdb.DuckDBPyConnection):
        raise PpduckError(
            f"ppduck.{function}: con must be a DuckDB connection, as duckdb.connect() returns; got "
            f"{type(given).__name__}. To open a database by its name, call ppduck.connect."
        )
    return raw


def _planner_of(con: duckdb.DuckDBPyConnection) -> Planner | None:
    """Told by the name of a function, because a call that fails would abort an open transaction."""
    query = (
        "SELECT function_name FROM duckdb_functions() "
        f"WHERE database_name = 'system' AND starts_with(function_name, '{INSTANCE}_')"
    )
    found = con.execute(qualified(query)).fetchall()
    return _planners[found[0][0].removeprefix(f"{INSTANCE}_")] if found else None
