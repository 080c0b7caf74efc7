"""The certificate shows what holds, and shows it when it does not."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from tests.laws import matrix

pytestmark = pytest.mark.core


def test_it_reports_numpys_moments(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE TABLE release AS FROM noise_mask('customers', conf=['x1', 'x2'], level=0.5)")
    relation = customers.sql("FROM moments_check('customers', 'release', conf=['s1', 'x1', 'x2'])")
    assert relation.columns == ["statistic", "column_a", "column_b", "original", "release", "difference"]
    rows = {row[:3]: row[3:] for row in relation.fetchall()}
    tables = [matrix(customers, f"SELECT s1, x1, x2 FROM {table}") for table in ("customers", "release")]
    names = ["s1", "x1", "x2"]
    sd = tables[0].std(axis=0, ddof=1)
    assert rows[("count", None, None)] == (1000, 1000, 0)
    for i, a in enumerate(names):
        means = [table[:, i].mean() for table in tables]
        assert rows[("mean", a, None)] == pytest.approx((*means, (means[1] - means[0]) / sd[i]), abs=1e-12)
        for j, b in enumerate(names[: i + 1]):
            covariances = [np.cov(table.T)[i, j] for table in tables]
            expected = (*covariances, (covariances[1] - covariances[0]) / (sd[i] * sd[j]))
            assert rows[("covariance", b, a)] == pytest.approx(expected, abs=1e-12)
        for j, b in enumerate(names[:i]):
            correlations = [np.corrcoef(table.T)[i, j] for table in tables]
            expected = (*correlations, correlations[1] - correlations[0])
            assert rows[("correlation", b, a)] == pytest.approx(expected, abs=1e-12)
    assert len(rows) == 1 + 3 + 6 + 3
    assert rows[("covariance", "x1", "x1")][2] == pytest.approx(0.5, abs=0.1), "noise of half the variance must show"


def test_exact_release_has_no_difference(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE TABLE release AS FROM egadp_mask('customers', conf=['x1', 'x2'], drop=['name'])")
    worst = customers.execute("SELECT max(abs(difference)) FROM moments_check('customers', 'release')").fetchone()
    assert worst is not None
    assert worst[0] < 1e-12
    labels = customers.execute("SELECT DISTINCT column_a FROM moments_check('customers', 'release')").fetchall()
    assert {label for (label,) in labels} == {
        None, "id", "s1", "s2", "member", "region = north", "region = south", "region = west", "x1", "x2",
    }  # fmt: skip


def test_the_key_is_not_compared_unless_it_is_named(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE TABLE release AS FROM egadp_mask('customers', conf=['x1', 'x2'], key='id')")
    compared = "SELECT DISTINCT column_a FROM moments_check('customers', 'release', {}) WHERE statistic = 'mean'"
    without = {name for (name,) in customers.execute(compared.format("key='ID'")).fetchall()}
    assert "id" not in without
    assert {"s1", "s2", "x1", "x2"} <= without
    assert customers.execute(compared.format("conf=['id'], key='id'")).fetchall() == [("id",)]
    with pytest.raises(duckdb.InvalidInputException, match='key names "od", which "customers" does not have'):
        customers.execute(compared.format("key='od'"))


def test_nulls_are_left_out_row_by_row(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("UPDATE customers SET x1 = NULL WHERE id < 100")
    customers.execute("CREATE TABLE release AS FROM egadp_mask('customers', conf=['x1', 'x2'])")
    query = "SELECT max(abs(difference)), max(original) FILTER (statistic = 'count') FROM moments_check('customers', 'release')"
    [(worst, count)] = customers.execute(query).fetchall()
    assert worst < 1e-12
    assert count == 900


@pytest.mark.parametrize("broken", ["if(id = 3, 'nan'::DOUBLE, x1)", "if(id = 3, 'inf'::DOUBLE, x1)", "5.0"])
def test_a_broken_release_is_not_certified(customers: duckdb.DuckDBPyConnection, broken: str) -> None:
    customers.execute(f"CREATE TABLE release AS SELECT * REPLACE ({broken} AS x1) FROM customers")
    query = "SELECT statistic, max(abs(difference)) < 1e-9, count(*) - count(difference) FROM moments_check('customers', 'release') GROUP BY ALL"
    found = {statistic: (same, missing) for statistic, same, missing in customers.execute(query).fetchall()}
    assert found == {"count": (True, 0), "mean": (False, 0), "covariance": (False, 0), "correlation": (False, 0)}


MOST = "SELECT max(abs(difference)) FROM moments_check('gaps', 'masked', key='id')"
MADE = """
    CREATE TABLE gaps AS SELECT * EXCLUDE (name) REPLACE
        (CASE WHEN id % 7 > 0 THEN region END AS region, CASE WHEN id % 5 > 0 THEN member END AS member) FROM customers;
    CREATE TABLE masked AS FROM egadp_mask('gaps', conf=['x1', 'x2'], key='id', on_null='{}')
"""


def test_tables_may_bear_any_name(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE TABLE original AS FROM customers; CREATE TABLE masked AS FROM customers")
    for call in ("'original', 'masked'", "'masked', 'original'"):
        [(worst,)] = customers.execute(f"SELECT max(abs(difference)) FROM moments_check({call}, key='id')").fetchall()
        assert worst == 0


@pytest.mark.parametrize("on_null", ["level", "drop"])
def test_a_release_of_categories_with_null_is_certified(customers: duckdb.DuckDBPyConnection, on_null: str) -> None:
    customers.execute(MADE.format(on_null))
    assert customers.execute(MOST).fetchall()[0][0] < 1e-9
    customers.execute("UPDATE masked SET x1 = x1 + 1 WHERE id = (SELECT min(id) FROM masked WHERE region IS NULL)")
    customers.execute("UPDATE masked SET x1 = x1 + 1 WHERE id = (SELECT max(id) FROM masked)")
    assert customers.execute(MOST).fetchall()[0][0] > 1e-4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'customers', 'releese'", r'the planner cannot see "releese"'),
        ("'customers', 'texts'", r'there is no numeric column that "texts" has too, nor a .*; columns in both: "name"'),
        (
            "'customers', 'customers', conf=['x9']",
            r'conf names "x9", which "customers" does not have. Did you mean "x1"',
        ),
        ("'constant', 'constant'", r'nor a category of two levels or more; columns in both: "name"'),
        ("'customers'", "parameter 'release' is missing"),
        ("'customers', '(SELECT * REPLACE (x1::VARCHAR AS x1) FROM customers)'", r'column "x1" is of type VARCHAR in'),
    ],
)
def test_refusals(customers: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    customers.execute("CREATE TABLE texts AS SELECT name FROM customers")
    customers.execute("CREATE TABLE constant AS SELECT 'only' AS name FROM customers")
    with pytest.raises(duckdb.InvalidInputException, match=message):
        customers.execute(f"FROM moments_check({call})")


@pytest.mark.parametrize(("offset", "sd"), [(1e9, 1e-3), (-1e9, 1.0), (1e12, 1e-2), (1e6, 1e6)])
def test_a_permuted_copy_far_from_zero_has_no_difference(
    con: duckdb.DuckDBPyConnection, offset: float, sd: float
) -> None:
    con.execute(
        f"""
        CREATE TABLE t AS SELECT {offset} + {sd} * sin(i * 1.1) AS x, {-offset} + {sd} * cos(i * 2.3) AS y
        FROM range(200000) r(i);
        CREATE TABLE permuted AS FROM t ORDER BY hash(x + 3 * y), x
        """
    )
    [(worst,)] = con.execute("SELECT max(abs(difference)) FROM moments_check('t', 'permuted')").fetchall()
    assert worst < 1e-12


def test_a_shift_far_from_zero_shows_to_its_last_digit(con: duckdb.DuckDBPyConnection) -> None:
    """Doubles are 2⁻²³ apart at a billion, and that is the shift."""
    con.execute("CREATE TABLE t AS SELECT 1e9 + (i % 7) / 8 AS x FROM range(70000) r(i)")
    con.execute("CREATE TABLE moved AS SELECT x + pow(2, -23) AS x FROM t")
    query = "SELECT difference FROM moments_check('t', 'moved') WHERE statistic = 'mean'"
    [(shift,)] = con.execute(query).fetchall()
    [(sd,)] = con.execute("SELECT stddev_samp(x - 1e9) FROM t").fetchall()
    assert shift == pytest.approx(2.0**-23 / sd, rel=1e-6)
