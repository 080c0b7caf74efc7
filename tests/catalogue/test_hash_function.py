"""Where a DuckDB hashes otherwise, masks whose noise goes by hash() refuse; answers, which do not, go on."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.catalogue import hash_function

pytestmark = pytest.mark.core

CALLS = [
    "egadp_mask('t', conf=['x'], nonconf=['s'])",
    "noise_mask('t', conf=['x'], level=0.1)",
    "shuffle_mask('t', conf=['x'], nonconf=['s'])",
    "rank_swap_mask('t', conf=['x'], reach=14)",
    "anatomy_mask('t', qi=['s'], sensitive='c', l=2)",
]


@pytest.fixture
def table(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x, i % 5 AS c FROM range(100) r(i)")
    return con


@pytest.mark.parametrize("values", hash_function.KNOWN)
def test_known_values_over_rows_too(con: duckdb.DuckDBPyConnection, values: str) -> None:
    """A plan hashes columns, the canary constants."""
    columns = ", ".join(f"{value} AS c{i}" for i, value in enumerate(values.split(", ")))
    names = ", ".join(f"c{i}" for i in range(values.count(", ") + 1))
    con.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(3)")
    assert con.execute(f"SELECT DISTINCT hash({names}) FROM t").fetchall() == [(hash_function.KNOWN[values],)]


@pytest.mark.parametrize("call", CALLS)
def test_another_hash_is_refused(table: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    assert table.execute(f"SELECT count(*) FROM {call}").fetchall() == [(100,)]
    monkeypatch.setitem(hash_function.KNOWN, "'abc'", 7)
    with pytest.raises(
        duckdb.InvalidInputException, match=r"_mask: DuckDB v\d.* computes hash\(\) otherwise .* Use DuckDB 1.4"
    ):
        table.execute(f"FROM {call}")


def test_answers_do_not_need_hash(table: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(hash_function.KNOWN, "'abc'", 7)
    assert table.execute("SELECT count(*) FROM rr_mask('t', p={'c': 0.8}, key='id')").fetchall() == [(100,)]
