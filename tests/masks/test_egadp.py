"""EGADP: exact moments, noise orthogonal to S and X, the three banks, and no way to undo it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ppduck
from tests.conftest import SECRET
from tests.laws import (
    assert_same_moments,
    canonical_correlation,
    cross_correlation,
    insert,
    matrix,
    random_table,
    residuals,
)
from tests.masks.examples import three_banks

pytestmark = pytest.mark.core


def masked(con: duckdb.DuckDBPyConnection, table: str, names: list[str], conf: list[str], **more: object) -> np.ndarray:
    listed = ", ".join(f'"{name}"' for name in names)
    options = "".join(f", {name} := {value}" for name, value in more.items())
    return matrix(con, f"SELECT {listed} FROM egadp_mask('{table}', conf := {conf}, key := 'id'{options}) ORDER BY id")


# In a table of ten rows one may well outweigh the rest.
@pytest.mark.filterwarnings("ignore:.*a single row:ppduck.PpduckWarning")
@pytest.mark.parametrize(("n", "p", "q"), [(10, 2, 3), (12, 0, 1), (25, 2, 2), (1_000, 5, 4), (3_000, 1, 9)])
def test_moments_are_exact_and_noise_is_orthogonal(con: duckdb.DuckDBPyConnection, n: int, p: int, q: int) -> None:
    values = random_table(np.random.default_rng(n + p), n, p, q)
    s, x = [f"s{i}" for i in range(p)], [f"x{i}" for i in range(q)]
    insert(con, "t", s + x, values)
    released = masked(con, "t", s + x, x, nonconf=s)
    assert_same_moments(values, released)
    noise = residuals(released[:, p:], released[:, :p])
    assert cross_correlation(noise, values) < 1e-9
    assert np.abs(released[:, p:] - values[:, p:]).min(axis=0).max() > 0


@pytest.mark.filterwarnings("ignore:.*a single row:ppduck.PpduckWarning")
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**31),
    p=st.integers(0, 4),
    q=st.integers(1, 4),
    spare=st.integers(0, 60),
    offset=st.sampled_from([0.0, 1e3, 1e6, -1e6]),
    powers=st.lists(st.integers(-6, 6), min_size=8, max_size=8),
)
def test_moments_are_exact_whatever_the_scale(
    con: duckdb.DuckDBPyConnection, seed: int, p: int, q: int, spare: int, offset: float, powers: list[int]
) -> None:
    n = max(p + 2 * q + 2 + spare, 10)
    values = random_table(np.random.default_rng(seed), n, p, q)
    # An offset of 10^6 standard deviations is the hard case; the scale comes on top of it.
    values = (values + offset) * 10.0 ** np.array(powers[: p + q])
    s, x = [f"s{i}" for i in range(p)], [f"x{i}" for i in range(q)]
    insert(con, "t", s + x, values)
    assert_same_moments(values, masked(con, "t", s + x, x, nonconf=s), within=1e-8 if offset else 1e-9)


def test_two_million_rows_far_from_zero(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        CREATE TABLE t AS SELECT i AS id, 1e6 + s AS s, 1e6 + s + x AS x, -1e6 + 3 * x + z AS y
        FROM (SELECT i, sin(i * 1.7) AS s, cos(i * 2.3) AS x, sin(i * 0.9) AS z FROM range(2000000) AS r(i))
        """
    )
    original = matrix(con, "SELECT s, x, y FROM t")
    released = matrix(con, "SELECT s, x, y FROM egadp_mask('t', conf=['x', 'y'], nonconf=['s'])")
    assert_same_moments(original, released, within=1e-8)


def test_regression_components_and_canonical_correlation_come_out_the_same(
    customers: duckdb.DuckDBPyConnection,
) -> None:
    query = "SELECT s1, s2, x1, x2 FROM {} ORDER BY id"
    original = matrix(customers, query.format("customers"))
    released = matrix(customers, query.format("egadp_mask('customers', conf=['x1', 'x2'])"))
    for response in range(4):
        others = [i for i in range(4) if i != response]
        fits = []
        for table in (original, released):
            design = np.column_stack([np.ones(len(table)), table[:, others]])
            fits.append(np.linalg.lstsq(design, table[:, response], rcond=None)[0])
        np.testing.assert_allclose(fits[0], fits[1], rtol=1e-9, atol=1e-9)
    spectra = [np.linalg.eigvalsh(np.corrcoef(table.T)) for table in (original, released)]
    np.testing.assert_allclose(*spectra, atol=1e-9)
    pairs = [canonical_correlation(table[:, :2], table[:, 2:]) for table in (original, released)]
    assert pairs[0] == pytest.approx(pairs[1], abs=1e-9)


def test_categories_and_flags_keep_their_group_means(customers: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT region, member, avg(x1), avg(x2), count(*) FROM {} GROUP BY ALL ORDER BY ALL"
    by_region = "SELECT region, avg(x1), avg(x2) FROM {} GROUP BY ALL ORDER BY ALL"
    call = "egadp_mask('customers', conf=['x1', 'x2'])"
    for statement in (by_region, query.replace("region, ", "")):
        original = customers.execute(statement.format("customers")).fetchall()
        released = customers.execute(statement.format(call)).fetchall()
        for row, masked_row in zip(original, released, strict=True):
            assert row[0] == masked_row[0]
            assert row[1:] == pytest.approx(masked_row[1:], rel=1e-11)
    # The interaction of the two was not asked for, and is not kept.
    both = [customers.execute(query.format(table)).fetchall() for table in ("customers", call)]
    assert max(abs(a[2] - b[2]) for a, b in zip(*both, strict=True)) > 1e-3


def test_collinear_nonconf_columns_are_no_obstacle(con: duckdb.DuckDBPyConnection) -> None:
    values = random_table(np.random.default_rng(5), 200, 2, 2)
    names = ["s0", "s1", "x0", "x1"]
    insert(con, "t", names, values)
    con.execute("CREATE TABLE u AS SELECT *, s0 + s1 AS both, 2 * s0 - 1 AS again, 7 AS always FROM t")
    released = matrix(con, "SELECT s0, s1, x0, x1 FROM egadp_mask('u', conf=['x0', 'x1'], key='id')")
    assert_same_moments(values, released)


def test_collinear_conf_columns_stay_collinear(con: duckdb.DuckDBPyConnection) -> None:
    insert(con, "t", ["s", "x"], random_table(np.random.default_rng(6), 300, 1, 1))
    con.execute("CREATE TABLE u AS SELECT *, 3 * x + 1 AS y FROM t")
    released = matrix(con, "SELECT s, x, y FROM egadp_mask('u', conf=['x', 'y'], key='id') ORDER BY id")
    original = matrix(con, "SELECT s, x, y FROM u ORDER BY id")
    assert_same_moments(original, released)
    np.testing.assert_allclose(released[:, 2], 3 * released[:, 1] + 1, atol=1e-6)


def bank_table(con: duckdb.DuckDBPyConnection) -> tuple[np.ndarray, np.ndarray]:
    values, banks = three_banks()
    insert(con, "bank", ["s1", "s2", "s3", "x1", "x2", "x3", "bank_no"], np.column_stack([values, banks]))
    return values, banks


def assert_banks(values: np.ndarray, banks: np.ndarray, released: np.ndarray) -> None:
    """Every figure that the paper prints of the masked banks."""
    assert_same_moments(values, released)
    for bank in (1, 2, 3):
        assert_same_moments(values[banks == bank], released[banks == bank])
    s, x, y = values[:, :3], values[:, 3:], released[:, 3:]
    assert round(canonical_correlation(x, s), 4) == 0.8940
    assert round(canonical_correlation(x, np.column_stack([s, y])), 4) == 0.8940
    assert round(canonical_correlation(x, y), 4) == 0.7993
    for bank in (1, 2, 3):
        here = banks == bank
        gain = canonical_correlation(x[here], np.column_stack([s, y])[here]) - canonical_correlation(x[here], s[here])
        assert abs(gain) < 1e-9
    printed = [27.2069, 0.1143, 0.0063, -0.1038, 0.0315, 1.2390]
    for table in (values, released):
        design = np.column_stack([np.ones(len(table)), table[:, :5]])
        fitted = np.linalg.lstsq(design, table[:, 5], rcond=None)[0]
        assert [round(float(value), 4) for value in fitted] == printed


def test_three_banks_in_one_call(con: duckdb.DuckDBPyConnection) -> None:
    values, banks = bank_table(con)
    con.execute(
        """
        CREATE TABLE release AS FROM egadp_mask('bank', conf := ['x1','x2','x3'], nonconf := ['s1','s2','s3'],
                                                strata := ['bank_no'], key := 'id')
        """
    )
    assert_banks(values, banks, matrix(con, "SELECT s1, s2, s3, x1, x2, x3 FROM release ORDER BY id"))


def test_three_banks_in_three_databases(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    values, banks = bank_table(con)
    released = np.empty_like(values)
    for bank in (1, 2, 3):
        con.execute(f"COPY (FROM bank WHERE bank_no = {bank}) TO '{tmp_path}/{bank}.parquet'")
        with ppduck.connect(tmp_path / f"bank{bank}.db", secret=f"{SECRET} of bank {bank}") as own:
            own.execute(f"CREATE TABLE customers AS FROM '{tmp_path}/{bank}.parquet'")
            call = "egadp_mask('customers', conf=['x1','x2','x3'], nonconf=['s1','s2','s3'], key='id')"
            released[banks == bank] = matrix(own, f"SELECT s1, s2, s3, x1, x2, x3 FROM {call} ORDER BY id")
    assert_banks(values, banks, released)


def test_masked_values_do_not_help_to_predict_the_originals(customers: duckdb.DuckDBPyConnection) -> None:
    both = matrix(
        customers,
        """
        SELECT c.s1, c.s2, c.x1, c.x2, m.x1 AS y1, m.x2 AS y2
        FROM customers c JOIN egadp_mask('customers', conf=['x1', 'x2'], nonconf=['s1', 's2']) m USING (id)
        """,
    )
    s, x, y = both[:, :2], both[:, 2:4], both[:, 4:]
    assert canonical_correlation(x, np.column_stack([s, y])) == pytest.approx(canonical_correlation(x, s), abs=1e-9)
    assert canonical_correlation(x, s) >= canonical_correlation(x, y)


def test_census(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    con.execute(f"CREATE TABLE census AS FROM '{reference_data}/census.parquet'")
    con.execute("CREATE TABLE release AS FROM egadp_mask('census', conf=['AGI', 'FEDTAX', 'WSALVAL'])")
    worst = con.execute("SELECT max(abs(difference)), count(*) FROM moments_check('census', 'release')").fetchone()
    assert worst is not None
    assert worst[0] < 1e-9
    assert worst[1] == 1 + 13 + 13 * 14 // 2 + 13 * 12 // 2


def test_adult_with_its_categories(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    con.execute(f"CREATE TABLE adult AS FROM '{reference_data}/adult.parquet'")
    con.execute("CREATE TABLE release AS FROM egadp_mask('adult', conf=['capital_gain', 'hours_per_week'])")
    checked = con.execute(
        """
        SELECT max(abs(difference)), count(*) FILTER (column_a = 'sex = Male' OR column_b = 'sex = Male')
        FROM moments_check('adult', 'release')
        """
    ).fetchone()
    assert checked is not None
    assert checked[0] < 1e-9
    assert checked[1] > 50
