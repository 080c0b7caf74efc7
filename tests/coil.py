"""Counts of COIL 2000 attributes that the figures of Guo (2010) are about, and what is expected of them once randomized."""

from __future__ import annotations

import duckdb
import numpy as np

# Cells 000 … 111 in that order.
ADG = [355, 445, 877, 1063, 806, 930, 628, 718]
ABE = [1414, 1044, 150, 132, 1392, 856, 526, 308]
AB = [2458, 282, 2248, 834]
IJ = [2773, 72, 2701, 276]
# Examples 5 and 6 print shares of the 5,822 rows.
ABC = [0.2406, 0.1815, 0.0453, 0.0031, 0.3458, 0.0404, 0.1431, 0.0002]
AGH = [0.1884, 0.0232, 0.0802, 0.1788, 0.2264, 0.0199, 0.1031, 0.1800]


def table(con: duckdb.DuckDBPyConnection, name: str, columns: str, counts: list[float]) -> None:
    """A table of binary columns, one row a cell, with its count in n."""
    rows = [(*place, count) for place, count in zip(np.ndindex(*(2,) * len(columns)), counts, strict=True)]
    fields = ", ".join(f'"{column}" INTEGER' for column in columns)
    con.execute(f"CREATE OR REPLACE TABLE {name} ({fields}, n DOUBLE)")
    con.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * (len(columns) + 1))})", rows)


def randomized(con: duckdb.DuckDBPyConnection, name: str, of: str, p: dict[str, float]) -> None:
    """The expected table after randomization, by SQL: every cell is spread over all others."""
    levels = ", ".join(f'(VALUES (0), (1)) AS to_{column}("{column}")' for column in p)
    kept = " * ".join(
        f'CASE WHEN to_{column}."{column}" = source."{column}" THEN {keep} ELSE 1 - {keep} END'
        for column, keep in p.items()
    )
    shown = ", ".join(f'to_{column}."{column}"' for column in p)
    con.execute(
        f"CREATE OR REPLACE TABLE {name} AS SELECT {shown}, sum(n * {kept}) AS n FROM {of} AS source, {levels} GROUP BY ALL"
    )
