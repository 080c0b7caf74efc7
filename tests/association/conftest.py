"""Baskets of four items, two of which come with a third; and the table of counts of some columns."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

ITEMS = ["a", "b", "c", "d"]


def table_of(con: duckdb.DuckDBPyConnection, name: str, columns: list[str]) -> np.ndarray:
    """How often each combination of levels occurs, those that do not as 0."""
    data = con.execute(f"SELECT {', '.join(columns)} FROM {name}").df()
    places = [np.unique(data[column].to_numpy(dtype=str), return_inverse=True) for column in columns]
    table = np.zeros([len(levels) for levels, _ in places])
    np.add.at(table, tuple(at for _, at in places), 1)
    return table


@pytest.fixture
def baskets(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute(
        """
        CREATE TABLE baskets AS
        SELECT i AS id, (hash(i * 10) % 10 < 6)::INTEGER AS a, (hash(i * 10 + 1) % 10 < 2 + 7 * a)::INTEGER AS b,
               (hash(i * 10 + 2) % 10 < 1 + 8 * b)::INTEGER AS c, (hash(i * 10 + 3) % 10 < 3)::INTEGER AS d
        FROM range(20000) r(i)
        """
    )
    con.execute(f"CREATE TABLE baskets_rr AS FROM rr_mask('baskets', conf={ITEMS}, p=0.9, key='id')")
    con.execute(f"CREATE VIEW view_rr AS FROM rr_mask('baskets', conf={ITEMS}, p=0.9, key='id')")
    return con
