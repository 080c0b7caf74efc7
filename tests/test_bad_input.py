"""Every wrong call has its message: function, table, column, rule, what was got, what to do."""

from __future__ import annotations

import re

import duckdb
import pytest

pytestmark = pytest.mark.core

HERE = re.escape('egadp_mask on "customers": ')


def refused(con: duckdb.DuckDBPyConnection, call: str) -> str:
    """The message of a call that must be refused while it is planned or run, leaving nothing behind."""
    with pytest.raises(duckdb.InvalidInputException, match=r"_mask|moments_check|mask_explain") as caught:
        con.execute(f"CREATE TABLE half_done AS FROM {call}")
    with pytest.raises(duckdb.CatalogException, match="half_done"):
        con.execute("FROM half_done")
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'custmers', conf=['x1']", r'the planner cannot see "custmers"\. Did you mean "customers"\?'),
        ("'no/such/file.parquet', conf=['x1']", r'the planner cannot see "no/such/file.parquet"'),
        ("'customers', conf=['x9']", HERE + r'conf names column "x9", which does not exist\. Did you mean "x1"\?'
         r' Columns: "id", "s1", "s2", "member", "region", "name", "x1", "x2"\.'),
        ("'customers', conf=['x1'], nonconf=['regoin']", HERE + r'nonconf names column "regoin".*Did you mean "region"\?'),
        ("'customers', conf=['x1'], key='idd'", HERE + r'key names column "idd", which does not exist'),
        ("'customers', conf=['x1'], drop=['nmae']", HERE + r'drop names column "nmae".*Did you mean "name"\?'),
        ("'customers', conf=['x1'], strata=['regin']", HERE + r'strata names column "regin".*Did you mean "region"\?'),
        ("'customers', conf=[]", HERE + "conf is empty; name at least one column to mask"),
        ("'customers'", "egadp_mask: parameter 'conf' is missing"),
        ("'customers', conf=['x1', 'X1']", HERE + r'conf names column "x1" twice'),
        ("'customers', conf=['x1'], nonconf=['s1', 's1']", HERE + r'nonconf names column "s1" twice'),
        ("'customers', conf=['x1'], nonconf=['x1', 's1']", HERE + r'column "x1" is in both conf and nonconf'),
        ("'customers', conf=['x1'], strata=['x1']", HERE + r'column "x1" is in both conf and strata'),
        ("'customers', conf=['x1'], drop=['x1']", HERE + r'column "x1" is in both conf and drop'),
        ("'customers', conf=['x1'], key='x1'", HERE + r'column "x1" is in both key and conf'),
        ("'customers', conf=['x1'], nonconf=[region], strata=['region']", HERE + r'column "region" is in both nonconf and strata'),
        ("'customers', conf=['name']", HERE + r'conf names column "name" of type VARCHAR; only numeric columns'),
        ("'customers', conf=['member']", HERE + r'conf names column "member" of type BOOLEAN'),
        ("'odd', conf=['day']", r'conf names column "day" of type DATE; only numeric columns can be masked'),
        ("'odd', conf=['list']", r'conf names column "list" of type INTEGER\[\]; only numeric columns can be masked'),
        ("'odd', conf=['x'], nonconf=['day']", r'nonconf names column "day" of type DATE; it must be numeric, boolean'),
        ("'odd', conf=['x'], nonconf=['name']", r'nonconf names column "name", which has more than 100 levels'),
        ("'customers', conf=['x1'], confidential=['x2']", r"egadp_mask: there is no parameter 'confidential'\. Did you mean"
         r' "conf"\?|egadp_mask: there is no parameter'),
        ("'customers', conf=['x1'], alpha=0.5", r"there is no parameter 'alpha'.*Parameters: \"tbl\", \"conf\""),
        ("'customers', conf=['x1'], conf=['x2']", "parameter 'conf' is given twice"),
        ("'customers', conf=3", r"conf takes a column name or a list of column names, such as \['x1', 'x2'\]"),
        ("'customers', conf=[1, 2]", "conf takes a column name or a list of column names"),
        ("'customers', conf=['x1'], seed='abc'", "seed takes a whole number, got 'abc'"),
        ("'customers', conf=['x1'], seed=1.5", "seed takes a whole number, got 1.5"),
        ("'customers', conf=['x1'], round='yes'", "round takes true or false, got 'yes'"),
        ("'scratch', conf=['x1'], nonconf=[], round=true", r'round needs the types of the columns, and the planner cannot see "scratch"'),
        ("'customers', conf=['x1'], on_null='ignore'", "on_null takes one of 'error', 'level', 'drop', 'mean'"),
        ("42, conf=['x1']", "tbl takes a text in single quotes"),
        ("'customers WHERE id > 3', conf=['x1']", "must be named as one table or view, a file, or a parenthesised SELECT"),
        ("'customers, odd', conf=['x1']", "must be named as one table or view"),
        ("'customers; DROP TABLE customers', conf=['x1']", "must be named as one table or view"),
        ("'(SELECT 1 AS x; SELECT 2)', conf=['x']", "tbl must hold exactly one SELECT between its parentheses"),
        ("'(DROP TABLE customers)', conf=['x']", "tbl must hold exactly one SELECT between its parentheses"),
        ("'(SELECT 1 AS x), (SELECT 2 AS y)', conf=['x']", "tbl must hold exactly one SELECT between its parentheses"),
        ("'(SELECT 1 AS x', conf=['x']", "tbl must hold exactly one SELECT between its parentheses"),
        ("'(SELECT nope FROM customers)', conf=['x1']", r'the planner cannot see .* DuckDB says: Binder Error: .*"nope"'),
        ("'', conf=['x1']", "must be named as one table or view"),
        ("'reserved', conf=['x']", r"names that begin with '_pp_' are ppduck's own; rename column \"_pp_key\""),
    ],
)  # fmt: skip
def test_refused_while_planning(customers: duckdb.DuckDBPyConnection, arguments: str, message: str) -> None:
    customers.execute(
        """
        CREATE TABLE odd AS SELECT i AS id, DATE '2026-01-01' + i::INT AS day, [i::INT] AS list, sin(i) AS x,
                                   'n' || i AS name FROM range(200) r(i);
        CREATE TEMP TABLE scratch AS FROM customers;
        CREATE TABLE reserved AS SELECT i AS _pp_key, sin(i) AS x FROM range(200) r(i)
        """
    )
    assert re.search(message, refused(customers, f"egadp_mask({arguments})"), re.DOTALL)
    assert customers.execute("SELECT count(*) FROM customers").fetchone() == (1000,)


def test_a_misspelt_table_is_told_by_every_mask(customers: duckdb.DuckDBPyConnection) -> None:
    for mask in ("noise_mask", "kim_mask"):
        found = refused(customers, f"{mask}('custmers', conf=['x1'], level=0.1)")
        assert 'cannot see "custmers". Did you mean "customers"?' in found


def test_names_of_unseen_tables_are_compared_whatever_their_case(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE TEMP TABLE scratch AS FROM customers")
    found = refused(customers, "egadp_mask('scratch', conf=['x1', 'X1'], nonconf=['S1', 'x1'], drop=['X1'])")
    for fault in ("twice", "in both conf and nonconf", "in both conf and drop"):
        assert fault in found


def test_several_faults_arrive_in_one_message(customers: duckdb.DuckDBPyConnection) -> None:
    message = refused(customers, "egadp_mask('customers', conf=['x9', 'name'], nonconf=['s9'])")
    for fault in ('conf names column "x9"', 'conf names column "name" of type VARCHAR', 'nonconf names column "s9"'):
        assert fault in message


def test_unknown_parameter_after_colon_equals_is_refused_by_duckdb_with_the_signature(
    customers: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(duckdb.BinderException, match=r"egadp_mask\(.*tbl := NULL, conf := NULL, nonconf := NULL"):
        customers.execute("FROM egadp_mask('customers', confidential := ['x1'])")


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ("UPDATE t SET s1 = NULL WHERE id < 7", "", r'nonconf column "s1" has NULL in 7 of 1000 rows\. Leave the column out of'),
        ("UPDATE t SET region = NULL WHERE id < 7", "", r'nonconf column "region" has NULL in 7 of 1000 rows'),
        ("UPDATE t SET s1 = 'nan' WHERE id = 3", "", r'column "s1" holds NaN or infinity; replace such values by NULL'),
        ("UPDATE t SET x1 = 'inf' WHERE id = 3", "", r'column "x1" holds NaN or infinity'),
        ("UPDATE t SET x1 = '-inf' WHERE id = 3", "", r'column "x1" holds NaN or infinity'),
        ("UPDATE t SET x2 = 'nan' WHERE id = 3", "", r'column "x2" holds NaN or infinity'),
        ("UPDATE t SET x1 = 731.25", "", r'conf column "x1" is constant; there is nothing to mask in it'),
        ("UPDATE t SET x1 = NULL", "", r"only 0 rows have every conf column present; at least 3 are needed"),
        ("UPDATE t SET x1 = 2 * s1 + s2", "", r'conf column "x1" is a linear function of the nonconf columns \(R² = 1.0000000\)'),
        ("UPDATE t SET x1 = 2 * s1 + s2 + 1e-4 * sin(id)", "", r'conf column "x1" is a linear function of .* \(R² = 1.0000000\)'),
        ("UPDATE t SET s2 = s1 + 1e-5 * sin(id * 3.3), x1 = x1 + 50 * sin(id * 3.3)", "",
         r'columns "s1", "s2" are so nearly collinear that moments cannot be kept to 1e-09; leave one of them out'),
        ("UPDATE t SET s2 = s1 + 1e-7 * sin(id * 3.3), x1 = x1 + 50 * sin(id * 3.3)", "",
         r'columns "s1", "s2" are so nearly collinear that moments cannot be kept to 1e-09'),
        ("UPDATE t SET s1 = s1 * 1e200", "", r'column "s1" peaks at a size beyond 1e±140; bring it to another scale'),
        ("UPDATE t SET x1 = x1 * 1e-200", "", r'column "x1" peaks at a size beyond 1e±140'),
        ("DELETE FROM t WHERE id >= 12", "", r"12 rows are too few; at least 13 are needed \(p \+ 2q \+ 2 with p = 7 "
         r"independent nonconf columns and q = 2 conf columns\)"),
        ("DELETE FROM t", "", r"only 0 rows have every conf column present"),
        ("DELETE FROM t WHERE region = 'west' AND id > 30", ", strata=['region']",
         r"7 rows in the group region = west are too few; at least 10 are needed.*or merge small groups"),
        ("UPDATE t SET x1 = 731.25 WHERE region = 'west'", ", strata=['region']",
         r'conf column "x1" is constant in the group region = west'),
        ("UPDATE t SET name = NULL WHERE id < 4", ", key='name'", r'key "name" is NULL in 4 of 1000 rows; every row needs'),
        ("SELECT 1", ", key='region'", r'key "region" does not identify the 1000 rows: most of them share it'),
    ],
)  # fmt: skip
def test_refused_by_the_data(customers: duckdb.DuckDBPyConnection, change: str, arguments: str, message: str) -> None:
    customers.execute("CREATE TABLE t AS FROM customers")
    customers.execute(change)
    found = refused(customers, f"egadp_mask('t', conf=['x1', 'x2']{arguments})")
    assert re.search(r'egadp_mask on "t": ' + message, found)
    assert "731.25" not in found


@pytest.mark.parametrize("value", [32.94870432169348, -382941.146144538, 0.1, 1e6 + 0.1])
def test_a_constant_whose_mean_is_rounded_does_not_pass_through(con: duckdb.DuckDBPyConnection, value: float) -> None:
    con.execute(f"CREATE TABLE t AS SELECT i AS id, sin(i) AS s, {value!r}::DOUBLE AS x FROM range(30001) r(i)")
    for call in ("noise_mask('t', conf=['x'], level=0.1)", "egadp_mask('t', conf=['x'])"):
        assert 'conf column "x" is constant; there is nothing to mask in it' in refused(con, call)
    # Constant but for rows that lack the other conf column, and so do not count.
    con.execute("CREATE TABLE u AS SELECT id, s, if(id < 9, id, x) AS x, if(id < 9, NULL, cos(id)) AS y FROM t")
    found = refused(con, "kim_mask('u', conf=['x', 'y'], level=0.1)")
    assert 'conf column "x" is constant over the rows that have every conf column' in found


def test_number_of_rows_needed_is_enough(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE TABLE t AS FROM customers WHERE id < 13")
    assert customers.execute("SELECT count(*) FROM egadp_mask('t', conf=['x1', 'x2'])").fetchone() == (13,)


def test_level_that_planning_did_not_see(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute(
        "BEGIN; INSERT INTO customers SELECT * REPLACE (-1 - id AS id, 'abroad' AS region) FROM customers LIMIT 3"
    )
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r'column "region" has 3 rows with a level that was not there when the call was planned; run it again',
    ):
        customers.execute("FROM egadp_mask('customers', conf=['x1'])")
    customers.execute("ROLLBACK")


def test_copies_of_rows_without_a_key(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT sin(i % 5) AS s, cos(i % 5) AS x FROM range(100) r(i)")
    con.execute("CREATE VIEW v AS FROM t")
    found = refused(con, "egadp_mask('v', conf=['x'], nonconf=['s'])")
    assert "most of the 100 rows are copies of each other and would get the same noise; name a unique key" in found


def test_no_message_holds_a_confidential_value(con: duckdb.DuckDBPyConnection) -> None:
    """Whatever goes wrong with these two rows, their income must not be in the message."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, 918273 + i AS income, 'x' || (918273 + i) AS text FROM range(2) r(i)"
    )
    con.execute("CREATE TEMP TABLE temporary AS FROM t")
    calls = [
        "egadp_mask('t', conf=['income'])",
        "egadp_mask('t', conf=['text'])",
        "egadp_mask('temporary', conf=['text'], nonconf=['income'])",
        "egadp_mask('temporary', conf=['income'], nonconf=['text'])",
        "noise_mask('t', conf=['income'], level=-1)",
        "sufficiency_mask('t', conf=['income'], alpha=0.5)",
        "kim_mask('(SELECT 918273 AS income, i AS id FROM range(50) r(i))', conf=['income'], level=0.1)",
    ]
    for call in calls:
        assert "918273" not in refused(con, call).replace("(SELECT 918273", "")
