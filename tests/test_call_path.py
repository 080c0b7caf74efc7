"""The call works wherever a table may stand, however its arguments are written."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import duckdb
import pytest

import ppduck
from tests.conftest import SECRET

pytestmark = pytest.mark.core


def test_the_mission_statement_runs_verbatim() -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE customers AS SELECT i AS id, sin(i) AS s, sin(i) + cos(i * 3) AS x1, cos(i) AS x2 FROM range(100) r(i)"
        )
        ppduck.load(con)
        rows = con.execute("SELECT * FROM egadp_mask('customers', conf=['x1','x2']);").fetchall()
        assert len(rows) == 100
        assert con.execute("SELECT corr(s, x1) FROM customers").fetchone() == pytest.approx(
            con.execute("SELECT corr(s, x1) FROM egadp_mask('customers', conf=['x1','x2'])").fetchone(), abs=1e-12
        )


def test_every_way_to_write_the_arguments_is_the_same_call(customers: duckdb.DuckDBPyConnection) -> None:
    written = [
        "FROM egadp_mask('customers', conf=['x1', 'x2'], nonconf=['s1'], key='id')",
        "FROM egadp_mask('customers', conf := ['x1', 'x2'], nonconf := ['s1'], key := 'id')",
        "FROM egadp_mask('customers', conf => ['x1', 'x2'], nonconf => ['s1'], key => ['id'])",
        "FROM egadp_mask('customers', ['x1', 'x2'], ['s1'], key=id)",
        "FROM egadp_mask('customers', key='id', nonconf=[s1], conf=[x1, x2])",
        "FROM egadp_mask(customers, conf=[x2, x1], nonconf=s1, key='id')",
        "FROM egadp_mask('main.customers', conf=['X1', 'x2'], nonconf=['S1'], key='ID')",
        "FROM egadp_mask('\"memory\".\"main\".\"customers\"', conf=['x1'] || ['x2'], nonconf=['s1'], key='id')",
        "FROM egadp_mask('(SELECT * FROM customers)', conf=['x1', 'x2'], nonconf=['s1'], key='id')",
        "FROM egadp_mask('(FROM customers ORDER BY random())', conf=['x1', 'x2'], nonconf=['s1'], key='id') ORDER BY id",
    ]
    results = [customers.execute(f"SELECT x1, x2 FROM ({query}) ORDER BY id").fetchall() for query in written]
    for query, result in zip(written[1:], results[1:], strict=True):
        for row, expected in zip(result, results[0], strict=True):
            assert row == pytest.approx(expected, rel=1e-9), query


def test_parameters_of_prepared_statements(customers: duckdb.DuckDBPyConnection) -> None:
    by_name = "SELECT sum(x1) FROM egadp_mask($tbl, conf=$conf, nonconf := $others, key := $key)"
    one = customers.execute(by_name, {"tbl": "customers", "conf": ["x1"], "others": ["s1"], "key": "id"}).fetchone()
    two = customers.execute(
        "SELECT sum(x1) FROM egadp_mask(?, conf=?, nonconf=?, key=?)", ["customers", ["x1"], ["s1"], "id"]
    )
    assert one == pytest.approx(two.fetchone())
    alpha = customers.execute(
        "SELECT count(*) FROM sufficiency_mask('customers', conf=?, alpha=?)", [["x1"], {"x1": 0.5}]
    )
    assert alpha.fetchone() == (1000,)
    customers.execute(
        "PREPARE release AS SELECT sum(x1) FROM egadp_mask($1, conf := $2, nonconf := ['s1'], key := 'id')"
    )
    assert customers.execute("EXECUTE release('customers', ['x1'])").fetchone() == pytest.approx(one)
    customers.execute("INSERT INTO customers SELECT * REPLACE (id + 1000 AS id) FROM customers")
    assert customers.execute("EXECUTE release('customers', ['x1'])").fetchone() != pytest.approx(one)


def test_inside_joins_subqueries_views_and_writes(customers: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    call = "egadp_mask('customers', conf=['x1', 'x2'], key='id')"
    count = customers.execute(
        f"""
        WITH few AS (SELECT id FROM customers WHERE id < 10)
        SELECT count(*) FROM few JOIN {call} a USING (id) LEFT JOIN {call} b USING (id)
        WHERE a.x1 = b.x1 AND a.id IN (SELECT id FROM {call})
        """
    ).fetchone()
    assert count == (10,)
    customers.execute(f"CREATE VIEW released AS FROM {call}")
    first = customers.execute("SELECT sum(x1), sum(x2) FROM released").fetchone()
    assert customers.execute("SELECT sum(x1), sum(x2) FROM released").fetchone() == pytest.approx(first, rel=1e-12)
    customers.execute("CREATE TABLE release AS FROM released")
    customers.execute("INSERT INTO release SELECT * FROM released")
    assert customers.execute("SELECT count(*) FROM release").fetchone() == (2000,)
    customers.execute(f"COPY (FROM released) TO '{tmp_path}/r.parquet'")
    [back] = customers.execute(f"SELECT sum(x1), sum(x2) FROM '{tmp_path}/r.parquet'").fetchall()
    assert back == pytest.approx(first, rel=1e-12)
    relation = customers.sql(f"FROM {call}").filter("id < 5").order("id")
    assert len(relation.fetchall()) == 5
    assert customers.sql(f"FROM {call}").to_arrow_table().num_rows == 1000


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files(customers: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"some data.{kind}"
    customers.execute(f"COPY customers TO '{path}'")
    with ppduck.connect(secret=SECRET) as other:
        call = f"egadp_mask('{path}', conf=['x1', 'x2'], key='id')"
        assert other.execute(f"SELECT count(*) FROM {call}").fetchone() == (1000,)
        from_file = other.execute(f"SELECT avg(x1), stddev(x1), corr(x1, s1) FROM {call}").fetchone()
        expected = customers.execute("SELECT avg(x1), stddev(x1), corr(x1, s1) FROM customers").fetchone()
        assert from_file == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("source", ["shaky", "(SELECT * FROM shaky)", "(FROM shaky USING SAMPLE 3000)"])
def test_source_that_changes_with_every_read_is_read_once(con: duckdb.DuckDBPyConnection, source: str) -> None:
    """r passes through and x is r before masking: their means agree only if every pass saw the same rows."""
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s FROM range(5000) r(i)")
    con.execute("CREATE VIEW shaky AS SELECT id, s, r, r AS x FROM (SELECT id, s, random() AS r FROM t)")
    call = f"egadp_mask('{source}', conf=['x'], nonconf=['s'], key='id')"
    query = f"SELECT avg(x) - avg(r), var_samp(x) - var_samp(r), covar_samp(x, s) - covar_samp(r, s) FROM {call}"
    assert con.execute(query).fetchone() == pytest.approx((0, 0, 0), abs=1e-12)


def test_read_only_database(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 2) AS x FROM range(50) r(i)")
    with ppduck.connect(path, read_only=True) as con:
        assert con.execute("SELECT count(x) FROM egadp_mask('t', conf=['x'])").fetchone() == (50,)


def test_view_in_a_file_works_again_after_load(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with ppduck.connect(path, secret=SECRET) as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 2) AS x FROM range(50) r(i)")
        con.execute("CREATE VIEW released AS FROM egadp_mask('t', conf=['x'], key='id')")
        before = con.execute("SELECT x FROM released ORDER BY id").fetchall()
    with duckdb.connect(str(path)) as con:
        with pytest.raises(duckdb.CatalogException, match="egadp_mask does not exist"):
            con.execute("FROM released")
        ppduck.load(con, SECRET)
        after = con.execute("SELECT x FROM released ORDER BY id").fetchall()
    assert [row[0] for row in after] == pytest.approx([row[0] for row in before], rel=1e-12)


def test_names_mean_what_they_mean_to_the_caller(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute(
        "CREATE SCHEMA other; CREATE TABLE other.customers AS SELECT id, s1, x1 FROM customers WHERE id < 100"
    )
    customers.execute("USE other")
    assert customers.execute("SELECT count(*) FROM egadp_mask('customers', conf=['x1'])").fetchone() == (100,)
    assert customers.execute("SELECT count(*) FROM egadp_mask('main.customers', conf=['x1'])").fetchone() == (1000,)
    customers.execute("USE main")


def test_attached_database(customers: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    customers.execute(f"ATTACH '{tmp_path}/other.db' AS other; CREATE TABLE other.t AS FROM customers")
    assert customers.execute("SELECT count(*) FROM egadp_mask('other.t', conf=['x1'])").fetchone() == (1000,)
    customers.execute("DETACH other")


def test_open_transaction_sees_its_own_rows(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("BEGIN")
    customers.execute("DELETE FROM customers WHERE id >= 500")
    rows = customers.execute(
        "SELECT avg(x1) - (SELECT avg(x1) FROM customers), count(*) FROM egadp_mask('customers', conf=['x1'])"
    )
    found = rows.fetchone()
    assert found == pytest.approx((0, 500), abs=1e-9)
    customers.execute("CREATE TABLE fresh AS FROM customers")
    with pytest.raises(duckdb.InvalidInputException, match=r'cannot see "fresh".*not yet committed, name every column'):
        customers.execute("FROM egadp_mask('fresh', conf=['x1'])")
    customers.execute("ROLLBACK")
    customers.execute("BEGIN; CREATE TABLE fresh AS FROM customers")
    assert customers.execute("SELECT count(*) FROM egadp_mask('fresh', conf=['x1'], nonconf=['s1'])").fetchone() == (
        1000,
    )
    customers.execute("COMMIT")


def test_a_table_replaced_in_an_open_transaction_keeps_its_nulls(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, s DOUBLE, x DOUBLE NOT NULL)")
    con.execute("INSERT INTO t SELECT i, sin(i), cos(i * 2) FROM range(300) r(i)")
    con.execute("BEGIN; CREATE OR REPLACE TABLE t AS SELECT id, s, if(id < 100, NULL, x) AS x FROM t")
    assert con.execute("SELECT count(*), count(x) FROM egadp_mask('t', conf=['x'], key='id')").fetchall() == [
        (300, 200)
    ]
    con.execute("ROLLBACK")


@pytest.mark.parametrize("columns", ["id, s1, 'secret ' || x1 AS x1", "id, s1, x1, x1 + 100 AS salary"])
def test_a_temporary_table_that_hides_the_planned_one_is_noticed(
    customers: duckdb.DuckDBPyConnection, columns: str
) -> None:
    customers.execute("CREATE TABLE whole AS SELECT id, s1, x1::FLOAT AS x1 FROM customers")
    customers.execute(f"CREATE TEMP TABLE whole AS SELECT {columns} FROM customers")
    with pytest.raises(duckdb.InvalidInputException, match="other columns than the one that the call was planned for"):
        customers.execute("FROM egadp_mask('whole', conf=['x1'], key='id')")
    assert len(customers.execute("FROM egadp_mask('memory.main.whole', conf=['x1'], key='id')").fetchall()) == 1000


def test_views_over_masks_can_be_checked_explained_and_masked_again(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE VIEW once AS FROM egadp_mask('customers', conf=['x1'], key='id')")
    worst = "SELECT max(abs(difference)) FROM moments_check('customers', '{}', key='id')"
    assert customers.execute(worst.format("once")).fetchall()[0][0] < 1e-12
    assert len(customers.execute("FROM mask_explain('egadp_mask', 'once', conf=['x2'])").fetchall()) > 8
    # Another mask, because DuckDB 2.0 does not expand a macro inside itself.
    customers.execute("CREATE TABLE twice AS FROM ipso_mask('once', conf=['x2'], key='id')")
    assert customers.execute(worst.format("twice")).fetchall()[0][0] < 1e-12


def test_search_path_of_several_schemas(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE b.hidden AS SELECT id, s1, x1 FROM customers")
    customers.execute("SET search_path = 'a,b'")
    assert customers.execute("SELECT count(*) FROM egadp_mask('hidden', conf=['x1'])").fetchall() == [(1000,)]


def test_temporary_table_and_data_frame_with_every_column_named(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE TEMP TABLE scratch AS FROM customers")
    customers.register("frame", customers.sql("FROM customers").to_arrow_table())
    expected = customers.execute("SELECT avg(x1), corr(x1, s1), corr(x1, member::INT) FROM customers").fetchone()
    for table in ("scratch", "frame"):
        call = f"egadp_mask('{table}', conf=['x1', 'x2'], nonconf=['s1', 's2', 'member'], key='id')"
        assert customers.sql(f"FROM {call}").columns == customers.sql("FROM customers").columns
        found = customers.execute(f"SELECT avg(x1), corr(x1, s1), corr(x1, member::INT) FROM {call}").fetchone()
        assert found == pytest.approx(expected, abs=1e-9)
        with pytest.raises(
            duckdb.InvalidInputException, match=r'column "region" is not numeric: 1000 of 1000 values are no'
        ):
            customers.execute(f"FROM egadp_mask('{table}', conf=['x1'], nonconf=['region'], key='id')")
        with pytest.raises(duckdb.InvalidInputException, match=r'column "name" is not numeric') as refused:
            customers.execute(f"FROM egadp_mask('{table}', conf=['name'], nonconf=['s1'], key='id')")
        assert "name 1" not in str(refused.value)


def test_several_connections_cursors_and_threads(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    con = ppduck.load(duckdb.connect(path), SECRET)
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 2) AS x FROM range(5000) r(i)")
    query = "SELECT sum(x * s) FROM egadp_mask('t', conf=['x'], key='id')"
    expected = con.execute(query).fetchone()
    other = ppduck.load(duckdb.connect(path))
    ppduck.load(ppduck.load(con))
    assert other.execute(query).fetchone() == pytest.approx(expected)
    found: list[object] = []

    def work(cursor: duckdb.DuckDBPyConnection) -> None:
        with cursor:
            ppduck.load(cursor)
            found.extend(cursor.execute(query).fetchone() for _ in range(5))

    threads = [threading.Thread(target=work, args=[con.cursor()]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert all(row == pytest.approx(expected) for row in found)
    con.close()
    assert other.execute(query).fetchone() == pytest.approx(expected), "the first connection may go before the others"
    other.close()


@pytest.mark.parametrize("close", [True, False])
def test_load_after_the_connection_that_registered_is_gone(tmp_path: Path, close: bool) -> None:
    path = str(tmp_path / "data.db")
    query = "SELECT count(*) FROM egadp_mask('t', conf=['x'])"
    first, second = duckdb.connect(path), duckdb.connect(path)
    ppduck.load(first).execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 2) AS x FROM range(50) r(i)")
    if close:
        first.close()
    del first
    gc.collect()
    assert ppduck.load(second).execute(query).fetchall() == [(50,)]
    second.close()


def test_load_inside_a_transaction() -> None:
    with duckdb.connect() as fresh:
        fresh.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 2) AS x FROM range(50) r(i)")
        query = "SELECT count(*) FROM egadp_mask('t', conf=['x'])"
        # DuckDB 1.4 sees the functions of the time when it first looks for one.
        fresh.execute("BEGIN; DELETE FROM t WHERE id = 7; SELECT system.main.txid_current()")
        with pytest.raises(ppduck.errors.PpduckError, match="load before BEGIN"):
            ppduck.load(fresh)
        assert fresh.execute("SELECT count(*) FROM t").fetchall() == [(49,)], "the transaction must go on"
        fresh.execute("ROLLBACK")
        # Once the database knows ppduck, a transaction is no obstacle; what it made goes with it.
        fresh.execute("BEGIN")
        assert ppduck.load(fresh).execute(query).fetchall() == [(50,)]
        fresh.execute("ROLLBACK")
        assert ppduck.load(fresh).execute(query).fetchall() == [(50,)]


def test_a_closed_database_is_let_go(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    con = ppduck.connect(path)
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 2) AS x FROM range(50) r(i)")
    con.execute("FROM egadp_mask('t', conf=['x'])").fetchall()
    con.close()
    # Opening it otherwise is refused as long as anything in this process holds it.
    with duckdb.connect(path, read_only=True) as again:
        assert again.execute("SELECT count(*) FROM t").fetchall() == [(50,)]


def test_secret_is_shared_by_a_database_and_cannot_be_changed_under_it() -> None:
    with ppduck.connect() as con:
        ppduck.load(con, SECRET)
        ppduck.load(con, SECRET)
        with pytest.raises(ppduck.errors.PpduckError, match="loaded with another secret"):
            ppduck.load(con, SECRET + "!")
        with pytest.raises(ppduck.errors.PpduckError, match="secret is too short") as refused:
            ppduck.load(con, "hunter2")
        assert "hunter2" not in str(refused.value)


def test_secret_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT sum(x * i) FROM gadp_mask('t', conf=['x'])"
    found = []
    for secret in (SECRET, SECRET, SECRET + "!", None):
        monkeypatch.delenv("PPDUCK_SECRET", raising=False)
        if secret:
            monkeypatch.setenv("PPDUCK_SECRET", secret)
        with ppduck.connect() as con:
            con.execute("CREATE TABLE t AS SELECT i, sin(i * 7) AS x FROM range(100) r(i)")
            found.append(con.execute(query).fetchone())
    assert found[0] == found[1]
    assert len(set(found)) == 3
