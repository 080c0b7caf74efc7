"""relationships(): the kind of each relation, and the evidence for it."""

from __future__ import annotations

import duckdb
import pytest

from tests.masks.store import make


def kinds(con: duckdb.DuckDBPyConnection, call: str) -> dict[tuple[str, str], str]:
    rows = con.execute(f'SELECT "column_name", other, relation FROM {call}').fetchall()
    return {(column, other): kind for column, other, kind in rows}


@pytest.fixture
def shapes(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """800 rows: s and t uniform, a category, and one conf column of each kind."""
    con.execute("""
        CREATE TABLE shapes AS
        WITH u AS (
            SELECT i, (hash(i) % 100000) / 100000 AS s, (hash(i + 1000000) % 100000) / 100000 AS t,
                   ['a', 'b', 'c'][1 + (hash(i + 2000000) % 3)::INTEGER] AS category,
                   sqrt(-2 * ln((1 + hash(i + 3000000) % 100000) / 100001)) * cos(6.28318 * (hash(i + 4000000) % 100000) / 100000) AS e
            FROM range(800) AS r(i))
        SELECT s, t, category, e AS nothing, 3 * s + e / 3 AS line, exp(6 * s + e / 4) AS power,
               abs(s - 0.5) + e / 20 AS tent, (s - 0.5) * (t - 0.5) + e / 60 AS together,
               if(category = 'b', 2, 0) + e / 2 AS levels
        FROM u""")
    return con


def test_each_kind_is_recognised(shapes: duckdb.DuckDBPyConnection) -> None:
    conf = "['nothing', 'line', 'power', 'tent', 'levels']"
    found = kinds(shapes, f"relationships('shapes', conf={conf}, nonconf=['s', 't', 'category'])")
    assert found["nothing", "s"] == found["nothing", "category"] == found["line", "t"] == "none"
    assert found["line", "s"] == "linear"
    assert found["power", "s"] == "monotonic"
    assert found["tent", "s"] == "non-monotonic"
    assert found["levels", "category"] == "linear"
    assert found["tent", "(all nonconf)"] == "non-monotonic"
    assert found["line", "(all nonconf)"] == "linear"


def test_columns_that_only_act_together_are_seen_together(shapes: duckdb.DuckDBPyConnection) -> None:
    found = kinds(shapes, "relationships('shapes', conf=['together'], nonconf=['s', 't'])")
    assert found["together", "(all nonconf)"] == "non-monotonic"


def test_pairs_of_confidential_columns_stand_once(shapes: duckdb.DuckDBPyConnection) -> None:
    rows = shapes.execute(
        "SELECT column_name, other, relation FROM relationships('shapes', conf=['line', 'power', 'tent'], nonconf=['t']) WHERE role = 'conf'"
    ).fetchall()
    pairs = {frozenset(row[:2]): row[2] for row in rows}
    assert len(rows) == len(pairs) == 3
    assert pairs[frozenset({"line", "power"})] == "monotonic"
    assert pairs[frozenset({"line", "tent"})] == "non-monotonic"


def test_lines_between_columns_stand_under_the_one_that_is_named_first(shapes: duckdb.DuckDBPyConnection) -> None:
    others = [f"nothing + {k} * sqrt(-2 * ln(t + 1e-9)) * cos(6.28318 * s) AS o{k}" for k in range(1, 6)]
    conf = ["nothing", *(f"o{k}" for k in range(1, 6))]
    table = f"(SELECT s, nothing, {', '.join(others)} FROM shapes)"
    for named in (conf, conf[::-1]):
        rows = shapes.execute(
            f"SELECT column_name, other, linear_r2 = kernel_r2 FROM relationships('{table}', conf={named}, nonconf=['s'])"
            " WHERE role = 'conf'"
        ).fetchall()
        lines = [(one, other) for one, other, no_curve in rows if no_curve]
        assert len(lines) > 5
        assert all(named.index(one) < named.index(other) for one, other in lines)


def test_the_evidence_of_the_store(con: duckdb.DuckDBPyConnection) -> None:
    make(con, "MV1")
    row = con.execute(
        """SELECT relation, linear_r2, spearman, kernel_r2, rows, evidence
           FROM relationships('store', conf=['x1', 'x2'], nonconf=['s1', 's2']) WHERE "column_name" = 'x1' AND other = 's1'"""
    ).fetchone()
    assert row is not None
    kind, linear, spearman, kernel, rows, evidence = row
    assert (kind, rows) == ("non-monotonic", 1000)
    assert linear < 0.02
    assert abs(spearman) < 0.1
    assert kernel == pytest.approx(0.566, abs=0.06)
    assert evidence.startswith("a curve tells more than the order of the values")


def test_a_large_table_is_judged_by_a_sample(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE big AS SELECT i % 1000 AS s, (i % 1000 - 500) ** 2 + hash(i) % 100000 AS x FROM range(200000) r(i)"
    )
    found = con.execute("SELECT relation, rows FROM relationships('big', conf=['x'])").fetchall()
    [(kind, rows)] = found
    assert kind == "non-monotonic"
    assert 4500 < rows < 5500


def test_groups_are_judged_by_themselves(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""CREATE TABLE t AS SELECT i % 2 AS part, sin(i * 7) AS s, if(i % 2 = 0, s, abs(s)) + cos(i * 3) / 5 AS x
                   FROM range(600) r(i)""")
    rows = con.execute(
        "SELECT stratum, relation FROM relationships('t', conf=['x'], nonconf=['s'], strata=['part']) ORDER BY 1"
    ).fetchall()
    assert rows == [("part = 0", "linear"), ("part = 1", "non-monotonic")]


def test_too_few_rows_are_named(shapes: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(
        duckdb.InvalidInputException, match="12 complete rows are too few to tell a relation; at least 30"
    ):
        shapes.execute("FROM relationships('(SELECT * FROM shapes LIMIT 12)', conf=['line'])")
    with pytest.raises(
        duckdb.InvalidInputException, match='conf names column "category" of type VARCHAR; only numeric'
    ):
        shapes.execute("FROM relationships('shapes', conf=['category'])")


def test_a_key_is_no_nonconf_by_default(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i * 12.9) AS s, i + 50 * cos(i * 7.7) AS x FROM range(500) r(i)")
    others = "SELECT list(DISTINCT other ORDER BY other) FROM relationships('t', conf=['x']{})"
    assert con.execute(others.format("")).fetchall() == [(["(all nonconf)", "id", "s"],)]
    assert con.execute(others.format(", key='id'")).fetchall() == [(["s"],)]
    assert con.execute(others.format(", key='id', nonconf=['id', 's']")).fetchall() == [(["(all nonconf)", "id", "s"],)]
