"""The tables that are masked: correlated normal columns, made in SQL and the same in every run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

import ppduck

SECRET = "a secret for benchmarks only"


@dataclass(frozen=True)
class Shape:
    """How many columns of each kind a table has."""

    s: int
    x: int

    @property
    def s_names(self) -> list[str]:
        return [f"s{i}" for i in range(1, self.s + 1)]

    @property
    def x_names(self) -> list[str]:
        return [f"x{j}" for j in range(1, self.x + 1)]

    @property
    def columns(self) -> int:
        return self.s + self.x

    def __str__(self) -> str:
        return f"{self.s} S + {self.x} X"


NARROW = Shape(3, 3)
WIDE = Shape(10, 5)


def make(con: duckdb.DuckDBPyConnection, name: str, rows: int, shape: Shape) -> None:
    """A table of S and X columns that share a common factor; every X leans on an S as well."""
    normals = ", ".join(f"{normal(k)} AS z{k}" for k in range(1 + shape.columns))
    s = [f"{10 * i} + 0.6 * z0 + 0.8 * z{i} AS s{i}" for i in range(1, shape.s + 1)]
    x = [
        f"{100 * j} + {2 * j} * (0.4 * z0 + 0.5 * z{1 + (j - 1) % shape.s} + 0.77 * z{shape.s + j}) AS x{j}"
        for j in range(1, shape.x + 1)
    ]
    con.execute(
        f"CREATE TABLE {name} AS SELECT {', '.join([*s, *x])} FROM (SELECT {normals} FROM range({rows}) AS r(i))"
    )


def normal(stream: int) -> str:
    """A standard normal of row i from two hashes of it."""
    return f"sqrt(-2 * ln({uniform(2 * stream)})) * cos(2 * pi() * {uniform(2 * stream + 1)})"


def uniform(stream: int) -> str:
    # The stream goes into the number: the hash of a pair would be the row's hash with some bits turned over.
    return f"((hash(i * 1000 + {stream}) >> 11)::DOUBLE + 0.5) * {2.0**-53!r}"


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory for database files, gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="ppduck-benchmark-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def database(where: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A fresh database with ppduck loaded: 'file' or 'memory'."""
    with scratch() as folder:
        path = ":memory:" if where == "memory" else str(folder / "benchmark.db")
        with ppduck.connect(path, secret=SECRET) as con:
            yield con


def mask_call(mask: str, table: str, conf: list[str], options: str = "") -> str:
    """The SELECT of a masking call; every other column is nonconf."""
    names = ", ".join(f"'{name}'" for name in conf)
    return f"FROM {mask}('{table}', conf := [{names}]{options})"
