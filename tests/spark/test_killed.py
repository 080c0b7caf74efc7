"""A driver that is killed while it writes: the release before stays, and nothing has its name that is not whole."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED, WRITING = "published", "writing"


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17 or newer")
def test_a_driver_that_is_killed_publishes_nothing(tmp_path: Path) -> None:
    asked = [sys.executable, "-W", "ignore", "-m", "tests.spark.test_killed", str(tmp_path)]
    with (
        (tmp_path / "words").open("w+") as words,
        subprocess.Popen(asked, cwd=ROOT, stdout=subprocess.PIPE, stderr=words, text=True) as driver,
    ):
        try:
            assert driver.stdout is not None
            assert driver.stdout.readline().strip() == PUBLISHED, (tmp_path / "words").read_text()
            before = files(tmp_path / "release")
            assert before
            assert driver.stdout.readline().strip() == WRITING, (tmp_path / "words").read_text()
            _wait_for(tmp_path, driver)
        finally:
            driver.kill()
    assert files(tmp_path / "release") == before
    assert [each.name for each in tmp_path.glob("release*") if any(each.glob("_SUCCESS"))] == ["release"]


def files(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.glob("*.parquet")}


def _wait_for(warehouse: Path, driver: subprocess.Popen[str]) -> None:
    """Until the release that is under way has a folder of its own."""
    while not list(warehouse.glob("release_ppduck_*")):
        assert driver.poll() is None, (warehouse / "words").read_text()
        time.sleep(0.05)


def main(warehouse: Path) -> None:
    import ppduck.spark
    from ppduck.spark._engine import SparkEngine
    from tests.spark.contract import SECRET, session

    at_work = session("local[2]", warehouse)
    rows = at_work.range(300).selectExpr("id", "sin(id) AS s", "cos(id * 3) + 2 AS x").repartition(3)
    rows.write.saveAsTable("source")
    source = at_work.table("source")
    ppduck.spark.release(at_work, "egadp_mask", source, to="release", conf=["x"], key="id", secret=SECRET)
    print(PUBLISHED, flush=True)

    slow, write = str(warehouse / "slow"), SparkEngine.write

    def waits(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            while Path(slow).exists() and 7 in batch["id"].to_pylist():
                time.sleep(1)  # until Spark, whose driver is killed, ends its workers
            yield batch

    def told(engine: SparkEngine, released: object, name: str) -> None:
        Path(slow).touch()
        print(WRITING, flush=True)
        write(engine, released, name)  # type: ignore[arg-type]

    SparkEngine.write = told  # type: ignore[method-assign, assignment]
    waiting = source.mapInArrow(waits, source.schema)
    ppduck.spark.release(at_work, "noise_mask", waiting, to="release", conf=["x"], key="id", level=0.5, secret=SECRET)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
