"""load(): teaches a DuckDB connection ppduck's functions. The only code that holds a connection.

DuckDB keeps UDFs for a whole database and temporary macros for one connection. The UDFs therefore
go to a planner that belongs to the database and knows its connections only by weak reference; the
macros are made anew on every connection that is loaded.
"""

from __future__ import annotations

import os
import threading
from types import ModuleType
from typing import Any, Literal, cast

import duckdb

from ppduck.call.registry import functions
from ppduck.catalogue.functions import sees_function
from ppduck.errors import PpduckError
from ppduck.extension import macros
from ppduck.extension.planner import INSTANCE, Planner
from ppduck.extension.role import Role, asked, refuse_readable_secret

# found and written while ppduck is imported: to load a connection is then quick
macros.of_functions(functions())

# Kept for good: DuckDB goes on calling a UDF when the connection that registered it is gone, but does not keep its
# Python function alive. A planner holds no connection and no data, so that a database can still be closed.
_planners: dict[str, Planner] = {}
_loading = threading.Lock()


def load(
    con: duckdb.DuckDBPyConnection | ModuleType,
    secret: str | bytes | None = None,
    *,
    role: Literal["owner", "analyst"] = "owner",
) -> duckdb.DuckDBPyConnection:
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
    role:
        Whom the connection is for. An ``"analyst"`` gets all functions but those that make noise: masks are refused,
        also within views, no secret is taken, and PPDUCK_SECRET is not read: a process that was started with it is
        refused, unless ``enable_external_access`` is false, as SQL could read it there. All connections to one
        database share one role, which its first load decides; whoever reads the releases in the owner's process wants
        a database of his own.

    Raises
    ------
    PpduckError
        If ``con`` is no connection, if the secret is too short or not the one that the database was loaded with, if
        the role is unknown, comes with a secret or is not that of the database, or if the first load of a database
        stands inside a transaction.

    Example
    -------
    >>> import duckdb, ppduck
    >>> con = ppduck.load(duckdb.connect())
    >>> _ = con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(100) r(i)")
    >>> con.sql("FROM egadp_mask('t', conf=['x'], nonconf=['s'], key='id')").aggregate("count(*)").fetchall()
    [(100,)]
    """
    wanted, given = asked(role, secret)
    raw = connection(con, "load")
    with _loading:
        planner = planner_of(raw)
        if planner is not None:
            planner.role.refuse_other(wanted)
        if planner is None:
            if wanted is Role.ANALYST:
                refuse_readable_secret(raw)
            planner = Planner(given, wanted)
            # On a cursor, so that they stay when an open transaction of the caller is rolled back.
            with raw.cursor() as cursor:
                planner.register(cursor)
            _planners[planner.token] = planner
        elif given is not None:
            planner.set_secret(given)
        if in_transaction(raw) and not sees_function(raw, INSTANCE, "system"):
            raise PpduckError(
                "ppduck.load: the open transaction cannot see what was added to the database; load before BEGIN."
            )
        planner.teach(raw)
    return cast(duckdb.DuckDBPyConnection, con)


def connect(
    database: str | os.PathLike[str] = ":memory:",
    *,
    secret: str | bytes | None = None,
    role: Literal["owner", "analyst"] = "owner",
    **options: Any,
) -> duckdb.DuckDBPyConnection:
    """Opens a database with ppduck loaded: ``duckdb.connect``, then ``ppduck.load``.

    Parameters
    ----------
    database:
        The database's file; without one the database is in memory.
    secret:
        What keys the noise, as for ``ppduck.load``.
    role:
        Whom the connection is for, as for ``ppduck.load``.
    options:
        Whatever ``duckdb.connect`` takes: ``read_only=True``, ``config={"threads": 2}``.

    Example
    -------
    >>> import ppduck
    >>> with ppduck.connect() as con:
    ...     con.sql("FROM ppduck_functions()").filter("name = 'egadp_mask'").project("name").fetchall()
    [('egadp_mask',)]
    """
    # before a database is opened, or made, that would then be left behind
    asked(role, secret)
    con = duckdb.connect(str(database), **options)
    try:
        return load(con, secret, role=role)
    except BaseException:
        con.close()
        raise


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
    raw = connection(con, "interrupt")
    raw.interrupt()
    for planner in list(_planners.values()):
        planner.interrupt(raw)


def connection(given: Any, function: str) -> duckdb.DuckDBPyConnection:
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


def in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether it has begun a transaction: without one, each statement has its own."""
    first, second = (con.execute("SELECT system.main.txid_current()").fetchall() for _ in range(2))
    return first == second


def planner_of(con: duckdb.DuckDBPyConnection) -> Planner | None:
    """Asked on a cursor, because a call that fails would abort an open transaction."""
    if not _planners:
        return None
    with con.cursor() as cursor:
        try:
            [(token,)] = cursor.execute(f"SELECT system.main.{INSTANCE}()").fetchall()
        except duckdb.CatalogException:
            return None
    return _planners[token]
