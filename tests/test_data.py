"""The public data in tests/data: whole, small and attributed."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

SIZES = {
    "adult.parquet": (45_222, 15),
    "census.parquet": (1_080, 13),
    "coil_binary_counts.parquet": (168, 11),
}


@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_files_are_whole_and_attributed(reference_data: Path, name: str) -> None:
    table = pq.read_table(reference_data / name)
    assert (table.num_rows, table.num_columns) == SIZES[name]
    assert sum(column.null_count for column in table.columns) == 0
    assert (reference_data / name).stat().st_size < 1_000_000
    [line] = re.findall(
        rf"^\| {re.escape(name)} \|.*$", (reference_data / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert f"{table.num_rows:,} × {table.num_columns}" in line
    assert re.search(r"CC BY 4\.0|public use file", line)


def test_there_is_nothing_else(reference_data: Path) -> None:
    assert {path.name for path in reference_data.iterdir()} == {"README.md", *SIZES}
