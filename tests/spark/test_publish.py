"""A release is whole or not there: sources that change, tasks that fail, names that are taken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
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


def recorded(contract: Contract, table: str) -> dict[str, str]:
    return dict(tuple(row) for row in contract.spark.sql(f"SHOW TBLPROPERTIES {table}").collect())


def ids(contract: Contract, table: str) -> int:
    return contract.spark.table(table).count()


def test_a_release_is_written_and_tells_how(tables: Contract) -> None:
    made = ppduck.spark.release(tables.spark, "egadp_mask", "source", to="lake.release", **ARGUMENTS)
    assert made.count() == 300
    assert names(tables) == {"release"}
    told = recorded(tables, "lake.release")
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


def test_a_release_does_not_tell_what_it_could_be_made_again_from(tables: Contract) -> None:
    ppduck.spark.release(
        tables.spark, "noise_mask", "source", to="lake.release", conf=["x"], key="id", level=0.5, seed=424242
    )
    calls = [recorded(tables, "lake.release")["ppduck.call"]]
    columns = {"id": {"as": "hash", "salt": "pepper"}}
    ppduck.spark.release(tables.spark, "pseudonym_mask", "source", to="lake.release", columns=columns, secret=SECRET)
    calls += [recorded(tables, "lake.release")["ppduck.call"]]
    assert calls == [
        """noise_mask("tbl" := 'source', "conf" := ['x'], "key" := 'id', "level" := 0.5, "seed" := 'withheld')""",
        """pseudonym_mask("tbl" := 'source', "columns" := {'id': {'as': 'hash', 'salt': 'withheld'}})""",
    ]


def test_a_catalogue_may_stand_before_the_name(tables: Contract) -> None:
    for rows in (200, 300):
        table = tables.spark.table("source").where(f"id < {rows}")
        made = ppduck.spark.release(tables.spark, "egadp_mask", table, to="spark_catalog.lake.release", **ARGUMENTS)
        assert made.count() == rows
        assert names(tables) == {"release"}


def test_tables_of_another_catalogue_are_renamed_inside_it(tables: Contract) -> None:
    spark = tables.spark
    jdbc = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
    spark.conf.set("spark.sql.catalog.derby", jdbc)
    spark.conf.set("spark.sql.catalog.derby.url", "jdbc:derby:memory:ppduck;create=true")
    spark.conf.set("spark.sql.catalog.derby.driver", "org.apache.derby.iapi.jdbc.AutoloadedDriver")
    spark.sql("CREATE NAMESPACE derby.lake")
    for name, column in (("release", "before"), ("aside", "after")):
        spark.sql(f"CREATE TABLE derby.lake.{name} ({column} INT)")
    _publish._rename(spark, "derby.lake.aside", "derby.lake.release")
    assert [row.tableName for row in spark.sql("SHOW TABLES IN derby.lake").collect()] == ["release"]
    assert spark.table("derby.lake.release").columns == ["after"]


def test_only_a_release_is_replaced(tables: Contract) -> None:
    spark = tables.spark
    spark.sql("CREATE OR REPLACE TEMP VIEW shown AS SELECT 1 AS a")
    spark.sql("CREATE OR REPLACE VIEW lake.shown AS SELECT 2 AS a")
    for name, message in {
        "source": "source is there, and is no release of ppduck's, which would lose it",
        "shown": "shown is a view, which no table can replace",
        "lake.shown": r"lake\.shown is a view, which no table can replace",
    }.items():
        before = spark.table(name).collect()
        with pytest.raises(ppduck.PpduckError, match=message):
            ppduck.spark.release(spark, "egadp_mask", "source", to=name, **ARGUMENTS)
        assert spark.table(name).collect() == before
    spark.sql("DROP VIEW shown")
    spark.sql("DROP VIEW lake.shown")


def test_the_release_before_gets_its_name_back(tables: Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    ppduck.spark.release(tables.spark, "egadp_mask", "source", to="lake.release", **ARGUMENTS)
    before = sorted(map(tuple, tables.spark.table("lake.release").collect()))
    move = _publish._move

    def stopped(spark: Any, name: str, new: str) -> None:
        if new == "lake.release" and "lake.release" not in names_of(spark) and not done:
            done.append(name)
            raise KeyboardInterrupt("between two names")
        move(spark, name, new)

    def names_of(spark: Any) -> list[str]:
        return [f"lake.{row.tableName}" for row in spark.sql("SHOW TABLES IN lake").collect()]

    done: list[str] = []
    monkeypatch.setattr(_publish, "_move", stopped)
    with pytest.raises(KeyboardInterrupt, match="between two names"):
        ppduck.spark.release(tables.spark, "noise_mask", "source", to="lake.release", level=0.5, **ARGUMENTS)
    assert done
    assert names(tables) == {"release"}
    assert sorted(map(tuple, tables.spark.table("lake.release").collect())) == before


def test_rows_that_a_shuffle_loses_are_missed(
    tables: Contract, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Spark may forget what it keeps, and read a table again whose partitions are gone."""
    gone, write = str(tmp_path / "gone"), SparkEngine.write

    def until_gone(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (batch for batch in batches if not Path(gone).exists())

    def forgotten(engine: SparkEngine, released: Any, name: str) -> None:
        for frame in engine.kept:
            frame.unpersist(blocking=True)
        Path(gone).touch()
        write(engine, released, name)

    monkeypatch.setattr(SparkEngine, "write", forgotten)
    source = tables.spark.table("source")
    losing = source.mapInArrow(until_gone, source.schema)
    with pytest.raises(ppduck.PpduckError, match="two passes over the table read different rows"):
        ppduck.spark.release(tables.spark, "shuffle_mask", losing, to="lake.release", nonconf=["s"], **ARGUMENTS)
    assert names(tables) == set()


def test_a_value_that_moves_to_another_column_is_a_change(tables: Contract, tmp_path: Path) -> None:
    """Spark's hash passes over NULLs."""
    moved = str(tmp_path / "moved")

    def moving(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            if Path(moved).exists():
                columns |= {"home": columns["work"], "work": columns["home"]}
                columns["many"] = pa.array([[1, 2]] * len(batch))
            yield pa.RecordBatch.from_pydict(columns, schema=batch.schema)

    rows = tables.spark.table("source").selectExpr(
        "id", "x", "CAST(NULL AS BIGINT) AS home", "id * 3 AS work", "array(1L, 2L) AS many"
    )
    for change in (rows, rows.selectExpr("id", "x", "1L AS home", "1L AS work", "array(1L, NULL, 2L) AS many")):
        Path(moved).unlink(missing_ok=True)
        masked = ppduck.spark.mask(
            tables.spark, "noise_mask", change.mapInArrow(moving, change.schema), level=0.5, **ARGUMENTS
        )
        assert masked.count() == 300
        Path(moved).touch()
        with pytest.raises(Exception, match="are not those that the call was planned with"):
            masked.count()


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
    told = recorded(tables, "lake.release")
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
        ("egadp_mask('(SELECT id, x, parse_json(''1'') AS v FROM source)', conf=['x'], key='id')", 'column "v" holds variant, which does not come unchanged'),
        ("egadp_mask('(SELECT id, x, array(INTERVAL 1 DAY) AS v FROM source)', conf=['x'], key='id')", 'column "v" holds daytimeinterval'),
        ("egadp_mask('(SELECT id, x, INTERVAL 1 MONTH AS v FROM source)', conf=['x'], key='id')", 'column "v" holds yearmonthinterval'),
        ("record_linkage('source', 'source', conf=['x'], key='id')", "record_linkage cannot run on Spark; bring a sample"),
        ("ppduck_help('egadp_mask')", "ppduck_help cannot run on Spark; ask DuckDB"),
        ("rr_reconstruct('source', ['sum'], p={'sum': 0.8})", 'rr_reconstruct on "source": columns? names column "sum"'),
        ("noise_mask('source', conf=['x'], level=-1, key='id')", "level"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(tables: Contract, call: str, message: str) -> None:
    with pytest.raises(ppduck.PpduckError, match=message):
        ppduck.spark.sql(tables.spark, f"SELECT * FROM {call}", secret=SECRET)


def test_a_function_that_is_not_there_is_told(tables: Contract) -> None:
    with pytest.raises(ppduck.PpduckError, match=r"'egadp_masc' is none of .* Did you mean \"egadp_mask\""):
        ppduck.spark.mask(tables.spark, "egadp_masc", "source", **ARGUMENTS)


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
