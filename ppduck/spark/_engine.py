"""Spark as an engine of plans: a table of its, of which DuckDB reads the partitions inside Spark's Python workers.

Only Spark's public DataFrame API is used, so that classic sessions and Spark Connect are alike: ``mapInArrow`` for both
operations. Spark gives each row a hash of all its columns, by which all passes over the table must agree.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from operator import xor
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ppduck.errors import PpduckError
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.spark._driver import Driver
from ppduck.spark._worker import PARTIALS, ROWS, SUM, XOR, Job, Seen, shipped
from ppduck.stages.engine import Small

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

WORKER_MEMORY = "512MiB"
_PARTIAL = f"{PARTIALS} binary, {ROWS} bigint, {SUM} bigint, {XOR} bigint"
_HASH = "_pp_hash"


@frozen
class Input:
    """A table of Spark's, under the name by which queries know it."""

    name: str
    label: str
    frame: DataFrame
    schema: pa.Schema


class SparkEngine:
    """One table, for one call."""

    def __init__(self, where: str, table: Input, driver: Driver) -> None:
        self.where, self.table, self.driver = where, table, driver
        self.seen: list[Seen] | None = None  # of each partition that is not empty
        self._made: Callable[[DataFrame], DataFrame] = lambda frame: frame
        self._mapped: DataFrame | None = None
        self.kept: list[DataFrame] = []  # what Spark keeps for the release, until it is written
        self.rows = 0  # of a release of what is kept

    def collect_partials(self, query: sql.Expr, small: Small) -> Sequence[pa.Table]:
        found = self._hashed().mapInArrow(shipped(self._job(query, small)), _PARTIAL).collect()
        self._agree([(row[ROWS], row[SUM], row[XOR]) for row in found if row[ROWS]])
        return [pa.ipc.open_stream(row[PARTIALS]).read_all() for row in found]

    def narrow(self, names: Sequence[str]) -> SparkEngine:
        """A few columns of the table, for a pass by itself: Spark reads and sends no others."""
        table = self.table
        fields = [table.schema.field(name) for name in names]
        frame = table.frame.select(*map(spelt, names))
        return SparkEngine(
            self.where, replace(table, frame=frame, schema=pa.schema(fields)), self.driver
        )

    def map_partitions(self, query: sql.Expr, small: Small) -> DataFrame:
        schema = self.driver.answer(query).schema
        planned = None if self.seen is None else frozenset([*self.seen, (0, 0, 0)])
        job = replace(
            self._job(query, small), answer=schema.serialize().to_pybytes(), planned=planned
        )
        rows = self._as_spark_has(schema)
        self._made = lambda frame: frame.mapInArrow(shipped(job), rows)
        self._mapped = self._made(self._hashed())
        return self._mapped

    def _as_spark_has(self, schema: pa.Schema) -> StructType:
        """The types of a table that is made of this one; what was there keeps its own."""
        from pyspark.sql.types import StructField, StructType

        frame, known = self.table.frame, self.table.schema
        # Over Spark Connect no data frame is made of a table without rows.
        nothing = pa.Table.from_arrays([pa.nulls(1, each.type) for each in schema], schema.names)
        new = frame.sparkSession.createDataFrame(nothing).schema
        types = {
            field.name: field.dataType
            for field in frame.schema
            if field.name in schema.names
            and _but_for_null(schema.field(field.name)) == _but_for_null(known.field(field.name))
        }
        return StructType(
            [StructField(each.name, types.get(each.name, each.dataType)) for each in new]
        )

    def write(self, released: DataFrame, name: str) -> None:
        """Has Spark compute a release of this table, into a new one; raises unless all planned rows were read."""
        from pyspark.sql import Observation, functions

        if released is not self._mapped:  # which comes of rows that workers compared with the plan
            self._write_kept(released, name)
            return
        observed, frame = Observation(), self._hashed()
        rows = functions.count(functions.lit(1)).alias(ROWS)
        digest = functions.coalesce(functions.bit_xor(_HASH), functions.lit(0)).alias(XOR)
        self._made(frame.observe(observed, rows, digest)).write.saveAsTable(name)
        if self.seen is not None and observed.get != _whole(self.seen):
            raise self._changed()

    def _write_kept(self, released: DataFrame, name: str) -> None:
        """What no longer is one partition of the table for one of the release: its rows are as many as were planned."""
        from pyspark.sql import Observation, functions

        observed = Observation()
        try:
            rows = functions.count(functions.lit(1)).alias(ROWS)
            released.observe(observed, rows).write.saveAsTable(name)
        finally:
            for frame in self.kept:
                frame.unpersist()
        if observed.get[ROWS] != self.rows:
            raise self._changed()

    def _hashed(self) -> DataFrame:
        """The table with a hash of each row, as its last column."""
        from pyspark.sql import functions

        hashed = functions.xxhash64(*chain.from_iterable(map(_hashable, self.table.schema)))
        # PySpark looks columns up by name on their way to Python, and stumbles over dots and backticks.
        places = [f"_pp_{place}" for place in range(len(self.table.schema))]
        return self.table.frame.select("*", hashed).toDF(*places, _HASH)

    def _agree(self, seen: list[Seen]) -> None:
        """Every pass must read the same rows, in the same partitions."""
        if self.seen is not None and sorted(seen) != sorted(self.seen):
            raise self._changed()
        self.seen = seen

    def _changed(self) -> PpduckError:
        return PpduckError(
            f"{self.where}: two passes over the table read different rows: it changes while it is read, or gives other "
            "rows each time (rand(), LIMIT or row_number() without a full order, TABLESAMPLE). Write what it is made "
            "of to a table first, and mask that."
        )

    def _job(self, query: sql.Expr, small: Small) -> Job:
        text = self.driver.written(query)
        return Job(
            where=self.where,
            query=text,
            input=self.table.name,
            columns=self.table.schema.serialize().to_pybytes(),
            small={name: _stream(table) for name, table in small.items()},
            functions=pickle.dumps(self.driver.called(text)),
            canary=self.driver.canary,
            engine=self.driver.engine,
            memory=WORKER_MEMORY,
        )


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: Any = sink.getvalue().to_pybytes()
    return bytes(found)


def spelt(name: str) -> str:
    """A column's name where Spark takes a path."""
    return "`" + name.replace("`", "``") + "`"


def _but_for_null(field: pa.Field) -> str:
    """Its type; what is never NULL in Spark may be so in what is made of it."""
    return str(field.type).replace(" not null", "")


_IN_FULL = {  # what to_json would else leave out
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def _hashable(field: pa.Field) -> list[Column]:
    """What Spark's hash tells a column's values by. It passes over NULLs, in lists too, and has none of a map."""
    from pyspark.sql import functions

    column = functions.col(spelt(field.name))
    nested = pa.types.is_nested(field.type)
    of = functions.to_json(functions.struct(column), _IN_FULL) if nested else column
    return [of, functions.isnull(column)]


def _whole(seen: Sequence[Seen]) -> dict[str, int]:
    """What Spark must see of all rows."""
    return {ROWS: sum(rows for rows, _, _ in seen), XOR: reduce(xor, (each[2] for each in seen), 0)}
