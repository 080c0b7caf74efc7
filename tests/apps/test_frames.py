"""Relations of the Python API, and data frames of pandas, polars and Arrow in and out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

MASKED = "FROM egadp_mask('customers', conf=['x1','x2'], nonconf=['s1','s2'], key='id')"
MEAN = "round(avg(x1), 9), round(stddev(x2), 9), round(corr(x1, s1), 9)"


def as_frame(con: duckdb.DuckDBPyConnection, kind: str) -> Any:
    """The customers as a frame of that library."""
    table = con.table("customers")
    return {"pandas": table.df, "polars": table.pl, "arrow": table.to_arrow_table}[kind]()


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()


def test_a_relation_of_a_mask_is_a_relation(customers: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    masked = customers.sql(MASKED)
    assert masked.columns == customers.table("customers").columns
    assert masked.aggregate(MEAN).fetchall() == customers.table("customers").aggregate(MEAN).fetchall()
    per_region = masked.filter("member").aggregate("region, count(*) AS n", "region").order("region")
    assert per_region.fetchall() == [("east", 84), ("north", 83), ("south", 83), ("west", 84)]
    joined = masked.set_alias("m").join(customers.table("customers").set_alias("c"), "m.id = c.id")
    assert joined.aggregate("count(*) FILTER (m.s1 = c.s1), count(*) FILTER (m.x1 = c.x1)").fetchall() == [(1000, 0)]
    masked.write_parquet(str(tmp_path / "masked.parquet"))
    masked.create("release")
    masked.create_view("masked_view")
    written = [f"FROM read_parquet('{tmp_path / 'masked.parquet'}')", "FROM release", "FROM masked_view"]
    everything = rows(customers, MASKED + " ORDER BY id")
    for query in written:
        assert rows(customers, query + " ORDER BY id") == everything
    again = customers.sql(f"FROM egadp_mask('{tmp_path / 'masked.parquet'}', conf=['x1'], nonconf=['s1'], key='id')")
    assert again.aggregate(MEAN).fetchall() == masked.aggregate(MEAN).fetchall(), "a file is a table too"


def test_masked_rows_come_out_as_any_frame(customers: duckdb.DuckDBPyConnection) -> None:
    masked = customers.sql(MASKED + " ORDER BY id")
    expected = [row[6] for row in masked.fetchall()]
    pandas, polars = masked.df(), masked.pl()
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    arrow = pa.table(masked.arrow())  # a reader of batches, or a table before DuckDB 1.5
    for found in (pandas["x1"].tolist(), polars["x1"].to_list(), arrow["x1"].to_pylist()):
        assert found == expected
    assert list(pandas.columns) == polars.columns == arrow.column_names == masked.columns


@pytest.mark.parametrize("how", ["registered", "a variable"])
@pytest.mark.parametrize(
    "kind",
    # DuckDB 1.4 does not read the texts of pandas 3.
    ["pandas", pytest.param("polars", marks=pytest.mark.core), pytest.param("arrow", marks=pytest.mark.core)],
)
def test_a_frame_can_be_masked_once_its_columns_are_named(
    customers: duckdb.DuckDBPyConnection, kind: str, how: str
) -> None:
    people = as_frame(customers, kind)
    if how == "registered":
        customers.register("people", people)
    call = "egadp_mask('people', conf=['x1','x2'], nonconf=['s1','s2'], key='id')"
    try:
        # Queried from here, not through a helper: DuckDB looks for variables where a query is called.
        assert customers.sql(f"FROM {call}").columns == customers.table("customers").columns
        expected = rows(customers, f"SELECT {MEAN} FROM customers")
        assert customers.execute(f"SELECT {MEAN} FROM {call}").fetchall() == expected
        near = f"SELECT count(*) FROM {call} AS m JOIN customers USING (id) WHERE m.x1 = customers.x1"
        assert customers.execute(near).fetchall() == [(0,)]
        # Categories: the planner cannot read the levels of what it cannot see.
        randomized = (
            "rr_mask('people', p={'region': 0.7}, levels={'region': ['east','north','south','west']}, key='id')"
        )
        counted = customers.execute(f"SELECT count(*), count(DISTINCT region) FROM {randomized}")
        assert counted.fetchall() == [(1000, 4)]
        # Without the names it says what is needed.
        needed = r'cannot see "people".* a data frame or not yet committed, name every column to use'
        with pytest.raises(duckdb.InvalidInputException, match=needed):
            customers.execute("FROM egadp_mask('people', conf=['x1'], key='id')")
        with pytest.raises(
            duckdb.InvalidInputException, match=r"a data frame or not yet committed, give levels, and key"
        ):
            customers.execute("FROM rr_mask('people', p={'region': 0.7})")
    finally:
        if how == "registered":
            customers.unregister("people")


@pytest.mark.core
@pytest.mark.parametrize(
    "call",
    [
        "egadp_mask('stream', conf=['x1'], nonconf=['s1'], key='id')",
        "shuffle_mask('stream', conf=['x1'], nonconf=['s1'], key='id')",
        "rr_mask('stream', p={'region': 0.7}, levels={'region': ['east','north','south','west']}, key='id')",
    ],
)
def test_a_stream_which_can_be_read_once_is_masked_whole(customers: duckdb.DuckDBPyConnection, call: str) -> None:
    customers.register("stream", as_frame(customers, "arrow").to_reader(100))
    try:
        found = customers.execute(f"SELECT count(*), count(DISTINCT id), avg(x1) FROM {call}").fetchall()[0]
    finally:
        customers.unregister("stream")
    assert found == pytest.approx(rows(customers, "SELECT count(*), count(DISTINCT id), avg(x1) FROM customers")[0])


def test_a_frame_that_is_made_a_table_needs_no_names(customers: duckdb.DuckDBPyConnection) -> None:
    people = as_frame(customers, "polars")
    assert isinstance(people, pl.DataFrame)
    customers.execute("CREATE TABLE people AS FROM people")
    found = rows(customers, f"SELECT {MEAN}, count(DISTINCT region) FROM egadp_mask('people', conf=['x1','x2'])")
    assert found == rows(customers, f"SELECT {MEAN}, count(DISTINCT region) FROM customers")


@pytest.mark.parametrize("name", ["frame", "query", "sql"])
def test_a_frame_may_be_named_as_ppducks_own_variables_are(customers: duckdb.DuckDBPyConnection, name: str) -> None:
    customers.register(name, as_frame(customers, "arrow"))
    try:
        call = f"egadp_mask('(SELECT * FROM \"{name}\" WHERE member)', conf=['x1'], nonconf=['s1'], key='id')"
        assert rows(customers, f"SELECT count(*) FROM {call}") == [(334,)]
        with pytest.raises(duckdb.InvalidInputException, match=rf"Table with name {name} does not exist") as refused:
            customers.execute(f"FROM egadp_mask('(SELECT * FROM \"{name}\")', conf=['x1'], key='id')")
        assert ".py" not in str(refused.value).partition("At:")[0]
    finally:
        customers.unregister(name)
