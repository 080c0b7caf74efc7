"""Small tables and what was released of them, for tests of one rule of the gate each."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

Rows = list[dict[str, Any]]
Named = set[tuple[str, str | None]]


def people(con: duckdb.DuckDBPyConnection, n: int = 300, seed: int = 1) -> None:
    """Table t of people, and m, a safe release of it: age and region as they are, x masked."""
    rng = np.random.default_rng(seed)
    age, region = rng.integers(20, 70, n), rng.choice(["east", "north", "south"], n)
    x = 1000 + 2 * age + 100 * rng.normal(size=n)
    disease = rng.choice(["flu", "gout", "asthma", "cancer"], n, p=[0.4, 0.3, 0.2, 0.1])
    data = {"id": np.arange(n), "age": age, "region": region, "x": x, "disease": disease}
    con.register("rows_to_insert", pa.table(data))
    con.execute("CREATE OR REPLACE TABLE t AS FROM rows_to_insert")
    con.unregister("rows_to_insert")
    con.execute("""
        CREATE OR REPLACE TABLE m AS SELECT id, age, region, x
        FROM egadp_mask('t', conf=['x'], nonconf=['age', 'region'], key='id', seed=1)
        """)


def failed(rows: Rows) -> Named:
    return {(row["rule"], row["column_name"]) for row in rows if row["passed"] is False}


def of_rule(rows: Rows, rule: str) -> dict[str | None, dict[str, Any]]:
    """The rows of one rule, by column."""
    return {row["column_name"]: row for row in rows if row["rule"] == rule}
