"""Ibis on the same connection: masked views as its tables, masking calls in its SQL."""

from __future__ import annotations

from typing import Any

import duckdb
import ibis
import pytest

pytestmark = [
    pytest.mark.core,
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),  # Ibis asks pandas for it
]

MASKED = "egadp_mask('customers', conf=['x1','x2'], nonconf=['s1'], key='id')"
# Ibis 12 asks the connection for it; a newer Ibis will have another way.
needs_fetch = pytest.mark.skipif(
    not hasattr(duckdb.DuckDBPyConnection, "fetch_arrow_table") and int(ibis.__version__.partition(".")[0]) <= 12,
    reason="this Ibis cannot read from this DuckDB, whatever is loaded: it calls fetch_arrow_table",
)


@pytest.fixture
def backend(customers: duckdb.DuckDBPyConnection) -> Any:
    customers.execute(f"CREATE VIEW masked AS FROM {MASKED}")
    return ibis.duckdb.from_connection(customers)


def means(con: duckdb.DuckDBPyConnection, table: str) -> dict[str, float]:
    return dict(con.execute(f"SELECT region, avg(x1) FROM {table} GROUP BY region").fetchall())


def test_an_expression_compiles_to_sql_that_the_connection_runs(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute(f"CREATE VIEW masked AS FROM {MASKED}")
    masked = ibis.table({"region": "string", "x1": "float64"}, name="masked")
    query = ibis.to_sql(masked.group_by("region").agg(mean=masked.x1.mean()), dialect="duckdb")
    assert dict(customers.sql(str(query)).fetchall()) == pytest.approx(means(customers, MASKED))


@needs_fetch
def test_a_masked_view_is_an_ibis_table(customers: duckdb.DuckDBPyConnection, backend: Any) -> None:
    assert set(backend.list_tables()) == {"customers", "masked"}
    masked = backend.table("masked")
    found = masked.group_by("region").agg(mean=masked.x1.mean()).execute()
    assert dict(found.itertuples(index=False)) == pytest.approx(means(customers, "masked"))
    assert means(customers, "masked") != pytest.approx(means(customers, "customers")), "regions were not in nonconf"


@needs_fetch
def test_masking_calls_in_its_sql(customers: duckdb.DuckDBPyConnection, backend: Any) -> None:
    expected = means(customers, MASKED)
    by_backend = backend.sql(f"SELECT * FROM {MASKED}")
    assert by_backend.columns == ("id", "s1", "s2", "member", "region", "name", "x1", "x2")
    found = by_backend.group_by("region").agg(mean=by_backend.x1.mean()).execute()
    assert dict(found.itertuples(index=False)) == pytest.approx(expected)
    customer = backend.table("customers")
    by_table = customer.sql(f"SELECT region, avg(x1) AS mean FROM {MASKED} GROUP BY region").execute()
    assert dict(by_table.itertuples(index=False)) == pytest.approx(expected)
    # A part of a table under a name of its own: Ibis makes a temporary view of it, so that columns must be named.
    member = customer.filter(customer.member).alias("members")
    mean = member.sql("SELECT avg(x1) FROM egadp_mask('members', conf=['x1'], nonconf=['s1'], key='id')").execute()
    [(original,)] = customers.execute("SELECT avg(x1) FROM customers WHERE member").fetchall()
    assert mean.iloc[0, 0] == pytest.approx(original, abs=1e-9)


@needs_fetch
def test_a_release_by_ibis(customers: duckdb.DuckDBPyConnection, backend: Any) -> None:
    backend.create_table("release", backend.sql(f"SELECT * FROM {MASKED}"))
    largest = "SELECT max(abs(difference)) FROM moments_check('customers', 'release', conf=['x1','x2','s1'])"
    assert customers.execute(largest).fetchall()[0][0] < 1e-9
