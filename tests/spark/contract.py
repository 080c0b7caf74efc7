"""One contract for both engines: what DuckDB releases of some rows, Spark releases of the same rows in partitions.

Run as a program with an address of a session, ``connect`` or ``local-cluster[2,1,1024]``, it keeps a part of the
contract there that takes every way through Spark, and with ``all`` behind it the whole.
"""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import ppduck
import ppduck.spark
from ppduck.spark import _ranks

SECRET = "correct horse battery staple"
OTHER = "another horse, another staple"
ROWS = 2_000
# Files, of which Spark makes a partition each: uneven, one of a single row, and one of none.
PARTS = (0, 900, 1500, 1700, 1701, 1701, ROWS)
CUSTOMERS = f"""
    SELECT i AS id, 20 + i * 7 % 50 AS age, ['east', 'north', 'west'][1 + i % 3] AS region, i % 4 = 0 AS member, i >= 1701 AS late,
           if(i % 19 = 0, NULL, 1e6 + 900 + 40 * age + 300 * sin(i * 12.9898)) AS x1,
           CAST(5000 - 30 * age + 800 * cos(i * 78.233) + 300 * sin(i) AS INTEGER) AS x2,
           CAST(x2 / 7 + 90 * sin(i * 3.7) AS DECIMAL(18, 2)) AS "order by", if(i % 13 = 0, NULL, ['a', 'b'][1 + i % 2]) AS gap,
           TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (i) MINUTE AS seen, 'b' || i::VARCHAR AS code
    FROM range({ROWS}) AS rows(i)
    """
# Linear masks, whose sums are added in another order.
POLICY = (
    "{'key': 'id', 'columns': {'id': 'keep', 'age': 'keep', 'region': {'randomize': 0.8}, 'member': 'keep', "
    "'late': 'drop', 'x1': {'mask': 'egadp'}, 'x2': {'mask': 'noise'}, 'order by': 'drop', 'gap': 'keep', 'seen': 'drop', "
    "'code': {'pseudonym': 'integer'}}, 'masks': {'egadp': {'nonconf': ['age', 'region']}, 'noise': {'level': 0.2}}}"
)
LINEAR = {
    "a whole table": f"release_table('customers', policy={POLICY})",
    "egadp": "egadp_mask('customers', conf=['x1','x2'], nonconf=['age','region'], key='id')",
    "the mission's statement": "egadp_mask('customers', conf=['x1','x2'], key='id', nonconf=['age'])",
    "strata": "egadp_mask('customers', conf=['x1'], nonconf=['age'], strata=['region'], key='id')",
    "a group that one partition has": "egadp_mask('customers', conf=['x2'], nonconf=['age'], strata=['late'], key='id')",
    "rounded": "egadp_mask('customers', conf=['x2','order by'], nonconf=['age'], key='id', round=true)",
    "seeded": "ipso_mask('customers', conf=['x1'], nonconf=['age'], key='id', seed=7)",
    "dropped rows": "gadp_mask('customers', conf=['x2'], nonconf=['x1'], key='id', on_null='drop')",
    "levels of NULL": "egadp_mask('customers', conf=['x2'], nonconf=['gap','member'], key='id', on_null='level')",
    "dropped columns": "sufficiency_mask('customers', conf=['x2'], nonconf=['age'], alpha=0.3, key='id', drop=['seen'], round=true)",
    "noise": "noise_mask('customers', conf=['x1'], level=0.2, key='id')",
    "kim": "kim_mask('customers', conf=['x1'], level=0.2, corrected=true, strata=['region'], key='id')",
    "a text as key": "noise_mask('customers', conf=['x2'], level=0.2, key=['code','seen'])",
}
# Masks that release values or levels of the table.
EXACT = {
    "pseudonyms": "pseudonym_mask('customers', columns={'id': 'integer', 'code': 'token', 'seen': 'uuid', 'region': {'as': 'hash', 'salt': 's'}})",
    "pseudonyms that are checked": "pseudonym_mask('customers', columns={'code': 'integer', 'x1': 'token'}, domain='crm', drop=['gap'])",
    "rr": "rr_mask('customers', p={'region': 0.8, 'gap': 0.7}, key='id')",
    "rr with NULL": "rr_mask('customers', p={'gap': 0.7}, key=['id','code'], on_null='level')",
    "pram": "pram_mask('customers', conf=['region'], p=0.7, key='id')",
    "invariant": "pram_mask('customers', conf=['region'], p=0.7, invariant=true, key='id')",
    "shuffle": "shuffle_mask('customers', conf=['x1','x2'], nonconf=['age'], key='id')",
    "shuffle in strata": "shuffle_mask('customers', conf=['x2'], nonconf=['age'], strata=['gap'], key='id')",
    "cgadp": "cgadp_mask('customers', conf=['x1'], nonconf=['age','region'], key='id')",
    "cgadp, rounded": "cgadp_mask('customers', conf=['x2'], nonconf=['age'], key='id', round=true)",
}
# Figures of the release.
FIGURES = {
    "reconstruct": "rr_reconstruct('survey_rr', ['region','gap'], p={'region': 0.8, 'gap': 0.7})",
    "covariance": "rr_covariance('survey_rr', ['region'], p={'region': 0.8})",
    "association": "rr_association('survey_rr', 'region', 'member', p={'region': 0.8, 'member': 1})",
    "query": "rr_query('SELECT region, count(*) AS n FROM survey_rr WHERE age > 40 GROUP BY region', p={'region': 0.8, 'age': 1})",
    "k": "k_anonymity('customers', ['region','age'], k := 5)",
    "l": "l_diversity('customers', ['region','member'], 'gap')",
    "t": "t_closeness('customers', ['region','member'], 'gap')",
    "measures": "association_measures('customers', 'region', 'gap')",
    "chi2": "chi2_independence('customers', ['region','member','gap'])",
    "independence": "independence_test('survey_rr', 'region', 'member', p={'region': 0.8, 'member': 1})",
    "moments": "moments_check('customers', 'survey_rr', conf=['x1','x2','age','region'])",
}
_SHORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.stream.error.file=/dev/null"
MEMBERS = "(SELECT * FROM customers WHERE member)"


def session(address: str, warehouse: Path, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session for tests: no page, no word on the terminal, nothing beyond this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder
    if not address.startswith("local["):
        # A port that is free, not one that another session may have; and executors' folders that go when they end.
        os.environ["SPARK_TESTING"] = "1"
    builder = builder.remote("local[2]") if address == "connect" else builder.master(address)
    usual = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.files.openCostInBytes": str(1 << 27),  # a partition a file
        "spark.sql.session.timeZone": "Europe/Zurich",
        "spark.log.level": "OFF",
        # A task that takes long is started again beside itself; the first to end counts.
        "spark.speculation": "true",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.minTaskRuntime": "10ms",
        # What is computed is little, so that a compiler for long work costs more than it saves.
        "spark.driver.extraJavaOptions": _SHORT,
        "spark.executor.extraJavaOptions": _SHORT,
    }
    for name, value in {**usual, **(settings or {})}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def written(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """The table in uneven parts."""
    folder.mkdir(parents=True)
    table = con.sql(f"{CUSTOMERS} ORDER BY i").to_arrow_table()
    for number, (start, end) in enumerate(itertools.pairwise(PARTS)):
        pq.write_table(table.slice(start, end - start), folder / f"part-{number}.parquet")


class Contract:
    """The same rows on both engines."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.con, self.other = (ppduck.connect(secret=secret) for secret in (SECRET, OTHER))
        if not folder.exists():
            written(self.con, folder)
        for con in (self.con, self.other):
            con.execute("SET TimeZone = 'UTC'")
            con.execute(f"CREATE TABLE customers AS FROM '{folder}/*.parquet' ORDER BY id")
        rr = "rr_mask('customers', p={'region': 0.8, 'gap': 0.7}, key='id')"
        self.con.execute(f"CREATE TABLE survey_rr AS FROM {rr}")
        spark.read.parquet(str(folder)).createOrReplaceTempView("customers")
        self.on_spark(rr).createOrReplaceTempView("survey_rr")

    def on_spark(self, call: str, secret: str = SECRET) -> Any:
        return ppduck.spark.sql(self.spark, f"SELECT * FROM {call}", secret=secret)

    def both(self, call: str, secret: str = SECRET) -> tuple[pa.Table, pa.Table]:
        """What DuckDB and Spark make of a call, in the order of the rows."""
        expected = self.con.sql(f"FROM {call}").to_arrow_table()
        found = self.on_spark(call, secret).toArrow()
        assert found.column_names == expected.column_names
        return ordered(expected), ordered(found)

    def keeps_linear(self, call: str) -> None:
        expected, found = self.both(call)
        assert unlike(expected, found) == set()
        self.hangs_on_its_secret(call, expected)

    def keeps_exactly(self, call: str) -> None:
        expected, found = self.both(call)
        assert expected.to_pylist() == found.to_pylist()
        self.hangs_on_its_secret(call, expected)

    def hangs_on_its_secret(self, call: str, expected: pa.Table) -> None:
        """The control: what agrees without its secret, or with nothing masked, would prove nothing."""
        other = ordered(self.other.sql(f"FROM {call.replace('seed=7', 'seed=8')}").to_arrow_table())
        assert unlike(expected, other)

    def tells_the_same(self, call: str) -> None:
        """Figures, to the last digits that sums in another order may move."""
        expected, found = (table.to_pylist() for table in self.both(call))
        assert len(expected) == len(found) > 0
        for one, other in zip(expected, found, strict=True):
            for name, value in one.items():
                if isinstance(value, float):
                    assert np.isclose(value, other[name], rtol=1e-9, atol=1e-9), (name, value, other[name])
                else:
                    assert value == other[name], name

    def differs_by_secret(self, call: str) -> None:
        """Spark asks for the secret too."""
        assert unlike(*self.both(call, OTHER))

    def publishes(self, to: str) -> None:
        """A table that is written, and replaced by another."""
        given: dict[str, Any] = {"conf": ["x2"], "key": "id", "to": to, "secret": SECRET}
        masks: dict[str, dict[str, Any]] = {"noise_mask": {"level": 0.2}, "shuffle_mask": {"nonconf": ["age"]}}
        for name, more in masks.items():
            made = ppduck.spark.release(self.spark, name, "customers", **more, **given)
            lazy = ppduck.spark.mask(self.spark, name, "customers", **more, conf=["x2"], key="id", secret=SECRET)
            assert ordered(made.toArrow()) == ordered(lazy.toArrow())
        self.spark.sql(f"DROP TABLE {to}")


def ordered(table: pa.Table) -> pa.Table:
    order = [(name, "ascending") for name in table.column_names if name == "id"]
    return table.sort_by(order) if order else table


def unlike(expected: pa.Table, found: pa.Table) -> set[str]:
    """Columns that are not the same: floating-point numbers to 1e-9 standard deviations."""
    return {name for name in expected.column_names if not _alike(expected.column(name), found.column(name))}


def _alike(expected: pa.ChunkedArray, found: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(expected.type):
        return bool(expected.to_pylist() == found.to_pylist())
    one, other = expected.to_numpy(), found.to_numpy()
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return False
    return bool(np.nanmax(np.abs(one - other)) <= 1e-9 * np.nanstd(one))


def told(logs: Path) -> dict[str, str]:
    """Has a session write down all that it has words for, what its page shows included."""
    logs.mkdir()
    (logs / "log4j2.properties").write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.a.ref = a\nappender.a.type = File\nappender.a.name = a\n"
        f"appender.a.fileName = {logs}/${{sys:log}}\nappender.a.layout.type = PatternLayout\n"
    )
    words = f"{_SHORT} -Dlog4j2.configurationFile=file://{logs}/log4j2.properties -Dlog="
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{logs}",
        "spark.eventLog.compress": "false",
        "spark.driver.extraJavaOptions": f"{words}driver",
        "spark.executor.extraJavaOptions": f"{words}executor-{{{{EXECUTOR_ID}}}}",
        "spark.log.level": "INFO",
    }


def refuse_secrets(logs: Path) -> None:
    found = {each: each.read_text(errors="replace") for each in logs.rglob("*") if each.is_file()}
    assert any(path.name.startswith("events_") and "ppduck_partition" in text for path, text in found.items())
    assert any(path.name == "driver" and "Running Spark version" in text for path, text in found.items())
    assert not [path for path, text in found.items() for secret in (SECRET, OTHER) if secret in text]


def main(address: str, every: bool) -> None:
    _ranks.ROWS_OF_A_RANGE = 700
    with TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        contract = Contract(session(address, Path(folder) / "warehouse", told(logs)), Path(folder) / "customers")
        for name in LINEAR if every else ("strata", "a group that one partition has"):
            contract.keeps_linear(LINEAR[name])
        for name in EXACT if every else ("pseudonyms", "rr", "shuffle"):
            contract.keeps_exactly(EXACT[name])
        for name in FIGURES if every else ("reconstruct", "moments"):
            contract.tells_the_same(FIGURES[name])
        contract.differs_by_secret(EXACT["rr"])
        contract.publishes("release")
        contract.spark.stop()
        refuse_secrets(logs)
    print(f"the contract is kept on {address}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], "all" in sys.argv[2:])
