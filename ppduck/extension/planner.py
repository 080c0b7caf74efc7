"""The planner of a database: what its functions in Python share, and what turns a call into a statement."""

from __future__ import annotations

import contextlib
import functools
import secrets
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb

from ppduck import interrupts, libraries
from ppduck.call import plain_macros
from ppduck.call.registry import Function, Stages, function_named, functions
from ppduck.call.udf import Noise, Udf, told_types
from ppduck.catalogue.operators import Syntax, refuse_macros
from ppduck.catalogue.tables import Catalog
from ppduck.catalogue.trip import Trip
from ppduck.errors import PpduckError, UnreadError
from ppduck.extension import macros
from ppduck.extension.cursor import PlanningCursor, move
from ppduck.extension.role import Role
from ppduck.extension.udfs import callable_by_duckdb
from ppduck.kernels.noise import KeyedNoise
from ppduck.notes import Speaker
from ppduck.query import tree as sql
from ppduck.query.whole_names import qualified
from ppduck.secret import fingerprint

INSTANCE = "ppduck_instance"


class Planner:
    """What one database's UDFs share: its connections, weakly, its role, and its noise."""

    def __init__(self, secret: bytes | None, role: Role = Role.OWNER) -> None:
        self.token = secrets.token_hex(8)
        self.role = role
        self._fingerprint = fingerprint(secret)
        self._noise = KeyedNoise(secret or secrets.token_bytes(32))
        self._seeded = KeyedNoise(b"seeded noise is for tests")
        self._connections: dict[str, weakref.ref[duckdb.DuckDBPyConnection]] = {}
        self._speaker = Speaker()
        self._registered: list[Callable[..., Any]] = []
        self._udfs: set[str] = set()
        self._functions = {function.name for function in functions()}
        # The trip of the last statement of each connection.
        self._trips: dict[str, tuple[str, Trip]] = {}
        # Who asked, and the cursor that reads for it.
        self._reading: list[tuple[str, weakref.ref[duckdb.DuckDBPyConnection]]] = []
        self._thread = threading.local()

    @property
    def has_secret(self) -> bool:
        """Whether somebody gave one, so that noise is the same when the database is opened again."""
        return self._fingerprint is not None

    def set_secret(self, secret: bytes) -> None:
        if self._fingerprint not in (None, fingerprint(secret)):
            raise PpduckError(
                "ppduck.load: this database is loaded with another secret; close it first, or give the same secret."
            )
        self._fingerprint = fingerprint(secret)
        self._noise = KeyedNoise(secret)

    @functools.cached_property
    def _syntax(self) -> Syntax:
        return Syntax(macros.own_syntax())

    def teach(self, con: duckdb.DuckDBPyConnection, only: Function | None = None) -> None:
        """Makes the macros, or one of them, which tell the planner by a name who is asking."""
        known = next(
            (name for name, reference in self._connections.items() if reference() is con), None
        )
        name = known or secrets.token_hex(4)
        if known is None:
            self._connections[name] = weakref.ref(con)
            for kept in (self._connections, self._trips):
                finalizer: Any = weakref.finalize(con, kept.pop, name, None)
                finalizer.atexit = False
        shared = macros.shared(self.udf(macros.PLAN), name) if known is None or only is None else []
        wanted = macros.of_functions(functions() if only is None else [only], self.role)
        self._thread.teaching = True
        try:
            con.execute(";\n".join([*shared, *wanted]))
        except duckdb.Error:
            refuse_macros("ppduck.load", con)  # DuckDB binds a macro, in part, when it is made
            raise
        finally:
            self._thread.teaching = False

    def register(self, con: duckdb.DuckDBPyConnection) -> None:
        """Registers the UDFs, once for a database."""
        type_: Any = functools.cache(con.sqltype)  # DuckDB parses each, and there are few

        def takes(udf: Udf) -> list[Any]:
            if udf.told is None:
                return [type_(each) for each in udf.takes]
            # a struct is put together in less time than it is parsed in
            own = {name: type_(each) for name, each in told_types(udf.told).items()}
            return [type_(udf.takes[0]), con.struct_type(own)]

        text, plan_takes = type_("VARCHAR"), [type_(each) for each in macros.PLAN_TYPES]
        add = functools.partial(self._add, con)
        add(INSTANCE, INSTANCE, lambda: self.token, [], text)
        add(macros.PLAN, self.udf(macros.PLAN), self.plan, plan_takes, text)
        for udf in self.role.udfs(functions()):
            noise = functools.partial(self.noise_of, udf.noise)
            function = callable_by_duckdb(udf, self._speaker, noise)
            add(udf.name, self.udf(udf.name), function, takes(udf), type_(udf.gives), type="arrow")

    def udf(self, name: str) -> str:
        """What a UDF is called in this database. Nobody can have planted a macro of that name in its file."""
        return f"{name}_{self.token}"

    def home(self, name: str) -> str:
        """The whole name of a function that a plan calls."""
        own = name.casefold()
        if own in self._udfs:
            libraries.import_what_duckdb_will()
            return f"system.main.{self.udf(own)}"
        taught = own in self._functions or own.startswith(plain_macros.OWN)
        return f"temp.main.{own}" if taught else f"system.main.{own}"

    def written(self, planned: sql.Expr | Stages, *, integer_division: bool = False) -> str:
        """What was planned, as text, with the names that functions have in this database."""
        tree = planned if isinstance(planned, sql.Expr) else planned.query()
        return qualified(sql.render(tree), self.home, integer_division=integer_division)

    def plan(self, first: str, others: list[list[str | None]], name: str, here: list[str]) -> str:
        """The statement for a call, from the texts of its arguments."""
        if getattr(self._thread, "teaching", False):
            return "SELECT NULL"  # DuckDB 1.4 binds the body of a macro when it is made
        function = function_named(name)
        self.role.refuse(function)
        texts = self.texts(function, first, others)
        asking, *settings, statement = here  # in the order of macros.shared
        with self._trip(asking, statement) as trip:
            question = ("plan", name, asking, *settings, *texts)
            return trip.once(
                question, lambda: self._planned(trip, function, asking, settings, texts)
            )

    @staticmethod
    def texts(function: Function, first: str, others: list[list[str | None]]) -> list[str | None]:
        """Those of a call's arguments."""
        # Each parameter comes twice, by its place and by its name; macros fill the last list up to eight texts.
        return [first, *(text for part in others for text in part)][: 2 * len(function.parameters)]

    @contextlib.contextmanager
    def _trip(self, asking: str, statement: str) -> Iterator[Trip]:
        """The trip of the call that this thread plans, which those that it meets on the way go on.

        A view that is named several times in one statement, as a release that is read again, is planned for each name:
        those calls go on the trip of the first.
        """
        under_way: Trip | None = getattr(self._thread, "trip", None)
        if under_way is not None:
            yield under_way
            return
        last, trip = self._trips.get(asking, ("", Trip()))
        if last != statement or statement.startswith(macros.NO_STATEMENT):
            trip = Trip()
        self._trips[asking] = (statement, trip)
        self._thread.trip = trip
        try:
            yield self._thread.trip
        finally:
            self._thread.trip = None

    def _planned(
        self,
        trip: Trip,
        function: Function,
        asking: str,
        here: list[str],
        texts: list[str | None],
    ) -> str:
        cursor = self._cursor(asking)
        reading = (asking, weakref.ref(cursor))
        self._reading.append(reading)
        try:
            database, schema, search_path, divides_whole, probed = here
            move(cursor, database, schema, search_path)
            where = (database, schema, search_path or f"{database}.{schema}")
            reader = PlanningCursor(cursor, self.teach, self.home)
            self._syntax.refuse_shadowed(function.name, reader, probed, trip, where)
            reader.meet(texts, trip)
            catalog = Catalog(reader, trip, where)
            with interrupts.planning_for(asking):
                planned = function.plan(catalog, function.read(texts, catalog))
                return self.written(planned, integer_division=divides_whole == "true")
        except UnreadError as error:
            raise PpduckError(f"{function.name}: {error}") from None
        finally:
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
            raise PpduckError(
                "ppduck: the connection of this query is gone; keep it, or call ppduck.load on another."
            )
        cursor = con.cursor()
        # Names in SQL shall not find ppduck's own variables. Where the configuration is locked they may go on looking.
        with contextlib.suppress(duckdb.Error):
            cursor.execute("SET python_enable_replacements = false")
        return cursor

    def noise_of(self, of: Noise | None) -> KeyedNoise:
        return self._seeded if of == "seeded" else self._noise

    def _add(
        self,
        con: duckdb.DuckDBPyConnection,
        name: str,
        whole_name: str,
        function: Callable[..., Any],
        takes: Sequence[Any],
        gives: Any,
        **options: str,
    ) -> None:
        self._registered.append(function)
        self._udfs.add(name)
        # its stubs know the types and options only as enumerations
        create: Any = con.create_function
        options = {"null_handling": "special"} | options
        create(whole_name, function, list(takes), gives, **options)
