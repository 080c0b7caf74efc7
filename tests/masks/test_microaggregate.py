"""Microaggregation: groups of at least k, means exactly, and the printed sums of squares on Census."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppduck.errors import PpduckWarning
from ppduck.kernels import microaggregation
from tests.census import COLUMNS
from tests.laws import insert, matrix

pytestmark = pytest.mark.core


@pytest.mark.parametrize(("k", "printed"), [(3, 5.6922), (4, 7.4947), (5, 9.0884), (10, 14.1559)])
def test_sums_of_squares_on_census_come_out_as_printed(
    con: duckdb.DuckDBPyConnection, reference_data: Path, k: int, printed: float
) -> None:
    con.execute(f"CREATE TABLE t AS SELECT row_number() OVER () AS id, * FROM '{reference_data}/census.parquet'")
    con.execute(f"CREATE TABLE r AS FROM microaggregate_mask('t', conf={COLUMNS}, k={k}, key='id')")
    [(found,)] = con.execute(
        f"SELECT value FROM information_loss('t', 'r', conf={COLUMNS}, key='id') WHERE component = 'squared_error'"
    ).fetchall()
    assert round(100 * found, 4) == printed


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(6, 200), k=st.integers(2, 9), q=st.integers(1, 4))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_groups_have_at_least_k_and_means_stay(
    con: duckdb.DuckDBPyConnection, seed: int, n: int, k: int, q: int
) -> None:
    k = min(k, n // 2)
    if k < 2:
        return
    rng = np.random.default_rng(seed)
    data = np.exp(rng.normal(size=(n, q))) * 10.0 ** rng.integers(-3, 6, q)
    names = [f"x{j}" for j in range(q)]
    insert(con, "t", names, data)
    released = matrix(
        con, f"SELECT {', '.join(names)} FROM microaggregate_mask('t', conf={names}, k={k}, key='id') ORDER BY id"
    )
    _, group, size = np.unique(released.round(12), axis=0, return_inverse=True, return_counts=True)
    assert size.min() >= k
    np.testing.assert_allclose(released.mean(axis=0), data.mean(axis=0), rtol=1e-12)
    for g in range(len(size)):
        np.testing.assert_allclose(released[group.reshape(-1) == g][0], data[group.reshape(-1) == g].mean(axis=0))
    con.execute("DROP TABLE t")


def test_columns_are_grouped_some_at_a_time(con: duckdb.DuckDBPyConnection) -> None:
    insert(con, "t", ["a", "b", "c", "d", "e"], np.random.default_rng(2).normal(size=(300, 5)))
    call = "SELECT a, b, c, d, e FROM microaggregate_mask('t', conf=['a', 'b', 'c', 'd', 'e'], k=4{}, key='id') ORDER BY id"
    # Two and two, and one that is left over.
    by_two = matrix(con, call.format(", variables=2"))
    assert [len(np.unique(by_two[:, of], axis=0)) for of in ([0, 1], [2, 3], [4])] == [75, 75, 75]
    assert len(np.unique(by_two, axis=0)) > 250, "across sets records are not alike"
    assert (by_two == matrix(con, call.format(", variables=[['b','a'],['C','d'],['e']]"))).all()
    alone = matrix(con, "SELECT a, b FROM microaggregate_mask('t', conf=['b', 'a'], k=4, key='id') ORDER BY id")
    np.testing.assert_allclose(by_two[:, :2], alone)
    together = matrix(con, call.format(", variables='all'"))
    assert len(np.unique(together, axis=0)) == 75
    assert (together == matrix(con, call.format(""))).all()


def test_scales_do_not_matter_and_groups_are_separate(con: duckdb.DuckDBPyConnection) -> None:
    data = np.random.default_rng(3).normal(size=(200, 2))
    insert(con, "t", ["x", "y"], data)
    con.execute("CREATE TABLE scaled AS SELECT id, 1000 * x + 7 AS x, y / 1000 AS y, id % 2 AS g FROM t")
    plain = matrix(con, "SELECT x, y FROM microaggregate_mask('t', conf=['x', 'y'], k=5, key='id') ORDER BY id")
    scaled = matrix(con, "SELECT x, y FROM microaggregate_mask('scaled', conf=['x', 'y'], k=5, key='id') ORDER BY id")
    np.testing.assert_allclose(plain * [1000, 0.001] + [7, 0], scaled, atol=1e-9)
    by = "microaggregate_mask('scaled', conf=['x', 'y'], k=5, key='id', strata=['g'])"
    for g in (0, 1):
        alone = f"microaggregate_mask('(FROM scaled WHERE g = {g})', conf=['x', 'y'], k=5, key='id')"
        one, other = (matrix(con, f"SELECT x, y FROM {f} WHERE g = {g} ORDER BY id") for f in (by, alone))
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_many_rows_may_be_alike(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i % 50 AS x, i % 3 AS y FROM range(1000) r(i)")
    [(count,)] = con.execute(
        "SELECT min(c) FROM (SELECT count(*) AS c FROM microaggregate_mask('(FROM t)', conf=['x', 'y'], k=25) GROUP BY x, y)"
    ).fetchall()
    assert count >= 25
    with pytest.raises(
        duckdb.InvalidInputException, match=r'\d+% of the masked values of conf column "x" would be the'
    ):
        con.execute("FROM microaggregate_mask('(FROM t)', conf=['x', 'y'], k=4)").fetchall()


def test_very_many_rows_are_grouped_in_parts_and_said_to_be(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(microaggregation, "EXACT_BY_TREE", 1000)
    monkeypatch.setattr(microaggregation, "BLOCK", 500)
    insert(con, "t", ["x", "y"], np.random.default_rng(3).normal(size=(2001, 2)))
    with pytest.warns(
        PpduckWarning, match=r'microaggregate_mask on "t": 2,001 rows of 2 columns are grouped in parts of 500'
    ):
        released = matrix(con, "SELECT x, y FROM microaggregate_mask('t', conf=['x', 'y'], k=7, key='id') ORDER BY id")
    size = np.unique(released, axis=0, return_counts=True)[1]
    assert size.min() >= 7
    assert size.max() < 14


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'t', conf=['x'], k=51", "k is 51, and 100 rows make no two groups of 51; take a smaller k"),
        ("'t', conf=['x'], k=1", "k must be at least 2, got 1"),
        ("'t', conf=['x'], k=2.5", "k takes a whole number of at least 2, got 2.5"),
        ("'t', conf=['x']", "parameter 'k' is missing: the least number of records in a group"),
        ("'t', conf=['x', 'gaps'], k=3", 'conf column "gaps" has NULL in 10 of 100 rows, .* leave such rows out'),
        ("'t', conf=['name'], k=3", 'conf names column "name" of type VARCHAR; only numeric columns'),
        ("'t', conf=['same'], k=3", 'conf column "same" is constant; there is nothing to mask in it'),
        ("'t', conf=['x', 'y'], k=3, variables=0", "variables must be at least 1, got 0"),
        ("'t', conf=['x', 'y'], k=3, variables=1.5", "variables takes 'all', a whole number of at least 1, or lists of"),
        ("'t', conf=['x', 'y'], k=3, variables=[['x'], ['z']]", 'variables names column "z", which is not in conf'),
        ("'t', conf=['x', 'y'], k=3, variables=[['x']]", 'variables leaves out "y"; every conf column is in one'),
        ("'t', conf=['x', 'y'], k=3, variables=[['x', 'y'], ['x']]", 'variables names column "x" twice'),
        ("'t', conf=['x'], k=3, method='fast'", "method takes one of 'mdav', got 'fast'"),
        ("'t', conf=['x'], k=20, strata=['g']", r"k is 20, and 3[34] rows in the group g = \d make no two groups of 20; take a smaller k, or merge small groups"),
    ],
)  # fmt: skip
def test_bad_input_is_told(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, sin(i) AS x, cos(i) AS y, 'n' || i AS name, 5 AS same, i % 3 AS g, "
        "if(i < 10, NULL, i) AS gaps FROM range(100) r(i)"
    )
    with pytest.raises(duckdb.InvalidInputException, match=f"(?s)microaggregate_mask.*{message}"):
        con.execute(f"FROM microaggregate_mask({call})").fetchall()
