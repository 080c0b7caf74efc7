"""A row that only several nonconf columns together set apart is its own prediction, and refused."""

from __future__ import annotations

import warnings

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppduck import PpduckWarning
from ppduck.call.numeric_mask import NumericMask
from tests.kernels.test_leverage import hat
from tests.laws import insert, matrix
from tests.registry_calls import masks_of_numbers, more

pytestmark = pytest.mark.core

APART = 'a single row stands apart in nonconf by "gross", "net" taken together'
PAY = """
    CREATE TABLE pay AS SELECT i AS id, i % 2 AS half, sin(i * 1.1) * 100 AS gross, gross + if(i = 5, 100, 0) AS net,
                               cos(i * 5.5) AS age, 50 + 10 * cos(i * 2.3) AS x, sin(i * 7.7) AS y FROM range(1000) r(i)
"""


@pytest.fixture
def pay(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute(PAY)
    return con


@pytest.mark.parametrize("mask", [each for each in masks_of_numbers() if each.reads_s], ids=lambda mask: mask.name)
def test_the_only_row_in_which_two_columns_differ_is_refused(pay: duckdb.DuckDBPyConnection, mask: NumericMask) -> None:
    masked = f"{mask.name}('pay', conf=['x'], nonconf=['age', 'gross', 'net'], key='id'{more(mask)})"
    with pytest.raises(duckdb.InvalidInputException, match=f'{mask.name} on "pay": {APART}, so that'):
        pay.execute(f"FROM {masked}")


def refused(con: duckdb.DuckDBPyConnection, query: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PpduckWarning)
        try:
            con.execute(query).fetchall()
        except duckdb.InvalidInputException as caught:
            return str(caught)
    return ""


def with_leverage(wanted: float, n: int = 400) -> np.ndarray:
    """Columns s0, s1, x, of which the first two are so far apart in row 7 that its leverage is as wanted."""
    rng = np.random.default_rng(11)
    s = rng.normal(size=n)
    wobble = rng.normal(size=n)
    low, high = 0.0, 1e6
    x = rng.normal(size=n)
    for _ in range(200):
        bump = (low + high) / 2
        values = np.column_stack([s, s + 0.01 * wobble, x])
        values[7, 1] += bump
        low, high = (bump, high) if hat(values)[7] < wanted else (low, bump)
    return values


@pytest.mark.parametrize(("wanted", "is_refused"), [(0.5, False), (0.75, False), (0.805, False), (0.807, True)])
@pytest.mark.parametrize(
    "masked",
    [
        "egadp_mask('t', conf=['x'], nonconf=['s0', 's1'], key='id')",
        "egadp_plain('t', ['x'], 'an example of a secret', 'id', ['s0', 's1'])",
    ],
)
def test_the_limit_is_that_of_the_hat_matrix(
    con: duckdb.DuckDBPyConnection, masked: str, wanted: float, is_refused: bool
) -> None:
    """0.8 of the way from three times the average, 4/400, to 1."""
    values = with_leverage(wanted)
    insert(con, "t", ["s0", "s1", "x"], values)
    found = refused(con, f"FROM {masked}")
    assert ("row stands apart in nonconf by" in found) == is_refused
    assert bool(found) == is_refused


def refusable(s: np.ndarray, x: np.ndarray) -> bool:
    """Whether a row has four fifths of a column, or a leverage four fifths of the way from three times the average."""
    both = np.column_stack([s, x])
    squares = (both - both.mean(axis=0)) ** 2
    limit = 0.8 + 0.2 * min(1, 3 * (both.shape[1] + 1) / len(both))
    together = hat(both).max() > limit if limit <= 0.95 else hat(s).max() > 0.95
    return bool((squares / squares.sum(axis=0)).max() > 0.8 or together)


@pytest.mark.long
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(12, 60),
    p=st.integers(2, 4),
    near=st.sampled_from([1.0, 0.1, 0.01]),
    bump=st.sampled_from([0.0, 0.5, 3.0, 30.0]),
)
def test_refused_is_what_the_hat_matrix_says(
    con: duckdb.DuckDBPyConnection, seed: int, n: int, p: int, near: float, bump: float
) -> None:
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(n, p))
    s[:, 1] = s[:, 0] + near * s[:, 1]
    s[3, 1] += bump
    x = rng.normal(size=n)
    insert(con, "t", [*(f"s{i}" for i in range(p)), "x"], np.column_stack([s, x]))
    names = [f"s{i}" for i in range(p)]
    beyond = refusable(s, x)
    for masked in (
        f"egadp_mask('t', conf=['x'], nonconf={names}, key='id')",
        f"egadp_plain('t', ['x'], 'an example of a secret', 'id', {names})",
    ):
        found = refused(con, f"FROM {masked}")
        assert bool(found) == beyond, found


def test_every_group_has_its_own_leverage(pay: duckdb.DuckDBPyConnection) -> None:
    """Row 5 is of the second half, in which alone it is refused; and where it has company it is not."""
    masked = "egadp_mask('{}', conf := ['x'], nonconf := ['gross', 'net'], strata := ['half'], key := 'id')"
    with pytest.raises(duckdb.InvalidInputException, match=rf"{APART} in the group half = 1, so that"):
        pay.execute(f"FROM {masked.format('pay')}")
    pay.execute("UPDATE pay SET net = net + sin(id * 3.1) WHERE half = 0; UPDATE pay SET half = NULL WHERE half = 1")
    with pytest.raises(duckdb.InvalidInputException, match=rf"{APART} in the group half = NULL, so that"):
        pay.execute(f"FROM {masked.format('pay')}")
    assert len(pay.execute(f"FROM {masked.format('(FROM pay WHERE half = 0)')}").fetchall()) == 500
    pay.execute("UPDATE pay SET net = net + 20 * sin(id * 3.1) WHERE half IS NULL")
    assert len(pay.execute(f"FROM {masked.format('pay')}").fetchall()) == 1_000


def test_only_rows_that_the_regression_is_of_count(pay: duckdb.DuckDBPyConnection) -> None:
    """A row that lacks a conf value decides nothing; one that counts as average in one column does, and one left out not."""
    pay.execute("UPDATE pay SET net = net + 0.1 * sin(id * 3.1)")
    nonconf = "nonconf=['gross', 'net', 'age'], key='id'"
    with pytest.raises(duckdb.InvalidInputException, match=APART):
        pay.execute(f"FROM egadp_mask('pay', conf=['x', 'y'], {nonconf})")
    pay.execute("UPDATE pay SET age = NULL WHERE id = 5")
    with pytest.raises(duckdb.InvalidInputException, match=APART):
        pay.execute(f"FROM egadp_mask('pay', conf=['x', 'y'], {nonconf}, on_null='mean')")
    assert len(pay.execute(f"FROM egadp_mask('pay', conf=['x', 'y'], {nonconf}, on_null='drop')").fetchall()) == 999
    pay.execute("UPDATE pay SET y = NULL, age = 0 WHERE id = 5")
    assert len(pay.execute(f"FROM egadp_mask('pay', conf=['x', 'y'], {nonconf})").fetchall()) == 1_000


def test_levels_that_only_one_row_combines(con: duckdb.DuckDBPyConnection) -> None:
    """A pair of levels is no term; but two categories that agree in all rows but one are."""
    con.execute(
        """
        CREATE TABLE t AS SELECT i AS id, ['a', 'b', 'c'][1 + i % 3] AS home, ['p', 'q'][1 + i // 3 % 2] AS kind,
                                 sin(i * 2.3) AS x FROM range(300) r(i);
        UPDATE t SET kind = 'q' WHERE home = 'a'; UPDATE t SET kind = 'p' WHERE id = 3
        """
    )
    masked = "egadp_mask('t', conf=['x'], nonconf=['home', '{}'], key='id')"
    assert len(con.execute(f"FROM {masked.format('kind')}").fetchall()) == 300
    con.execute("ALTER TABLE t ADD COLUMN work VARCHAR; UPDATE t SET work = if(id = 3, 'c', home)")
    with pytest.raises(
        duckdb.InvalidInputException, match=r'a single row stands apart in nonconf by "home = .*"work = '
    ):
        con.execute(f"FROM {masked.format('work')}")


def test_nothing_is_emitted_before_it_is_refused(pay: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=APART):
        pay.execute("FROM egadp_mask('pay', conf=['x'], nonconf=['gross', 'net'], key='id') LIMIT 1")


def test_many_rows_with_a_far_one_in_the_middle(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        CREATE TABLE t AS SELECT i AS id, sin(i * 1.1) AS s0, s0 + if(i = 200000, 1, 0) AS s1, cos(i * 2.3) AS x
        FROM range(300000) r(i)
        """
    )
    for masked in (
        "egadp_mask('t', conf=['x'], nonconf=['s0', 's1'], key='id')",
        "egadp_plain('t', ['x'], 'an example of a secret', 'id', ['s0', 's1'])",
    ):
        with pytest.raises(duckdb.InvalidInputException, match=r'by (columns )?"s0", "s1" taken together'):
            con.execute(f"SELECT count(*) FROM {masked}")
    con.execute("UPDATE t SET s1 = s0 + 0.001 * sin(id * 7.7)")
    values = matrix(con, "SELECT x FROM egadp_mask('t', conf=['x'], nonconf=['s0', 's1'], key='id')")
    assert len(values) == 300_000
