"""C-GADP: new values on the old quantiles, rank correlations as before, and no way back."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from tests.laws import insert, matrix, r_squared
from tests.masks.rank_data import KINDS, ranked, spearman
from tests.masks.store import make

pytestmark = pytest.mark.core


def kolmogorov(a: np.ndarray, b: np.ndarray) -> float:
    """The largest distance of two distribution functions."""
    places = np.concatenate([a, b])
    heights = [np.searchsorted(np.sort(each), places, side="right") / len(each) for each in (a, b)]
    return float(np.abs(heights[0] - heights[1]).max())


@pytest.mark.parametrize("kind", KINDS)
def test_distributions_and_rank_correlations_are_as_before(con: duckdb.DuckDBPyConnection, kind: str) -> None:
    for n in (60, 1_000, 30_000):
        data = ranked(con, kind, n)
        released = data.released("cgadp_mask")
        assert (released >= data.x.min(axis=0)).all()
        assert (released <= data.x.max(axis=0)).all()
        assert data.missed(released) < 3 / np.sqrt(n)
        if n == 1_000:
            assert data.missed(released) < 0.01, "sdcMicro misses them by 0.02 to 0.04"
        for before, after in zip(data.x.T, released.T, strict=True):
            # Two samples of one distribution are further apart once in a hundred times.
            assert kolmogorov(before, after) < 1.63 * np.sqrt(2 / n)
        if kind != "ties":
            # All but the ends are new values.
            inner = (released > data.x.min(axis=0)) & (released < data.x.max(axis=0))
            assert inner.mean() > 1 - 3 / n
            assert not np.isin(released[inner], data.x).any()


@pytest.mark.filterwarnings("ignore:.*releasing is not advised:ppduck.errors.PpduckWarning")
@pytest.mark.parametrize("kind", ["normal", "lognormal", "skewed"])
def test_masked_ranks_tell_nothing_more_of_the_original_ones(con: duckdb.DuckDBPyConnection, kind: str) -> None:
    """Given S. Noise that was only independent would correlate by 1/√n and more in one of these."""
    for seed in range(4):
        data = ranked(con, kind, 1_000, seed)
        assert data.partial(data.released("cgadp_mask")) < 0.5 / np.sqrt(1_000)


def test_null_stays_null_and_the_others_stay_inside_their_range(con: duckdb.DuckDBPyConnection) -> None:
    ranked(con, "skewed", 1_000)
    con.execute("UPDATE t SET x1 = NULL WHERE id % 5 = 0")
    call = "cgadp_mask('t', conf=['x1', 'x2'], nonconf=['s1', 's2'], key='id')"
    nulls = con.execute(f"SELECT list(id ORDER BY id) FROM {call} WHERE x1 IS NULL OR x2 IS NULL").fetchone()
    assert nulls == (list(range(0, 1_000, 5)),)
    inside = f"SELECT bool_and(m.x1 BETWEEN (SELECT min(x1) FROM t) AND (SELECT max(x1) FROM t)) FROM {call} m"
    assert con.execute(inside).fetchone() == (True,)


@pytest.mark.filterwarnings("ignore:.*releasing is not advised:ppduck.errors.PpduckWarning")
def test_every_group_has_its_own_quantiles_and_relation(con: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(3)
    group = np.arange(900) % 3
    s = rng.normal(size=900)
    x = np.exp(np.array([1, -1, 0])[group] * s + 0.5 * rng.normal(size=900)) + 1000 * group
    insert(con, "t", ["part", "s", "x"], np.column_stack([group, s, x]))
    call = "cgadp_mask('t', conf=['x'], nonconf=['s'], strata=['part'], key='id')"
    released = matrix(con, f"SELECT x FROM {call} ORDER BY id")[:, 0]
    for each in range(3):
        here = group == each
        assert released[here].min() >= x[here].min()
        assert released[here].max() <= x[here].max()
        before, after = (spearman(np.column_stack([s, y])[here])[0, 1] for y in (x, released))
        assert abs(before - after) < 0.01


def test_whole_numbers_and_decimals_come_back_where_asked_inside_their_range(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        CREATE TABLE t AS SELECT i AS id, sin(i) AS s, (30 * sin(i * i * 0.3))::INTEGER AS int,
                                 (20 * cos(i * i * 1.7))::DECIMAL(8, 2) AS money FROM range(400) AS r(i)
        """
    )
    plain, rounded = (f"cgadp_mask('t', conf=['int', 'money'], key='id'{more})" for more in ("", ", round=true"))
    assert list(map(str, con.sql(f"FROM {plain}").types[2:])) == ["DOUBLE", "DOUBLE"]
    assert list(map(str, con.sql(f"FROM {rounded}").types[2:])) == ["INTEGER", "DECIMAL(8,2)"]
    found = con.execute(
        f"""
        SELECT max(abs(a.int - b.int)), max(abs(a.money - b.money)), count_if(a.int = t.int),
               bool_and(b.int BETWEEN -30 AND 30 AND b.money BETWEEN -20 AND 20)
        FROM {plain} a JOIN {rounded} b USING (id) JOIN t USING (id)
        """
    ).fetchone()
    assert found is not None
    assert 0 < found[0] <= 0.5
    assert 0 < found[1] <= 0.005 + 1e-12
    assert found[2] < 40
    assert found[3]


def test_the_same_key_gives_the_same_rows_whatever_reads_them(con: duckdb.DuckDBPyConnection) -> None:
    data = ranked(con, "lognormal", 500)
    first = data.released("cgadp_mask")
    con.execute("CREATE VIEW v AS FROM t ORDER BY hash(id)")
    for source in ("v", "(SELECT * FROM t ORDER BY x1)"):
        call = f"cgadp_mask('{source}', conf=['x2', 'x1'], nonconf=['s2', 's1'], key='id')"
        np.testing.assert_allclose(matrix(con, f"SELECT x1, x2 FROM {call} ORDER BY id"), first, rtol=1e-9)
    assert np.abs(first - data.released("cgadp_mask", ", seed=1")).min() > 0


def test_a_tent_is_lost(con: duckdb.DuckDBPyConnection) -> None:
    values = make(con, "ME.L")
    released = matrix(con, "SELECT x1, x2 FROM cgadp_mask('store', conf=['x1', 'x2'], key='id') ORDER BY id")
    tent = np.abs(values[:, :1] - 40)
    for j in (0, 1):
        assert r_squared(values[:, 2 + j], tent) > 0.9
        assert r_squared(released[:, j], tent) < 0.05


@pytest.mark.parametrize(
    ("s", "x"),
    [
        ("i % 2", "10 * (i % 2) + e"),
        ("(i % 20 = 0)::INTEGER", "100 * (i % 20 = 0)::INTEGER + e"),
        ("i % 5", "i % 5 + round(e)"),
    ],
)
@pytest.mark.filterwarnings("ignore::ppduck.errors.PpduckWarning")
def test_the_distribution_stays_where_nonconf_has_few_values(con: duckdb.DuckDBPyConnection, s: str, x: str) -> None:
    con.execute(f"""
        CREATE TABLE t AS SELECT i AS id, {s} AS s, {x} AS x FROM (
            SELECT i, sqrt(-2 * ln((1 + hash(i) % 100000) / 100001)) * cos(6.28318 * (hash(i + 1000000) % 100000) / 100000) AS e
            FROM range(5000) r(i))""")
    before = np.sort(matrix(con, "SELECT x FROM t")[:, 0])
    after = np.sort(matrix(con, "SELECT x FROM cgadp_mask('t', conf=['x'], nonconf=['s'])")[:, 0])
    # Every value falls between the neighbours of its place.
    assert (after[1:] >= before[:-1] - 1e-9).all()
    assert (after[:-1] <= before[1:] + 1e-9).all()
