"""Columns far from 0 beside their spread: moments to 1e-9, or a refusal; never less in silence."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppduck.call.linear_mask import LinearMask
from ppduck.call.registry import Function
from ppduck.masks import egadp_plain
from tests.laws import Matrix, insert, matrix
from tests.registry_calls import exact_masks, masks_of_numbers, more, takes

pytestmark = pytest.mark.core

FAR = "lies so far from 0 beside its spread"


def call(mask: Function) -> str:
    nonconf = ", nonconf=['s']" if takes(mask, "nonconf") else ""
    return f"{mask.name}('t', conf=['x'], key='id'{nonconf}{more(mask)})"


MASKS = {mask.name: call(mask) for mask in (*exact_masks(), egadp_plain.MACRO)}
OF_COLUMNS = {mask.name for mask in exact_masks() if not mask.reads_s}  # no covariance with others is kept


def exact_moments(s: Matrix, x: Matrix) -> tuple[Fraction, Fraction, Fraction]:
    """Mean and variance of x and its covariance with s, in exact arithmetic."""
    n = len(x)
    s_, x_ = [Fraction(v) for v in s.tolist()], [Fraction(v) for v in x.tolist()]
    s_mean, mean = sum(s_, Fraction()) / n, sum(x_, Fraction()) / n
    deviations = [v - mean for v in x_]
    return (
        mean,
        sum((d * d for d in deviations), Fraction()) / (n - 1),
        sum((d * (v - s_mean) for d, v in zip(deviations, s_, strict=True)), Fraction()) / (n - 1),
    )


def missed(original: Matrix, release: Matrix) -> float:
    """The largest difference of these moments, in units of the standard deviations."""
    before, after = exact_moments(*original.T), exact_moments(*release.T)
    sd, s_sd = float(before[1]) ** 0.5, float(original[:, 0].std(ddof=1))
    units = (sd, sd * sd, sd * s_sd)
    return max(abs(float(b - a)) / unit for a, b, unit in zip(before, after, units, strict=True))


@pytest.mark.parametrize("mask", MASKS)
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**31),
    offset=st.sampled_from([0.0, 1.0, -1e3, 1e6, 1e8, -1e9, 1e9, 1e12]),
    sd=st.sampled_from([1e-3, 1e-1, 1.0, 30.0, 1e4]),
    n=st.sampled_from([60, 500]),
)
def test_moments_to_1e_9_or_a_refusal(
    con: duckdb.DuckDBPyConnection, mask: str, seed: int, offset: float, sd: float, n: int
) -> None:
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    values = np.column_stack([s, offset + sd * (0.6 * s + 0.8 * rng.normal(size=n))])
    insert(con, "t", ["s", "x"], values)
    query = f"SELECT s, x FROM {MASKS[mask]} ORDER BY id"
    if (
        10
        * np.spacing(abs(values[:, 1].mean()) + 6 * values[:, 1].std(ddof=1))
        / np.sqrt(12 * n)
        / values[:, 1].std(ddof=1)
        > 1e-9
    ):
        with pytest.raises(duckdb.InvalidInputException, match=FAR):
            con.execute(query)
        return
    release = matrix(con, query)
    of = [1, 1] if mask in OF_COLUMNS else [0, 1]
    assert missed(values[:, of], release[:, of]) < 1e-9


@pytest.mark.parametrize("mask", MASKS)
def test_a_thousandth_at_a_billion_is_refused_and_an_offset_helps(con: duckdb.DuckDBPyConnection, mask: str) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, sin(i * 1.1) AS s, 1e9 + 1e-3 * (s + cos(i * 2.3)) AS x FROM range(1000) r(i)"
    )
    with pytest.raises(duckdb.InvalidInputException, match=f'conf column "x" {FAR}') as refused:
        con.execute(f"FROM {MASKS[mask]}").fetchall()
    assert "offset" in str(refused.value)
    assert "1e9" not in str(refused.value)
    assert "1000000000" not in str(refused.value)
    con.execute("UPDATE t SET x = x - 1e9")
    values = matrix(con, "SELECT s, x FROM t ORDER BY id")
    release = matrix(con, f"SELECT s, x FROM {MASKS[mask]} ORDER BY id")
    of = [1, 1] if mask in OF_COLUMNS else [0, 1]
    assert missed(values[:, of], release[:, of]) < 1e-9


def test_more_rows_average_the_rounding_out(con: duckdb.DuckDBPyConnection) -> None:
    """At a billion, a spread of 100 is far too small for 60 rows, and of 1 enough for a million."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, sin(i * 1.1) AS s, 1e9 + s + cos(i * 2.3) AS x FROM range(1000000) r(i)"
    )
    difference = "SELECT max(abs(difference)) FROM moments_check('t', 'release', conf=['s', 'x'])"
    con.execute(f"CREATE TABLE release AS FROM {MASKS['egadp_mask']}")
    assert con.execute(difference).fetchall()[0][0] < 1e-9
    con.execute("DELETE FROM t WHERE id >= 1000")
    with pytest.raises(duckdb.InvalidInputException, match=FAR):
        con.execute(f"FROM {MASKS['egadp_mask']}")


@pytest.mark.parametrize(
    "mask",
    [mask for mask in masks_of_numbers() if isinstance(mask, LinearMask) and mask.name not in MASKS],
    ids=lambda mask: mask.name,
)
def test_masks_that_promise_no_exact_moments_need_no_digits(con: duckdb.DuckDBPyConnection, mask: LinearMask) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, 1e9 + cos(i * 2.3) AS x FROM range(1000) r(i)")
    assert len(con.execute(f"FROM {call(mask)}").fetchall()) == 1_000


@pytest.mark.parametrize(
    ("kind", "value", "is_refused"),
    [
        ("FLOAT", "1e3 + cos(i * 2.3)", False),
        ("FLOAT", "1e7 + round(3 * cos(i * 2.3))", False),
        ("DECIMAL(18, 3)", "1e6 + cos(i * 2.3)", False),
        ("DECIMAL(18, 6)", "1e9 + 0.01 * cos(i * 2.3)", True),
        ("BIGINT", "1e18::BIGINT + (1e4 * cos(i * 2.3))::BIGINT", True),
        ("HUGEINT", "10::HUGEINT ** 25 + (1e14 * cos(i * 2.3))::HUGEINT", True),
        ("HUGEINT", "10::HUGEINT ** 25 + (1e24 * cos(i * 2.3))::HUGEINT", False),
    ],
)
@pytest.mark.parametrize("mask", ["egadp_mask", "egadp_plain"])
def test_columns_of_other_types(
    con: duckdb.DuckDBPyConnection, mask: str, kind: str, value: str, is_refused: bool
) -> None:
    con.execute(f"CREATE TABLE t AS SELECT i AS id, sin(i * 1.1) AS s, ({value})::{kind} AS x FROM range(500) r(i)")
    if is_refused:
        with pytest.raises(duckdb.InvalidInputException, match=FAR):
            con.execute(f"FROM {MASKS[mask]}").fetchall()
        return
    values = matrix(con, "SELECT s, x::DOUBLE FROM t ORDER BY id")
    assert missed(values, matrix(con, f"SELECT s, x FROM {MASKS[mask]} ORDER BY id")) < 1e-9


def test_a_column_that_is_rounded_to_its_type_promises_no_digits(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        CREATE TABLE t AS SELECT i AS id, sin(i * 1.1) AS s, (1e9 + 20 * cos(i * 2.3))::BIGINT AS x
        FROM range(500) r(i)
        """
    )
    with pytest.raises(duckdb.InvalidInputException, match=FAR):
        con.execute(f"FROM {MASKS['egadp_mask']}")
    rounded = con.execute("FROM egadp_mask('t', conf=['x'], nonconf=['s'], key='id', round=true)").fetchall()
    assert len(rounded) == 500
