"""What runs in Spark's Python workers: DuckDB, over the Arrow batches of one partition.

A partition is read once, streaming, by one query. What is read is counted and digested on the way, so that no answer
rests on rows that were others when the call was planned.
"""

from __future__ import annotations

import pickle
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from ppduck.errors import PpduckError, quoted
from ppduck.extension.udfs import callable_by_duckdb
from ppduck.frozen import frozen
from ppduck.kernels.noise import KeyedNoise
from ppduck.notes import Speaker
from ppduck.version import __version__

PARTIALS, ROWS, SUM, XOR = "partials", "rows", "sum_of_hashes", "xor_of_hashes"
PARTIALS_SCHEMA = pa.schema(
    [(PARTIALS, pa.binary()), (ROWS, pa.int64()), (SUM, pa.int64()), (XOR, pa.int64())]
)
_OUT = 1 << 14  # rows of a batch of an answer

Seen = tuple[int, int, int]  # how many rows a partition has, and the sum and xor of their hashes


@frozen
class Engine:
    """What driver and workers must agree in: else the same rows would not have the same noise."""

    version: str  # of ppduck
    of_duckdb: str
    hashes: tuple[int, ...]

    @classmethod
    def here(cls, con: duckdb.DuckDBPyConnection, asked: str) -> Engine:
        [(hashes,)] = con.execute(asked).fetchall()
        return cls(__version__, duckdb.__version__, tuple(hashes))


@frozen
class Job:
    """A query over each partition of one table. It holds keys of noise where the query makes noise, and no secret."""

    where: str  # function and table, for messages
    query: str
    input: str  # what the query calls the partition's rows
    columns: bytes  # their Arrow schema, for partitions without batches
    small: Mapping[str, bytes]  # tables that the query reads, as Arrow streams
    functions: (
        bytes  # (whole name, types, Udf, noise) of each function of ppduck's that it calls, pickled
    )
    canary: str  # a SELECT of some hashes
    engine: Engine
    memory: str
    answer: bytes | None = (
        None  # the Arrow schema of the rows that are made; None of partial results
    )
    planned: frozenset[Seen] | None = None  # what partitions held when the call was planned

    def __repr__(self) -> str:
        return f"Job({self.where})"


def shipped(job: Job) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What Spark calls for each partition; it says so where a worker lacks what it needs."""
    payload, missing = pickle.dumps(job), _missing()

    def ppduck_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            import duckdb  # noqa: F401

            from ppduck.spark._worker import work
        except ImportError as error:
            raise RuntimeError(missing.format(error.name)) from None
        yield from work(payload, batches)

    # so that it is sent as it is: a worker without ppduck could not even read its name
    ppduck_partition.__module__ = "__main__"
    return ppduck_partition


def _missing() -> str:
    return (
        "ppduck.spark: a Python worker of Spark has no {}; install ppduck[spark] in the Python of every node, "
        f"ppduck {__version__} with duckdb {duckdb.__version__}, as where this call is made."
    )


def work(payload: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches of one partition's answer."""
    job: Job = pickle.loads(payload)
    with (
        tempfile.TemporaryDirectory(prefix="ppduck-") as spill,
        duckdb.connect(config=_settings(job, spill)) as con,
    ):
        _refuse_another_engine(job, con)
        seen = Reading(pa.ipc.read_schema(pa.py_buffer(job.columns)), batches)
        _prepare(job, con)
        con.register(job.input, seen.reader())
        try:
            if job.answer is None:
                yield _partials(con.sql(job.query).to_arrow_table(), seen)
            else:
                yield from _rows(job, con)
        except duckdb.Error as error:
            raise _without_values(job, error) from None
        seen.finish()
        if job.planned is not None and seen.seen not in job.planned:
            raise PpduckError(
                f"{job.where}: the rows that were read are not those that the call was planned with: the source has "
                "changed, or gives other rows each time (rand(), LIMIT or row_number() without a full order, "
                "TABLESAMPLE, another partitioning). Write what it is made of to a table, and call again."
            )


def _settings(job: Job, spill: str) -> dict[str, Any]:
    """Spark runs a task a core, and gives each a share of its memory."""
    return {
        "threads": 1,
        "memory_limit": job.memory,
        "temp_directory": spill,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }


def _refuse_another_engine(job: Job, con: duckdb.DuckDBPyConnection) -> None:
    here = Engine.here(con, job.canary)
    if here != job.engine:
        raise PpduckError(
            f"{job.where}: a worker on {platform.node()} has ppduck {here.version} with duckdb {here.of_duckdb}, and "
            f"the driver ppduck {job.engine.version} with duckdb {job.engine.of_duckdb}"
            f"{'' if here.hashes == job.engine.hashes else ', and hash() gives other values there'}; the same rows "
            "would get other noise. Install the same versions on every node."
        )


def _prepare(job: Job, con: duckdb.DuckDBPyConnection) -> None:
    """The functions and the small tables that the query asks for."""
    con.execute("SET TimeZone = 'UTC'")
    speaker = Speaker()
    functions: list[tuple[str, Any, KeyedNoise | None]] = pickle.loads(job.functions)
    for name, udf, noise in functions:
        assert udf.told is None, "Python solves on the driver"
        function = callable_by_duckdb(udf, speaker, partial(_given, noise))
        create: Any = con.create_function
        types = [con.sqltype(each) for each in udf.takes]
        create(name, function, types, con.sqltype(udf.gives), type="arrow", null_handling="special")
    for name, stream in job.small.items():
        con.register("_pp_small", pa.ipc.open_stream(stream).read_all())
        con.execute(f"CREATE TEMP TABLE {quoted(name)} AS FROM _pp_small")
        con.unregister("_pp_small")


def _given(noise: KeyedNoise | None) -> KeyedNoise:
    assert noise is not None
    return noise


def _partials(table: pa.Table, seen: Reading) -> pa.RecordBatch:
    seen.finish()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    columns = [[sink.getvalue().to_pybytes()], *([each] for each in seen.seen)]
    return pa.RecordBatch.from_pydict(
        dict(zip(PARTIALS_SCHEMA.names, columns, strict=True)), schema=PARTIALS_SCHEMA
    )


def _rows(job: Job, con: duckdb.DuckDBPyConnection) -> Iterator[pa.RecordBatch]:
    schema = pa.ipc.read_schema(pa.py_buffer(job.answer))
    found: Any = con.sql(job.query)
    # DuckDB 1.4 has the same under another name.
    name = "to_arrow_reader" if hasattr(type(found), "to_arrow_reader") else "fetch_record_batch"
    for batch in getattr(found, name)(_OUT):
        if len(batch):
            yield batch.cast(schema)


class Reading:
    """Batches as DuckDB reads them, without their last column, which is a hash of the row: what it sums up to tells
    them from others, whatever their order."""

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        first = next(batches, None)
        self._schema = schema if first is None else _named(first.schema.remove(len(schema)), schema)
        self._left = batches if first is None else chain([first], batches)
        self.seen: Seen = (0, 0, 0)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self._schema, self._read())

    def _read(self) -> Iterator[pa.RecordBatch]:
        for batch in self._left:
            yield self._counted(batch)

    def _counted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        *columns, last = batch.columns
        hashes = last.to_numpy()
        rows, sum_, xor = self.seen
        # as 64 bits with a sign, as Spark has them
        sum_ = (sum_ + int(hashes.sum()) + (1 << 63)) % (1 << 64) - (1 << 63)
        self.seen = rows + len(batch), sum_, xor ^ int(np.bitwise_xor.reduce(hashes))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def finish(self) -> None:
        """What the query has left unread, such as rows after a LIMIT, belongs to the partition too."""
        for batch in self._left:
            self._counted(batch)


def _named(schema: pa.Schema, as_in: pa.Schema) -> pa.Schema:
    return pa.schema(
        [field.with_name(name) for field, name in zip(schema, as_in.names, strict=True)]
    )


def _without_values(job: Job, error: duckdb.Error) -> PpduckError:
    """What DuckDB says of a row may quote it, and Spark writes what a worker says into its logs."""
    _, ours, words = str(error).partition(f"{job.where}: ")
    if ours:
        return PpduckError(ours + words)
    return PpduckError(
        f"{job.where}: DuckDB cannot compute this in a worker ({str(error).partition(':')[0]})."
    )
