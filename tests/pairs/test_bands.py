"""Products that are summed in several steps are those of one step, in any order of centres."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from ppduck.pairs import bands, moments
from ppduck.pairs.bands import in_other_order
from tests.laws import insert

pytestmark = pytest.mark.core
COLUMNS = 23
MODELS = ("linear", "curve")


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A release of 23 open columns and one that is confidential; one row lacks an open value, one the masked."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=(300, COLUMNS)) + 50
    x = values[:, :3].sum(axis=1) + rng.normal(size=300)
    names = [f"s{i}" for i in range(COLUMNS)]
    insert(con, "t", [*names, "x"], np.column_stack([values, x]))
    insert(con, "r", [*names, "x"], np.column_stack([values, x + rng.normal(size=300)]))
    con.execute("UPDATE t SET s5 = NULL WHERE id = 7; UPDATE r SET x = NULL WHERE id = 9")
    return con


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("more", ["", ", pieces=['s1 < 50']"])
def test_in_several_steps_the_figures_are_the_same(
    tables: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, model: str, more: str
) -> None:
    call = (
        f"SELECT r2_s, r2_y, r2_sy, rows FROM value_disclosure('t', 'r', conf=['x'], key='id', model='{model}'{more})"
    )
    [once] = tables.execute(call).fetchall()
    for module in (bands, moments):
        monkeypatch.setattr(module, "MOST_AT_ONCE", 4)
    [in_steps] = tables.execute(call + " WHERE true").fetchall()
    assert in_steps == pytest.approx(once, rel=1e-12)
    assert once[-1] == 298


def test_products_of_as_many_columns_as_ended_duckdb_are_summed(con: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(9)
    values = rng.normal(size=(400, 185))
    names = [f"s{i}" for i in range(184)]
    insert(con, "t", [*names, "x"], values)
    insert(con, "r", [*names, "x"], np.column_stack([values[:, :-1], 2 * values[:, -1]]))
    asked = "SELECT r2_y, rows FROM value_disclosure('t', 'r', conf=['x'], key='id')"
    assert con.execute(asked).fetchall() == [(pytest.approx(1), 400)]


def test_centres_stand_in_another_order() -> None:
    assert in_other_order(range(3)) == [2, 1, 0]
