"""Masks on Spark beside Spark's own copy of the table, and the memory of its Python workers."""

from __future__ import annotations

import json
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.large import child
from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import SECRET, normal
from tests.benchmarks.timing import once

COPY = "Spark's copy, Parquet to Parquet"
FILES = 8
AIM = 4.0
CALLS: dict[str, dict[str, Any]] = {
    "egadp_mask": {"conf": ["x1", "x2", "x3"]},
    "noise_mask": {"conf": ["x1", "x2", "x3"], "level": 0.2},
    "rr_mask": {"p": {"segment": 0.8}},
    "shuffle_mask": {"conf": ["x1", "x2", "x3"], "nonconf": ["s1", "s2", "s3"]},
}
# As a session is that is made for long work, and not for tests.
USUAL = {
    "spark.driver.extraJavaOptions": "-server",
    "spark.driver.memory": "4g",
    "spark.speculation": "false",
    "spark.sql.shuffle.partitions": "8",
}
_PAUSE = 0.2


def spark(report: Report, rows: int) -> None:
    """In a process of its own, as a session of Spark belongs to its process."""
    report.section(f"{rows:,} rows of 3 + 3 columns on Spark, two cores; x the copy")
    found = child("tests.benchmarks.spark", str(rows), *CALLS)
    report.add(Line(COPY, found["copy"], 1.0))
    for name in CALLS:
        most = AIM if name == "egadp_mask" else None
        line = Line.against(name, found[name], found["copy"], most)
        report.add(replace(line, note=f"workers {found[f'{name} peak'] / 2**30:.2f} GiB at most"))


def measured(rows: int, names: list[str]) -> dict[str, float]:
    from tests.spark.contract import session

    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "source", Path(folder) / "target"
        _write(rows, source)
        at_work = session("local[2]", Path(folder) / "warehouse", USUAL)
        at_work.conf.set("spark.sql.files.openCostInBytes", str(4 << 20))
        table = at_work.read.parquet(str(source))

        def written(frame: Callable[[], Any]) -> float:
            return once(lambda: frame().write.mode("overwrite").parquet(str(target)))

        written(lambda: table.limit(1000))  # what starts with the first job
        found = {"copy": min(written(lambda: table) for _ in range(2))}
        for name in names:
            workers = Workers()
            found[name] = written(lambda name=name: _masked(at_work, name, table))
            found[f"{name} peak"] = float(workers.peak())
        at_work.stop()
    return found


def _masked(at_work: Any, name: str, table: Any) -> Any:
    import ppduck.spark

    return ppduck.spark.mask(at_work, name, table, key="id", secret=SECRET, **CALLS[name])


def _write(rows: int, folder: Path) -> None:
    import duckdb

    folder.mkdir()
    columns = [f"{normal(j)} AS s{j}" for j in (1, 2, 3)]
    columns += [f"0.5 * s{j} + {normal(20 + j)} AS x{j}" for j in (1, 2, 3)]
    with duckdb.connect() as con:
        for part in range(FILES):
            first, last = rows * part // FILES, rows * (part + 1) // FILES
            asked = (
                f"SELECT i AS id, {', '.join(columns)}, ['a', 'b', 'c'][1 + i % 3] AS segment "
                f"FROM range({first}, {last}) AS r(i)"
            )
            con.execute(f"COPY ({asked}) TO '{folder}/part-{part}.parquet'")


class Workers:
    """The most memory that a Python worker of Spark has had, as the system tells."""

    def __init__(self) -> None:
        self._peak = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def peak(self) -> int:
        self._over.set()
        self._thread.join()
        return self._peak

    def _watch(self) -> None:
        while not self._over.wait(_PAUSE):
            for process in Path("/proc").glob("[0-9]*"):
                self._peak = max(self._peak, _resident(process))


def _resident(process: Path) -> int:
    try:
        if b"pyspark.daemon" not in (process / "cmdline").read_bytes():
            return 0
        lines = (process / "status").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measured(int(sys.argv[1]), sys.argv[2:])))
