"""What runs in a worker: one partition, read once, with the noise and the versions of the driver."""

from __future__ import annotations

import builtins
import pickle
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest

from ppduck.errors import PpduckError
from ppduck.query import tree as sql
from ppduck.runtime.noise import draw_function
from ppduck.spark._driver import Driver
from ppduck.spark._worker import PARTIALS, ROWS, SUM, XOR, Job, Seen, shipped, work

SECRET = b"sixteen bytes or more"
TABLE = pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]})
HASHES = pa.chunked_array([[2**62, 2**62, 2**62 + 1]])  # as Spark gives them, beside each row


@pytest.fixture
def driver() -> Iterator[Driver]:
    with Driver(SECRET) as made:
        made.keep("_pp_table0", TABLE.schema.empty_table())
        yield made


def job(driver: Driver, query: str, **more: Any) -> Job:
    return Job(
        where='egadp_mask on "t"',
        query=query,
        input="_pp_table0",
        columns=TABLE.schema.serialize().to_pybytes(),
        small={},
        functions=pickle.dumps(driver.called(query)),
        canary=driver.canary,
        engine=driver.engine,
        memory="200MB",
        **more,
    )


def hashed(first: int = 0, last: int = 3) -> Iterator[pa.RecordBatch]:
    table = TABLE.append_column("hash", HASHES).slice(first, last - first)
    return iter(table.to_batches())


def partials(made: Job, batches: Iterator[pa.RecordBatch]) -> tuple[pa.Table, Seen]:
    [batch] = work(pickle.dumps(made), batches)
    [row] = batch.to_pylist()
    return pa.ipc.open_stream(row[PARTIALS]).read_all(), (row[ROWS], row[SUM], row[XOR])


def test_a_partition_without_batches_has_its_columns(driver: Driver) -> None:
    made = job(driver, 'SELECT count(*) AS n, max(name) AS m FROM "_pp_table0"')
    found, seen = partials(made, iter(()))
    assert found.to_pylist() == [{"n": 0, "m": None}]
    assert seen == (0, 0, 0)


def test_what_is_seen_is_of_all_rows_in_any_order_and_batches(driver: Driver) -> None:
    made = job(driver, 'SELECT sum(id) AS s FROM "_pp_table0"')
    whole = partials(made, hashed())
    assert partials(made, chain(hashed(2), hashed(0, 2))) == whole
    # the sum is of 64 bits with a sign
    assert whole[1] == (3, 3 * 2**62 + 1 - 2**64, 2**62 + 1)
    assert partials(made, hashed(0, 2))[1] == (2, 2**63 - 2**64, 0)
    unread = job(driver, 'SELECT id FROM "_pp_table0" LIMIT 1')
    assert partials(unread, chain(hashed(0, 1), hashed(1))) == (TABLE.select(["id"])[:1], whole[1])


def test_rows_that_nobody_planned_with_are_refused_at_their_end(driver: Driver) -> None:
    seen = partials(job(driver, 'SELECT 1 AS x FROM "_pp_table0"'), hashed())[1]
    answer = TABLE.schema.serialize().to_pybytes()
    made = job(driver, 'FROM "_pp_table0"', answer=answer, planned=frozenset([seen]))
    found = list(work(pickle.dumps(made), hashed()))
    assert pa.Table.from_batches(found) == TABLE
    with pytest.raises(PpduckError, match="are not those that the call was planned with"):
        list(work(pickle.dumps(made), hashed(1)))


def test_a_worker_of_other_versions_is_refused(driver: Driver) -> None:
    made = job(driver, 'FROM "_pp_table0"')
    for engine in (replace(driver.engine, of_duckdb="1.3.0"), replace(driver.engine, hashes=(1,))):
        with pytest.raises(PpduckError, match=r"a worker on .* has ppduck .* with duckdb .*, and the driver ppduck"):
            list(work(pickle.dumps(replace(made, engine=engine)), iter(())))


def test_a_worker_without_ppduck_says_so(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    send = shipped(job(driver, 'FROM "_pp_table0"'))
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "duckdb":
            raise ImportError(name=name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RuntimeError, match=r"has no duckdb; install ppduck\[spark\] in the Python of every node"):
        list(send(iter(())))


def test_what_is_sent_holds_no_secret_and_names_nothing(driver: Driver) -> None:
    tree = sql.call(draw_function(seeded=False), *[sql.cast(sql.number(1), "BIGINT")] * 3)
    made = job(driver, driver.written(sql.query([tree])))
    assert made.functions != pickle.dumps([])
    assert SECRET not in pickle.dumps(made)
    assert repr(made) == 'Job(egadp_mask on "t")'
    assert shipped(made).__name__ == "ppduck_partition"


def test_an_error_quotes_no_value(driver: Driver) -> None:
    made = job(driver, 'SELECT CAST(name AS INTEGER) AS x FROM "_pp_table0"')
    with pytest.raises(PpduckError, match="DuckDB cannot compute this in a worker") as raised:
        partials(made, hashed())
    assert "'a'" not in str(raised.value)
    ours = job(driver, """SELECT error('egadp_mask on "t": column "x" holds NaN') FROM "_pp_table0" """)
    with pytest.raises(PpduckError, match=r'^egadp_mask on "t": column "x" holds NaN'):
        partials(ours, hashed())
