"""Rows that stand apart: a row that makes up a column's variance is told by a release that keeps it."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import numpy as np
import pytest

from ppduck.gate import _apart
from ppduck.gate.rules import Row
from ppduck.pairs.rows import PairSpec
from ppduck.runtime.dominance import REFUSED
from tests.gate.releases import Rows, of_rule, people

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]
N = 300


def gathered(x: np.ndarray, y: np.ndarray, *features: np.ndarray) -> np.ndarray:
    """What the statement counts, by numpy."""
    conf = [
        len(x),
        x.mean(),
        x.var(),
        x.min(),
        x.max(),
        y[x.argmin()],
        y[x.argmax()],
        y.mean(),
        y.var(),
        y.min(),
        y.max(),
    ]
    return np.array([*conf, *(v for s in features for v in (len(s), s.mean(), s.var(), s.min(), s.max()))])


def rows(told: np.ndarray | None, *features: str, columns: tuple[str, ...] = ("x",)) -> list[Row]:
    return list(_apart.rows(PairSpec("f", "t", "r", ["id"], [*columns], [], [*features], [None]), told))


def huge(seed: int = 1, size: float = 1e6) -> tuple[np.ndarray, np.ndarray]:
    """A column with one huge row, and fresh values of the same law but for it."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, N))
    x[7] = size
    return x, y


def share(told: np.ndarray) -> float:
    [row] = rows(told)
    assert (row.rule, row.column_name, row.at_most) == ("dominance", "x", REFUSED)
    assert row.value is not None
    return row.value


@pytest.mark.parametrize("sign", [1, -1])
def test_one_huge_row_fails_where_it_stays_the_end(sign: int) -> None:
    x, y = huge()
    y[7] = 3 * x[7] + 5
    assert share(gathered(sign * x, sign * y)) == pytest.approx(1 - 1 / N)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_huge_row_fails_where_the_variance_is_kept(sign: int) -> None:
    x, y = huge()
    y = (y - y.mean()) / y.std() * x.std() + x.mean()
    assert y.argmin() != 7 != y.argmax()
    assert share(gathered(sign * x, sign * y)) == pytest.approx(1 - 1 / N)


def test_a_huge_value_that_another_row_is_dealt_tells_nobody() -> None:
    x, _ = huge()
    y = np.roll(x, 1)
    assert share(gathered(x, y)) == 0


def test_a_huge_row_that_is_cut_tells_nobody() -> None:
    x, y = huge()
    y[7] = 0.0
    assert share(gathered(x, y)) == 0


@pytest.mark.parametrize("seed", range(20))
def test_no_row_of_a_usual_column_stands_apart(seed: int) -> None:
    for x in np.random.default_rng(seed).normal(size=(3, N)), np.random.default_rng(seed).lognormal(size=(3, N)):
        assert share(gathered(x[0], x[0])) < REFUSED / 2


def test_the_share_is_that_of_squares_about_the_mean() -> None:
    x = np.array([0.0, 0, 0, 0, 10])
    assert share(gathered(x, x)) == pytest.approx(8**2 / (4 * 2**2 + 8**2))


@pytest.mark.parametrize("told", [np.ones(3), np.array([0.0, 5.0])])
def test_constant_and_few_values_have_no_share(told: np.ndarray) -> None:
    assert share(gathered(told, told)) == 0


def test_a_lonely_level_has_all_the_leverage() -> None:
    lonely, usual = np.zeros(N), np.arange(N) % 3 == 0
    lonely[5] = 1
    x = np.random.default_rng(1).normal(size=N)
    dominance, first, second = rows(gathered(x, x, lonely, usual.astype(float)), "c = mars", "c = earth")
    assert dominance.rule == "dominance"
    assert (first.rule, first.column_name, second.column_name) == ("leverage", "c = mars", "c = earth")
    assert first.value == pytest.approx(1 - 1 / N)
    assert second.value == pytest.approx((2 / 3) ** 2 / (2 / 9) / N)


def test_without_figures_there_are_no_rows() -> None:
    assert rows(None) == []
    assert rows(np.empty(0)) == []


def test_rows_apart_in_tables(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """The same in SQL: one conf value and one level that nobody else has, and 1e200, whose square is infinite."""
    people(con)
    con.execute("""
        CREATE TABLE far AS SELECT * REPLACE (if(id = 5, 1e9, x) AS x, if(id = 9, 'mars', region) AS region) FROM t;
        CREATE TABLE r AS SELECT m.* REPLACE (if(id = 5, 9e8, m.x) AS x, far.region AS region) FROM m JOIN far USING (id);
        CREATE TABLE endless AS SELECT * REPLACE (if(id = 5, 1e200, x) AS x) FROM t
        """)
    off = "limits={'tells': NULL, 'linkage': NULL, 'cc_gain': NULL, 'r2_gain': NULL, 'interval': NULL}"
    found = ask(f"FROM release_check('far', 'r', conf=['x'], key='id', {off})")
    assert not of_rule(found, "dominance")["x"]["passed"]
    leverage = of_rule(found, "leverage")
    assert [name for name, row in leverage.items() if not row["passed"]] == ["region = mars"]
    usual = ask(f"FROM release_check('t', 'm', conf=['x'], key='id', {off})")
    assert all(row["passed"] for rule in ("dominance", "leverage") for row in of_rule(usual, rule).values())
    assert of_rule(ask(f"FROM release_check('endless', 'm', conf=['x'], key='id', {off})"), "dominance")
