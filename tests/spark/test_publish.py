"""A release is whole or not there: sources that change, tasks that fail, names that are taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import ppduck
import ppduck.spark
from ppduck.spark import _publish
from ppduck.spark._engine import SparkEngine
from tests.spark.contract import SECRET, Contract

ARGUMENTS: dict[str, Any] = {"conf": ["x"], "key": "id", "secret": SECRET}


@pytest.fixture
def tables(contract: Contract) -> Iterator[Contract]:
    """A catalogue table, and a place for releases."""
    spark = contract.spark
    spark.sql("CREATE DATABASE IF NOT EXISTS lake")
    rows = spark.range(300).selectExpr("id", "sin(id) AS s", "cos(id * 3) + 2 AS x")
    rows.repartition(3).write.mode("overwrite").saveAsTable("source")
    yield contract
    for name in ("source", "lake.release"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
    assert names(contract) == set()


def names(contract: Contract) -> set[str]:
    return {row.tableName for row in contract.spark.sql("SHOW TABLES IN lake").collect() if row.namespace}


def ids(contract: Contract, table: str) -> int:
    return contract.spark.table(table).count()


def test_a_release_is_written_and_tells_how(tables: Contract) -> None:
    made = ppduck.spark.release(tables.spark, "egadp_mask", "source", to="lake.release", **ARGUMENTS)
    assert made.count() == 300
    assert names(tables) == {"release"}
    told = dict(tuple(row) for row in tables.spark.sql("SHOW TBLPROPERTIES lake.release").collect())
    assert told["ppduck.call"] == """egadp_mask("tbl" := 'source', "conf" := ['x'], "key" := 'id')"""
    assert told["ppduck.version"] == ppduck.__version__
    assert not [value for value in told.values() if SECRET in value]
    checked = ppduck.spark.sql(
        tables.spark,
        "SELECT max(difference) AS worst FROM moments_check('source', 'lake.release', conf=['s','x'], key='id') WHERE statistic <> 'count'",
    )
    assert checked.first().worst < 1e-9  # type: ignore[union-attr]


def test_a_release_replaces_the_one_before(tables: Contract) -> None:
    for rows in (100, 300):
        table = tables.spark.table("source").where(f"id < {rows}")
        ppduck.spark.release(tables.spark, "egadp_mask", table, to="lake.release", **ARGUMENTS)
        assert ids(tables, "lake.release") == rows
        assert names(tables) == {"release"}


def test_a_source_that_changes_meanwhile_leaves_the_release_before(
    tables: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = tables.spark
    ppduck.spark.release(spark, "egadp_mask", "source", to="lake.release", **ARGUMENTS)
    before = sorted(map(tuple, spark.table("lake.release").collect()))
    write = SparkEngine.write

    def meanwhile(engine: SparkEngine, released: Any, name: str) -> None:
        spark.sql("INSERT INTO source VALUES (1000, 0.5, 40.0)")
        write(engine, released, name)

    monkeypatch.setattr(SparkEngine, "write", meanwhile)
    with pytest.raises(Exception, match=r"are not those that the call was planned with|read different rows"):
        ppduck.spark.release(spark, "egadp_mask", "source", to="lake.release", **ARGUMENTS)
    assert names(tables) == {"release"}
    assert sorted(map(tuple, spark.table("lake.release").collect())) == before


def test_a_part_that_is_gone_is_noticed_when_all_is_written(tables: Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each partition that is left is one that was planned: only their sum tells."""
    write = SparkEngine.write

    def without_one(engine: SparkEngine, released: Any, name: str) -> None:
        own = engine.table.frame
        lost = own.mapInArrow(lambda batches: (b for b in batches if 7 not in b["id"].to_pylist()), own.schema)
        object.__setattr__(engine.table, "frame", lost)
        write(engine, released, name)

    monkeypatch.setattr(SparkEngine, "write", without_one)
    with pytest.raises(
        ppduck.PpduckError, match='egadp_mask on "source": two passes over the table read different rows'
    ):
        ppduck.spark.release(tables.spark, "egadp_mask", "source", to="lake.release", **ARGUMENTS)
    assert names(tables) == set()


def test_a_job_that_ends_in_between_publishes_nothing(tables: Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    ppduck.spark.release(tables.spark, "egadp_mask", "source", to="lake.release", **ARGUMENTS)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt("in between")

    monkeypatch.setattr(_publish, "_rename", killed)
    with pytest.raises(KeyboardInterrupt, match="in between"):  # noqa: PT012
        ppduck.spark.release(tables.spark, "noise_mask", "source", to="lake.release", level=0.5, **ARGUMENTS)
        pytest.fail("was published")
    assert names(tables) == {"release"}
    told = dict(tuple(row) for row in tables.spark.sql("SHOW TBLPROPERTIES lake.release").collect())
    assert told["ppduck.call"].startswith("egadp_mask")


def test_a_lazy_mask_of_a_table_that_changed_fails(tables: Contract) -> None:
    masked = ppduck.spark.mask(tables.spark, "egadp_mask", "source", **ARGUMENTS)
    assert masked.count() == 300
    assert len(masked.limit(3).collect()) == 3
    tables.spark.sql("INSERT INTO source VALUES (1000, 0.5, 40.0)")
    with pytest.raises(Exception, match="are not those that the call was planned with: the source has changed"):
        masked.count()


def test_a_source_that_gives_other_rows_each_time_is_refused(tables: Contract) -> None:
    def other(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import random

        for batch in batches:
            yield batch.set_column(1, "s", pa.array([random.random() for _ in range(len(batch))]))

    source = tables.spark.table("source")
    with pytest.raises(
        ppduck.PpduckError, match='egadp_mask on "DataFrame": two passes over the table read different rows'
    ):
        ppduck.spark.mask(tables.spark, "egadp_mask", source.mapInArrow(other, source.schema), **ARGUMENTS)


def test_a_task_that_fails_once_is_done_again(tables: Contract) -> None:
    def fails_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        yield from batches
        if TaskContext.get().attemptNumber() == 0:  # type: ignore[union-attr]
            raise OSError("this executor is lost")

    source = tables.spark.table("source")
    failing = source.mapInArrow(fails_first, source.schema)
    plain, again = (
        ppduck.spark.mask(tables.spark, "egadp_mask", table, **ARGUMENTS).toArrow().sort_by("id")
        for table in (source, failing)
    )
    assert plain == again


def test_the_secret_is_in_no_plan(tables: Contract, capsys: pytest.CaptureFixture[str]) -> None:
    ppduck.spark.mask(tables.spark, "noise_mask", "source", level=0.5, **ARGUMENTS).explain("extended")
    shown = capsys.readouterr().out
    assert "ppduck_partition" in shown
    assert SECRET not in shown
    assert "SELECT" not in shown


def test_columns_of_every_type_come_through(tables: Contract) -> None:
    rows = tables.spark.sql(
        """SELECT id, x, CAST(id * 1.5 AS DECIMAL(38, 10)) AS wide, CAST('ab' AS BINARY) AS bytes,
                  CAST(id % 7 AS TINYINT) AS tiny, CAST(x AS FLOAT) AS single, current_date() AS day,
                  timestamp_seconds(id) AS seen, CAST(timestamp_seconds(id) AS TIMESTAMP_NTZ) AS local,
                  named_struct('a', id, 'b', 'text') AS parts, array(id, 2) AS many, map('k', id) AS pairs,
                  id % 2 = 0 AS flag, CAST(NULL AS STRING) AS nothing
           FROM source"""
    )
    masked = ppduck.spark.mask(tables.spark, "noise_mask", rows, level=0.5, **ARGUMENTS)
    types = [[(field.name, field.dataType.simpleString()) for field in table.schema] for table in (rows, masked)]
    assert types[0] == types[1]
    one, other = (table.toArrow().sort_by("id").drop_columns(["x"]) for table in (rows, masked))
    assert one.to_pylist() == other.to_pylist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("egadp_mask('source', conf=['x'])", 'egadp_mask on "source": key is missing: on Spark no row has a number'),
        ("egadp_mask('source', conf=['xx'], key='id')", r'conf names column "xx", which does not exist\. Did you mean "x"'),
        ("egadp_mask('sauce', conf=['x'], key='id')", 'egadp_mask on "sauce": Spark says: .*TABLE_OR_VIEW_NOT_FOUND'),
        ("onn_mask('source', conf=['x'], key='id')", "onn_mask cannot run on Spark: its networks learn from all rows at once"),
        ("microaggregate_mask('source', conf=['x'], k=3)", "microaggregate_mask cannot run on Spark"),
        ("nm_egadp_mask('source', conf=['x'], key='id')", "nm_egadp_mask cannot run on Spark"),
        ("release_check('source', 'source', conf=['x'], key='id')", "release_check cannot run on Spark; bring a sample"),
        ("egadp_mask('(SELECT id, x, x AS X FROM source)', conf=['x'], key='id')", 'columns "X", "x" have one name'),
        ("rr_reconstruct('source', ['sum'], p={'sum': 0.8})", 'rr_reconstruct on "source": columns? names column "sum"'),
        ("noise_mask('source', conf=['x'], level=-1, key='id')", "level"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(tables: Contract, call: str, message: str) -> None:
    with pytest.raises(ppduck.PpduckError, match=message):
        ppduck.spark.sql(tables.spark, f"SELECT * FROM {call}", secret=SECRET)


def test_shared_keys_are_refused_of_randomized_answers(tables: Contract) -> None:
    rows = tables.spark.table("source").selectExpr("id % 200 AS id", "if(x > 2, 'a', 'b') AS x")
    with pytest.raises(ppduck.PpduckError, match=r'key "id"|key.*same'):
        ppduck.spark.mask(tables.spark, "rr_mask", rows, p={"x": 0.8}, key="id", secret=SECRET)


@pytest.mark.parametrize("name", ["", "lake.release; DROP TABLE source", "`my table`", "folder/file.parquet"])
def test_what_is_no_name_of_a_table_is_refused(tables: Contract, name: str) -> None:
    with pytest.raises(ppduck.PpduckError, match="to takes the name of a table"):
        ppduck.spark.release(tables.spark, "egadp_mask", "source", to=name, **ARGUMENTS)


def test_an_argument_that_sql_has_no_words_for_is_refused(tables: Contract) -> None:
    with pytest.raises(ppduck.PpduckError, match="an argument of type object has no SQL"):
        ppduck.spark.mask(tables.spark, "noise_mask", "source", conf=object(), key="id")
