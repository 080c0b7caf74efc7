"""information_loss(): agrees with numpy, obeys its laws, and scales with rank swapping as printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.census import COLUMNS, census, rank_swapped
from tests.laws import Matrix, insert, random_table

pytestmark = pytest.mark.core
Ask = Callable[[str], list[dict[str, Any]]]
CALL = "FROM information_loss('t', 'm', key='id'{})"
NONE = dict.fromkeys(["values", "covariances", "variances", "correlations", "information_loss", "squared_error"], 0.0)


def by_numpy(x: Matrix, y: Matrix, *, sd: bool = False) -> dict[str, float]:
    """The four terms as printed, for columns without zeros."""
    v, w, r, s = np.cov(x.T), np.cov(y.T), np.corrcoef(x.T), np.corrcoef(y.T)
    triangle, pairs = np.tril_indices(len(v)), np.tril_indices(len(v), -1)
    scale = np.sqrt(2) * x.std(axis=0, ddof=1) if sd else np.abs(x)
    terms = {
        "values": np.mean(np.abs(x - y) / scale),
        "covariances": np.mean((np.abs(v - w) / np.abs(v))[triangle]),
        "variances": np.mean(np.abs(np.diag(v) - np.diag(w)) / np.diag(v)),
        "correlations": np.mean(np.abs(r - s)[pairs]),
    }
    error = np.mean(((x - y) ** 2).sum(axis=0) / ((x - x.mean(axis=0)) ** 2).sum(axis=0))
    return {**terms, "information_loss": np.mean(list(terms.values())), "squared_error": error}


def put(con: duckdb.DuckDBPyConnection, original: Matrix, masked: Matrix) -> None:
    names = [f"x{j}" for j in range(original.shape[1])]
    insert(con, "t", names, original)
    insert(con, "m", names, masked)


def losses(ask: Ask, more: str = "") -> dict[str, float]:
    return {row["component"]: row["value"] for row in ask(CALL.format(more))}


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10_000), st.integers(3, 200), st.integers(2, 4))
def test_it_agrees_with_numpy(con: duckdb.DuckDBPyConnection, ask: Ask, seed: int, n: int, q: int) -> None:
    rng = np.random.default_rng(seed)
    x = random_table(rng, n, 0, q) * 10.0 ** rng.integers(-3, 4, q) + 10.0 ** rng.integers(0, 4, q)
    put(con, x, y := x + rng.normal(size=x.shape) * x.std(axis=0))
    assert losses(ask) == pytest.approx(by_numpy(x, y), rel=1e-6)
    assert losses(ask, ", scale='sd'") == pytest.approx(by_numpy(x, y, sd=True), rel=1e-6)


@pytest.mark.parametrize("scale", ["value", "sd"])
def test_a_copy_loses_exactly_nothing(con: duckdb.DuckDBPyConnection, ask: Ask, scale: str) -> None:
    x = random_table(np.random.default_rng(1), 5000, 0, 3) + 1e6
    x[:50, 1] = 0
    put(con, x, x)
    assert losses(ask, f", scale='{scale}'") == NONE
    # Sums about another centre are others by rounding.
    con.execute("CREATE OR REPLACE TABLE m AS FROM m ORDER BY x0")
    assert losses(ask, f", scale='{scale}'") == NONE


def test_egadp_loses_values_only(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    insert(con, "t", ["s", "x0", "x1"], random_table(np.random.default_rng(2), 2000, 1, 2) + 50)
    con.execute("CREATE OR REPLACE TABLE m AS FROM egadp_mask('t', conf=['x0', 'x1'], nonconf=['s'], key='id')")
    found = losses(ask)
    assert max(found[term] for term in ("covariances", "variances", "correlations")) < 1e-7
    assert found["values"] > 0.01
    assert found["information_loss"] == pytest.approx(found["values"] / 4)


@pytest.mark.parametrize("scale", ["value", "sd"])
def test_units_and_the_order_of_records_do_not_matter(con: duckdb.DuckDBPyConnection, ask: Ask, scale: str) -> None:
    rng = np.random.default_rng(3)
    x = random_table(rng, 300, 0, 3)
    y = x + rng.normal(size=x.shape)
    put(con, x, y)
    found = losses(ask, f", scale='{scale}'")
    units = np.array([1000, -0.01, 7])
    put(con, x * units, y * units)
    con.execute("CREATE OR REPLACE TABLE m AS FROM m ORDER BY hash(id)")
    assert losses(ask, f", scale='{scale}'") == pytest.approx(found, rel=1e-9)


def test_zeros_count_one_if_they_change(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    x = np.array([[0.0, 1], [0, 2], [4, 3], [5, 4]])
    y = np.array([[0.0, 1], [9, 2], [5, 3], [5, 4]])
    put(con, x, y)
    found = {row["component"]: row for row in ask(CALL.format(""))}
    assert found["values"]["value"] == pytest.approx((0 + 1 + 0.25 + 0) / 8)
    assert found["values"]["zeros"] == found["information_loss"]["zeros"] == 1
    assert found["values"]["definition"].endswith("; 1 that were 0 and changed count 1 each")
    assert found["covariances"]["zeros"] == 0
    # A value that is 0 weighs no more than others where the deviation is the measure.
    by_sd = {row["component"]: row for row in ask(CALL.format(", scale='sd'"))}
    assert by_sd["values"]["value"] == pytest.approx(10 / (np.sqrt(2) * x[:, 0].std(ddof=1)) / 8)
    assert by_sd["values"]["zeros"] == 0


def test_constant_columns_and_covariances_of_zero_count_like_zeros(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    x = np.column_stack([np.tile([0.1, 0.3], 50), np.repeat([0.1, 0.7], 50), np.full(100, 0.1)])
    put(con, x, x)
    assert losses(ask) == NONE
    other = x.copy()
    other[:, 2] = 0.2  # constant still: values alone are lost
    put(con, x, other)
    assert losses(ask)["values"] == pytest.approx(1 / 3)
    assert losses(ask) == pytest.approx({**NONE, "values": 1 / 3, "information_loss": 1 / 12, "squared_error": 1 / 3})
    assert losses(ask, ", scale='sd'") == losses(ask)
    other[:, 2] = x[:, 0] + x[:, 1]
    put(con, x, other)
    found = {row["component"]: (row["value"], row["zeros"]) for row in ask(CALL.format(""))}
    # Of six covariances three were 0 by the constant and are not; that of the first two columns is 0 still.
    assert found["covariances"] == (0.5, 3)
    assert found["variances"] == (pytest.approx(1 / 3), 1)
    assert found["correlations"] == (pytest.approx(2 / 3), 2)
    # The other way round, what has become constant has lost its variance, its covariances and its correlations.
    put(con, other, x)
    found = {row["component"]: (row["value"], row["zeros"]) for row in ask(CALL.format(""))}
    assert found["covariances"] == (pytest.approx(0.5), 0)
    assert found["variances"] == (pytest.approx(1 / 3), 0)
    assert found["correlations"] == (pytest.approx(2 / 3), 0)


def test_one_column_has_no_correlations(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    put(con, np.array([[1.0], [2], [4]]), np.array([[1.0], [2], [5]]))
    rows = {row["component"]: row for row in ask(CALL.format(""))}
    assert rows["correlations"]["value"] is None
    assert rows["correlations"]["definition"] == "one column has no pairs; left out of the mean"
    terms = [rows[term]["value"] for term in ("values", "covariances", "variances")]
    assert rows["information_loss"]["value"] == pytest.approx(np.mean(terms))
    assert rows["information_loss"]["definition"] == "mean of values, covariances and variances"
    assert {row["direction"] for row in rows.values()} == {"lower is better"}


def test_pairs_with_null_are_left_out_and_categories_by_default(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 2)) + 10
    put(con, x, y := x + rng.normal(size=x.shape))
    con.execute(
        "UPDATE t SET x0 = NULL WHERE id < 30; ALTER TABLE t ADD COLUMN w VARCHAR; ALTER TABLE m ADD COLUMN w VARCHAR"
    )
    assert losses(ask) == pytest.approx(by_numpy(x[30:], y[30:]), rel=1e-9)
    assert {row["rows"] for row in ask(CALL.format(""))} == {170}


# p, the figure of one rank swap, and the standard deviation of such figures over 40 seeds, measured with numpy.
RANK_SWAPS = [(12, 19.6, 1.7), (13, 21.4, 1.6), (14, 22.7, 1.8), (15, 25.2, 2.2), (17, 29.2, 2.3)]


@pytest.mark.parametrize(("p", "figure", "sd"), RANK_SWAPS)
def test_rank_swapped_census_loses_as_much_as_expected(
    con: duckdb.DuckDBPyConnection, ask: Ask, reference_data: Path, p: int, figure: float, sd: float
) -> None:
    """The figure is of one draw, ours the mean of three: they differ by no more than 3·sd·√(1 + 1/3)."""
    original = census(reference_data)
    first, *others = (rank_swapped(original, p, seed) for seed in range(3))
    insert(con, "t", COLUMNS, original)
    insert(con, "m", COLUMNS, first)
    loss = losses(ask)
    assert loss == pytest.approx(by_numpy(original, first), rel=1e-9, abs=1e-9)
    # Swapped values are the same values.
    assert loss["variances"] < 1e-9
    found = [loss["information_loss"], *(by_numpy(original, other)["information_loss"] for other in others)]
    assert abs(100 * np.mean(found) - figure) < 3 * sd * np.sqrt(1 + 1 / 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'t', 'm', key='id', conf=['x9']", 'conf names column "x9", which does not exist. Did you mean "x0"'),
        ("'t', 'm', key='id', conf=['w']", 'conf names column "w", which is of type VARCHAR'),
        ("'t', 'm', key='id', conf=[]", "conf is empty; name at least one column"),
        ("'t', 'm', key='id', scale='range'", "scale takes one of 'value', 'sd', got 'range'"),
        ("'t', 'm', conf=['x0']", "parameter 'key' is missing"),
        ("'t', '(FROM m WHERE id > 3)', key='id'", "4 of the 40 rows of"),
        ("'t', '(SELECT id % 20 AS id, x0 FROM m)', key='id'", "keys occur more than once"),
        ("'(SELECT id, w FROM t)', 'm', key='id'", "there is no numeric column to compare"),
        ("'(FROM t WHERE id = 1)', '(FROM m WHERE id = 1)', key='id'", "1 pairs without NULL are too few"),
        ("'(FROM t LIMIT 0)', '(FROM m LIMIT 0)', key='id'", "0 pairs without NULL are too few"),
        ("'t', '(SELECT id, if(id = 7, ''nan'', x0) AS x0 FROM m)', key='id'", 'is in "masked x0"'),
        ("'(SELECT id, if(id = 7, ''-inf'', x0) AS x0 FROM t)', 'm', key='id'", 'is in "x0"'),
        ("'(SELECT id, if(id = 7, 1e-320, x0) AS x0 FROM t)', 'm', key='id'", "their relative change is infinite"),
    ],
)
def test_bad_input_is_named(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    x = np.arange(40.0)[:, None]
    put(con, x, x)
    con.execute("ALTER TABLE t ADD COLUMN w VARCHAR; ALTER TABLE m ADD COLUMN w VARCHAR")
    with pytest.raises(duckdb.Error, match=r"information_loss") as caught:
        con.execute(f"FROM information_loss({call})").fetchall()
    assert message in str(caught.value)
