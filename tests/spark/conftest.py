"""One session of Spark for all tests; without Java there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.spark.contract import Contract


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What PySpark warns of is no fault of a test; without Java a test of Spark says so."""
    here = [item for item in items if "tests/spark/" in item.path.as_posix()]
    for item in here:
        item.add_marker(pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"))
        item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
        if shutil.which("java") is None and "contract" in getattr(item, "fixturenames", ()):
            item.add_marker(
                pytest.mark.skip(reason="Spark needs Java 17 or newer: apt-get install default-jre-headless")
            )


@pytest.fixture(scope="session")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Contract]:
    """A table on both engines; a task may fail twice."""
    from ppduck.spark import _ranks
    from tests.spark.contract import Contract, session

    folder = tmp_path_factory.mktemp("spark")
    usual, _ranks.ROWS_OF_A_RANGE = _ranks.ROWS_OF_A_RANGE, 700
    spark = session("local[2,3]", folder / "warehouse")
    yield Contract(spark, folder / "customers")
    _ranks.ROWS_OF_A_RANGE = usual
    spark.stop()
