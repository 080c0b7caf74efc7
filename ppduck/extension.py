"""load(): teaches a DuckDB connection ppduck's functions. The only code that holds a connection.

DuckDB keeps UDFs for a whole database and temporary macros for one connection. The UDFs therefore
go to a planner that belongs to the database and knows its connections only by weak reference; the
macros are made anew on every connection that is loaded.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import weakref
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa

import ppduck.assess
from ppduck.errors import PpduckError
from ppduck.kernels.noise import WORDS_PER_BLOCK, KeyedNoise
from ppduck.plan import frame, normals, runtime
from ppduck.plan import sqlbuild as sql
from ppduck.plan.arguments import read_arguments
from ppduck.plan.catalog import Catalog
from ppduck.plan.registry import Function, function_named, functions

SECRET_VARIABLE = "PPDUCK_SECRET"
SHORTEST_SECRET = 16
PLAN, INSTANCE = "ppduck_plan", "ppduck_instance"

_planners: weakref.WeakValueDictionary[str, Planner] = weakref.WeakValueDictionary()
_loading = threading.Lock()


def load(con: duckdb.DuckDBPyConnection, secret: str | bytes | None = None) -> duckdb.DuckDBPyConnection:
    """Adds ppduck's functions to a connection and returns it.

    ``secret`` keys the noise; without it, and without PPDUCK_SECRET in the environment, it comes
    from the operating system and noise changes when the database is opened again. All connections
    to one database share one secret. A cursor is a connection of its own and wants loading too;
    loading a connection again does no harm.
    """
    given = _secret(secret)
    with _loading:
        planner = _planner_of(con)
        if planner is None:
            planner = Planner(given)
            planner.register(con)
            _planners[planner.token] = planner
        elif given is not None:
            planner.set_secret(given)
        name = planner.join(con)
    for function in functions():
        con.execute(_macro(function, name))
    return con


def connect(
    database: str | os.PathLike[str] = ":memory:", *, secret: str | bytes | None = None, **options: Any
) -> duckdb.DuckDBPyConnection:
    """duckdb.connect with ppduck loaded."""
    return load(duckdb.connect(str(database), **options), secret)


class Planner:
    """What one database's UDFs share: its connections, weakly, and its noise."""

    def __init__(self, secret: bytes | None) -> None:
        self.token = secrets.token_hex(8)
        self._fingerprint = _fingerprint(secret)
        self._noise = KeyedNoise(secret or secrets.token_bytes(32))
        self._seeded = KeyedNoise(b"seeded noise is for tests")
        self._connections: dict[str, weakref.ref[duckdb.DuckDBPyConnection]] = {}
        self._registered: list[Callable[..., Any]] = []

    def set_secret(self, secret: bytes) -> None:
        if self._fingerprint not in (None, _fingerprint(secret)):
            raise PpduckError(
                "ppduck.load: this database is loaded with another secret; close it first, or give the same secret."
            )
        self._fingerprint = _fingerprint(secret)
        self._noise = KeyedNoise(secret)

    def join(self, con: duckdb.DuckDBPyConnection) -> str:
        """The name under which a connection's macros tell the planner who is asking."""
        known = next((name for name, reference in self._connections.items() if reference() is con), None)
        name = known or secrets.token_hex(4)
        if known is None:
            self._connections[name] = weakref.ref(con)
            # DuckDB keeps a UDF's Python function only as long as the connection that registered it; others go on
            # using it. So every connection keeps the planner, which keeps the functions.
            weakref.finalize(con, self._leave, name).atexit = False
        return name

    def _leave(self, name: str) -> None:
        self._connections.pop(name, None)

    def register(self, con: duckdb.DuckDBPyConnection) -> None:
        """Registers the UDFs, once for a database."""
        self._add(con, INSTANCE, lambda: self.token, [], "VARCHAR")
        self._add(con, PLAN, self.plan, ["VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR[]"], "VARCHAR")
        self._add(
            con,
            frame.CHECK,
            runtime.check,
            [
                "VARCHAR",
                "VARCHAR",
                "BIGINT",
                "BIGINT[]",
                "DOUBLE[]",
                "BIGINT[]",
                "BIGINT[]",
                "BIGINT",
                "BIGINT",
                "VARCHAR",
            ],
            "UBIGINT",
        )
        self._add(con, frame.SOLVE, runtime.solve, ["VARCHAR", "VARCHAR", "BIGINT", "DOUBLE[]", "DOUBLE[]"], "DOUBLE[]")
        self._add(con, ppduck.assess.COMPARE, ppduck.assess.compare, *ppduck.assess.COMPARE_TYPES)
        for blocks in range(1, normals.MOST_BLOCKS + 1):
            for seeded in (False, True):
                name, words = normals.word_function(blocks, seeded=seeded), self._words(blocks, seeded)
                self._add(
                    con, name, words, ["UBIGINT", "UBIGINT"], f"UBIGINT[{WORDS_PER_BLOCK * blocks}]", type="arrow"
                )

    def plan(self, name: str, asking: str, database: str, schema: str, texts: list[str | None]) -> str:
        """The statement for a call, from the texts of its arguments."""
        function = function_named(name)
        cursor = self._cursor(asking)
        try:
            # Names mean what they mean to the caller.
            cursor.execute(f"USE {_quoted(database)}.{_quoted(schema)}")
            catalog = Catalog(cursor)
            given = read_arguments(name, function.parameters, texts, catalog.evaluate)
            return function.plan(catalog, given)
        finally:
            cursor.close()

    def _cursor(self, asking: str) -> duckdb.DuckDBPyConnection:
        """A cursor beside the connection that asks: another one may be at work in another thread."""
        reference = self._connections.get(asking)
        con = reference() if reference else None
        if con is None:
            raise PpduckError("ppduck: the connection of this query is gone; keep it, or call ppduck.load on another.")
        return con.cursor()

    def _words(self, blocks: int, seeded: bool) -> Callable[[Any, Any], pa.Array]:
        def words(keys: Any, tweaks: Any) -> pa.Array:
            noise = self._seeded if seeded else self._noise
            found = noise.words(keys.to_numpy(), tweaks.to_numpy(), blocks)
            flat = pa.Array.from_buffers(pa.uint64(), len(found), [None, pa.py_buffer(found)])
            return pa.FixedSizeListArray.from_arrays(flat, WORDS_PER_BLOCK * blocks)

        return words

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
        create: Any = con.create_function  # its stubs know the types and options only as enumerations
        create(name, function, takes, gives, **({"null_handling": "special"} | options))


def _planner_of(con: duckdb.DuckDBPyConnection) -> Planner | None:
    try:
        row = con.execute(f"SELECT {INSTANCE}()").fetchone()
    except duckdb.CatalogException:
        return None
    return _planners.get(row[0]) if row else None


def _macro(function: Function, connection: str) -> str:
    """The table macro of a function: its arguments' texts go to the planner, its answer to query()."""
    # Every parameter has a default here, so that it is ppduck that says which one is missing.
    takes = ", ".join(f"{_quoted(parameter.name)} := NULL" for parameter in function.parameters)
    texts = ", ".join(f"alias(CASE WHEN false THEN {_quoted(p.name)} END)" for p in function.parameters)
    name, asking = (sql.render(sql.text(text)) for text in (function.name, connection))
    return (
        f"CREATE OR REPLACE TEMP MACRO {function.name}({takes}) AS TABLE "
        f"FROM query({PLAN}({name}, {asking}, current_database(), current_schema(), CAST([{texts}] AS VARCHAR[])))"
    )


def _quoted(name: str) -> str:
    return sql.render(sql.name(name))


def _fingerprint(secret: bytes | None) -> bytes | None:
    """What is kept of a given secret, to know it again; None for one from the operating system."""
    return None if secret is None else hashlib.sha256(b"ppduck fingerprint\0" + secret).digest()


def _secret(secret: str | bytes | None) -> bytes | None:
    """The secret as bytes; None where neither the caller nor the environment gives one."""
    where = "secret"
    if secret is None:
        secret, where = os.environ.get(SECRET_VARIABLE) or None, SECRET_VARIABLE
    if secret is None:
        return None
    raw = secret.encode() if isinstance(secret, str) else secret
    if len(raw) < SHORTEST_SECRET:
        raise PpduckError(
            f"ppduck.load: {where} is too short to protect anything; give {SHORTEST_SECRET} bytes or more."
        )
    return raw
