"""Ranks in SQL: "shuffle A by B", normal scores and quantiles, as DuckDB computes them."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import rankdata

from ppduck.query import normals
from ppduck.query import ranks as shuffling
from ppduck.query import tree as sql
from tests.laws import Matrix

pytestmark = pytest.mark.core
ONCE = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
# Few different values, so that ties are common.
COARSE = st.integers(-3, 3).map(float)


def rows(con: duckdb.DuckDBPyConnection, **columns: object) -> None:
    """A table ``rows`` whose numbers of rows say nothing of the order in which they are stored."""
    size = len(next(iter(columns.values())))  # type: ignore[arg-type]
    con.register("given_rows", pa.table({"_pp_row_number": np.arange(size), **columns}))
    con.execute("CREATE OR REPLACE TABLE rows AS FROM given_rows ORDER BY hash(_pp_row_number)")
    con.unregister("given_rows")


def shuffled(con: duckdb.DuckDBPyConnection, by: list[str] | None = None, tie: str = "_pp_row_number") -> list[float]:
    """A shuffled by B, in the order of the rows' numbers."""
    query = sql.render(shuffling.shuffled("rows", by or [], "a", "b", tie))
    found = con.execute(
        f'SELECT "_pp_row_number", "{shuffling.VALUE}" FROM ({query}) ORDER BY "_pp_row_number"'
    ).fetchall()
    assert [row for row, _ in found] == list(range(len(found)))
    return [value for _, value in found]


def test_the_worked_example_of_table_40(con: duckdb.DuckDBPyConnection) -> None:
    """Al-Ahmadi 2006, Appendix C."""
    a = [8.8, 4.5, 7.3, 9.7, 3.2, 10.5, 2.9, 5.3, 6.4, 1.8]
    b = [2.3, 7.5, 8.4, 6.8, 4.2, 3.6, 1.1, 5.9, 10.9, 9.9]
    rows(con, a=a, b=b)
    assert shuffled(con) == [2.9, 7.3, 8.8, 6.4, 4.5, 3.2, 1.8, 5.3, 10.5, 9.7]


def test_equal_values_of_b_are_ordered_by_the_tie(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, a=[10.0, 20.0, 30.0, 40.0], b=[1.0, 0.0, 1.0, 1.0], t=[3, 9, 1, 2])
    assert shuffled(con, tie="t") == [40.0, 10.0, 20.0, 30.0]


def test_each_group_is_shuffled_by_itself_also_that_of_null(con: duckdb.DuckDBPyConnection) -> None:
    group = pa.array(["x", None, "x", None, "x", "y"])
    rows(con, g=group, a=[1.0, 10.0, 2.0, 20.0, 3.0, 7.0], b=[0.9, 0.9, 0.5, 0.1, 0.1, 0.0])
    assert shuffled(con, ["g"]) == [3.0, 20.0, 2.0, 10.0, 1.0, 7.0]


def test_rows_without_a_value_get_none(con: duckdb.DuckDBPyConnection) -> None:
    rows(con, a=pa.array([5.0, None, 3.0, 4.0]), b=pa.array([1.0, None, 2.0, 3.0]))
    query = sql.render(shuffling.shuffled("rows", [], "a", "b", "_pp_row_number"))
    found = dict(con.execute(f'SELECT "_pp_row_number", "{shuffling.VALUE}" FROM ({query})').fetchall())
    assert found == {0: 3.0, 1: None, 2: 4.0, 3: 5.0}


@ONCE
@given(pairs=st.lists(st.tuples(NUMBERS | COARSE, NUMBERS | COARSE, st.integers(0, 2)), min_size=1, max_size=60))
def test_shuffling_is_what_numpy_makes_of_it(
    con: duckdb.DuckDBPyConnection, pairs: list[tuple[float, float, int]]
) -> None:
    a, b, group = (np.array(column) for column in zip(*pairs, strict=True))
    rows(con, a=a, b=b, g=group)
    expected = np.empty_like(a)
    for each in np.unique(group):
        here = np.flatnonzero(group == each)
        expected[here[np.argsort(b[here], kind="stable")]] = np.sort(a[here])
    assert shuffled(con, ["g"]) == expected.tolist()
    # The same from places that a sort for ranks has found.
    value, by = sql.column("a"), [sql.column("g")]
    taken = shuffling.ranks(sql.table("rows"), by, value, [sql.named(value.copy(), shuffling.VALUE)])
    query = sql.render(shuffling.shuffled("rows", ["g"], "a", "b", "_pp_row_number", taken))
    found = con.execute(f'SELECT "{shuffling.VALUE}" AS o FROM ({query}) ORDER BY "_pp_row_number"').fetchnumpy()["o"]
    assert found.tolist() == expected.tolist()


def test_the_normal_quantile_is_scipys(con: duckdb.DuckDBPyConnection) -> None:
    small = 10.0 ** np.linspace(-300, -1, 20_000)
    shares = np.concatenate([
        small, np.linspace(0.001, 0.999, 20_001), 1 - small[small > 1e-16], 0.5 + small - small[0], 0.5 - small / 10,
        [0.5, 0.5 - 2**-54, 0.5 + 2**-53, 0.075, 0.925, 1 - 2**-53, np.exp(-25.0), 1 - np.exp(-25.0)],
    ])  # fmt: skip
    shares = shares[(shares > 0) & (shares < 1)]
    con.register("given_shares", pa.table({"_pp_row_number": np.arange(len(shares)), "p": shares}))
    scored = sql.render(
        normals.with_scores(sql.query([sql.star("given_shares")], sql.table("given_shares")), {"p": "z"})
    )
    found = con.execute(f"SELECT z FROM ({scored}) ORDER BY _pp_row_number").fetchnumpy()["z"]
    expected = ndtri(shares)
    assert len(shares) > 60_000
    assert shares.min() < 1e-299
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)


def shares_of(con: duckdb.DuckDBPyConnection, by: list[str]) -> Matrix:
    """(row, share) as the masks compute them, the counts from windows."""
    groups = [sql.column(name) for name in by]
    over = f'(PARTITION BY "{by[0]}")' if by else "()"
    share = shuffling.share(sql.raw(f"count(a) OVER {over}"), sql.raw(f"count(*) OVER {over}"))
    ranks = sql.render(shuffling.ranks(sql.table("rows"), groups, sql.column("a"), [sql.column("a")]))
    found = con.execute(
        f"SELECT _pp_row_number, {sql.render(share)} AS p, a FROM ({ranks}) ORDER BY _pp_row_number"
    ).fetchnumpy()
    there = ~np.ma.getmaskarray(np.ma.asarray(found["a"]))
    assert (np.ma.getmaskarray(np.ma.asarray(found["p"])) == ~there).all()
    return np.column_stack([found["_pp_row_number"], np.ma.filled(found["p"], np.nan)])[there]


@ONCE
@given(values=st.lists(st.tuples(NUMBERS | COARSE | st.none(), st.integers(0, 2)), min_size=1, max_size=60))
def test_shares_are_scipys_middle_ranks_less_a_half_of_the_values_that_are_present(
    con: duckdb.DuckDBPyConnection, values: list[tuple[float | None, int]]
) -> None:
    a = [value for value, _ in values]
    group = np.array([each for _, each in values])
    rows(con, a=pa.array(a, pa.float64()), g=group)
    there = np.array([value is not None for value in a])
    for by in ([], ["g"]):
        expected = {}
        for each in np.unique(group) if by else [None]:
            here = np.flatnonzero(there & ((group == each) if by else True))
            ranks = rankdata([a[i] for i in here])
            expected |= dict(zip(here.tolist(), ((ranks - 0.5) / len(here)).tolist(), strict=True))
        found = {int(row): share for row, share in shares_of(con, by)}
        assert found == pytest.approx(expected, abs=1e-12)


@ONCE
@given(
    pairs=st.lists(
        st.tuples(NUMBERS | COARSE, st.floats(-9, 9), st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=60
    )
)
def test_quantiles_are_linear_between_the_middles_of_places(
    con: duckdb.DuckDBPyConnection, pairs: list[tuple[float, float, float, int]]
) -> None:
    """numpy calls them Hazen's: at the height (rank of b - ½ + where in its place the value falls - ½)/n."""
    a, b, within, group = (np.array(column) for column in zip(*pairs, strict=True))
    rows(con, a=a, b=b, g=group, w=within)
    value, by = sql.column("a"), [sql.column("g")]
    kept = [sql.named(value.copy(), shuffling.VALUE)]
    for function, name in (("lag", shuffling.BEFORE), ("lead", shuffling.NEXT)):
        kept.append(sql.named(shuffling.neighbour(function, by, value), name))
    taken = shuffling.ordered(sql.table("rows"), ["g"], value, (), kept)
    query = sql.render(shuffling.on_quantiles(taken, "rows", ["g"], "b", "_pp_row_number", "w"))
    found = con.execute(f'SELECT "{shuffling.VALUE}" AS o FROM ({query}) ORDER BY _pp_row_number').fetchnumpy()["o"]
    for each in np.unique(group):
        here = group == each
        place = np.empty(here.sum())
        place[np.argsort(b[here], kind="stable")] = np.arange(here.sum())
        heights = np.clip((place + within[here]) / here.sum(), 0, 1)
        expected = np.quantile(a[here], heights, method="hazen")
        np.testing.assert_allclose(found[here], expected, rtol=1e-9, atol=1e-9 * np.abs(a).max(initial=1))
