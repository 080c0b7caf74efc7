"""The DuckDB of a call: it knows the tables' columns and none of their rows, merges what is small, and solves.

Calls are read as DuckDB reads them: each is bound there, and the planner, which is told the texts of its arguments,
keeps them in place of planning.
"""

from __future__ import annotations

import re

import duckdb
import pyarrow as pa

from ppduck.call.registry import Function, function_named, functions, udfs
from ppduck.call.udf import Udf
from ppduck.catalogue import hash_function
from ppduck.errors import PpduckError, near_miss, quoted
from ppduck.extension.cursor import PlanningCursor
from ppduck.extension.planner import Planner
from ppduck.kernels.noise import KeyedNoise
from ppduck.query import tree as sql
from ppduck.spark._worker import Engine

Called = tuple[str, Udf, KeyedNoise | None]


class ReadingPlanner(Planner):
    """Keeps what it is asked to plan."""

    asked: tuple[Function, list[str | None]] | None = None

    def plan(self, first: str, others: list[list[str | None]], name: str, here: list[str]) -> str:
        function = function_named(name)
        self.asked = function, self.texts(function, first, others)
        return "SELECT NULL AS ppduck"


class Driver:
    """One for each call, or for all calls of a statement, which then share their secret."""

    def __init__(self, secret: bytes) -> None:
        self.con = duckdb.connect(
            config={
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
        self.con.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
        self._planner = ReadingPlanner(secret)
        self._planner.register(self.con)
        self._planner.teach(self.con)
        self.reader = PlanningCursor(self.con.cursor(), self._planner.teach, self._planner.home)
        self.canary = f"SELECT {hash_function.asked()}"
        self.engine = Engine.here(self.con, self.canary)

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.con.close()

    def read(self, call: str) -> tuple[Function, list[str | None]]:
        """The function and the texts of its arguments, of a call as it stands in SQL."""
        name, names = call.partition("(")[0].strip(), [function.name for function in functions()]
        if name.casefold() not in names:
            raise PpduckError(
                f"ppduck.spark: {name!r} is none of ppduck's functions.{near_miss(name, names)} "
                f"There are {', '.join(names)}."
            )
        self._planner.asked = None
        try:
            self.con.execute(f"FROM {call}").fetchall()
        except duckdb.Error as error:
            raise PpduckError(f"ppduck.spark: {str(error).splitlines()[0]}") from None
        assert self._planner.asked is not None
        return self._planner.asked

    def written(self, tree: sql.Expr) -> str:
        return self._planner.written(tree)

    def called(self, text: str) -> list[Called]:
        """The functions of ppduck's that a written query calls, each with what makes its noise."""
        names = set(re.findall(rf"\bsystem\.main\.(\w+)_{self._planner.token}\(", text))
        return [
            (
                self._planner.udf(udf.name),
                udf,
                None if udf.noise is None else self._planner.noise_of(udf.noise),
            )
            for udf in udfs()
            if udf.name in names
        ]

    def answer(self, query: sql.Expr) -> pa.Table:
        try:
            return self.con.sql(self.written(query)).to_arrow_table()
        except duckdb.InvalidInputException as error:
            raise _ours(error) from None

    def keep(self, name: str, table: pa.Table) -> None:
        self.con.register("_pp_small", table)
        self.con.execute(f"CREATE OR REPLACE TABLE {quoted(name)} AS FROM _pp_small")
        self.con.unregister("_pp_small")


def _ours(error: duckdb.Error) -> Exception:
    """What Python refused inside a query, without what DuckDB says about it."""
    found = re.search(r"PpduckError: (?P<words>.*?)\s*(?:\n\n|$)", str(error), re.S)
    return PpduckError(found["words"]) if found else error
