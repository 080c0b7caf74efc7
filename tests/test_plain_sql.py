"""The plain SQL macros, in DuckDB's own shell and in a connection that knows nothing of ppduck."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import chi2_contingency, norm
from scipy.stats.contingency import association, odds_ratio
from sklearn.metrics import (
    cohen_kappa_score,
    completeness_score,
    homogeneity_score,
    jaccard_score,
    matthews_corrcoef,
    mutual_info_score,
)

import ppduck

pytestmark = pytest.mark.core

FILE = Path(__file__).resolve().parents[1] / "sql" / "ppduck.sql"
PREFIX = "CREATE OR REPLACE MACRO "
ANY_SIZE = ["chi2", "g2", "mutual_information", "concentration", "uncertainty", "cramers_v"]
TWO_BY_TWO = [
    *("phi", "odds_ratio", "jaccard", "j_measure", "standardized_residual", "risk_difference", "kappa"),
    *("collective_strength", "cosine", "interest", "piatetsky_shapiro", "conviction", "certainty", "added_value"),
    "laplace",
]
PRIVACY = [
    *("keep", "gamma", "epsilon", "jeopardy", "posterior_upper", "posterior_lower"),
    *("reconstruction", "mask_privacy", "condition"),
]


def connection(kind: str = "MACRO") -> duckdb.DuckDBPyConnection:
    """A plain connection in which every statement of the file has been executed."""
    con = duckdb.connect()
    for statement in con.extract_statements(FILE.read_text(encoding="utf-8")):
        con.execute(statement.query.replace(PREFIX, f"CREATE OR REPLACE {kind} ", 1))
    return con


@pytest.fixture(scope="module", params=["MACRO", "TEMP MACRO"])
def con(request: pytest.FixtureRequest) -> Iterator[duckdb.DuckDBPyConnection]:
    with connection(request.param) as con:
        yield con


@pytest.fixture(scope="module")
def temporary() -> Iterator[duckdb.DuckDBPyConnection]:
    """For the many refusals, which the shell tries with lasting macros."""
    with connection("TEMP MACRO") as con:
        yield con


def shell_binary() -> str:
    """DuckDB's shell beside this Python or on the path; the test extra installs it."""
    found = shutil.which("duckdb", path=str(Path(sys.executable).parent)) or shutil.which("duckdb")
    if found is None:
        pytest.fail("the duckdb shell is not installed: pip install duckdb-cli, or the test extra")
    return found


def run_shell(script: str, cwd: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shell_binary(), "-no-init", *options, ":memory:"],
        input=f".read '{FILE.as_posix()}'\n{script}\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        timeout=60,
        check=False,
    )


def shell(script: str, cwd: Path) -> list[dict[str, Any]]:
    """The rows of the one query in a script."""
    done = run_shell(script, cwd, "-json", "-bail")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def measures(con: duckdb.DuckDBPyConnection, call: str) -> dict[str, Any]:
    return dict(con.execute(f"SELECT measure, value FROM {call}").fetchall())


def rows_of(table: np.ndarray, names: Sequence[str] = "abcd") -> str:
    """A SELECT in parentheses with as many rows as the table of counts says, levels numbered from 0."""
    cells = ", ".join(f"({', '.join(map(str, (*at, int(n))))})" for at, n in np.ndenumerate(table))
    columns = ", ".join(names[: table.ndim])
    return f"(SELECT {columns} FROM (SELECT {columns}, unnest(range(n)) FROM (VALUES {cells}) AS v({columns}, n)))"


def labels_of(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    at = np.repeat(np.array(list(np.ndindex(table.shape))), table.ravel(), axis=0)
    return at[:, 0], at[:, 1]


def xlnx(x: np.ndarray | float, expected: np.ndarray | float) -> np.ndarray:
    x, expected = np.asarray(x, float), np.asarray(expected, float)
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / expected), 0)


def ratio(x: float, y: float) -> float:
    return x / y if y else math.inf


def reference(table: np.ndarray) -> dict[str, float]:
    """The measures of a table of counts with two or more levels either way, cell by cell."""
    n = float(table.sum())
    p = table / n
    r, c = p.sum(axis=1), p.sum(axis=0)
    expected = np.outer(r, c)
    chi2 = n * ((p - expected) ** 2 / expected).sum()
    information = xlnx(p, expected).sum()
    found = {
        "chi2": chi2,
        "g2": 2 * n * information,
        "mutual_information": information / -(r * np.log(r)).sum(),
        "concentration": ((p**2 / r[:, None]).sum() - (c**2).sum()) / (1 - (c**2).sum()),
        "uncertainty": information / -(c * np.log(c)).sum(),
        "cramers_v": math.sqrt(chi2 / n / (min(table.shape) - 1)),
    }
    if table.shape == (2, 2):
        (p00, p01), (p10, p11) = p
        (r0, r1), (c0, c1) = r, c
        agreed = r1 * c1 + r0 * c0
        found |= {
            "phi": (p11 * p00 - p01 * p10) / math.sqrt(r1 * c1 * r0 * c0),
            "odds_ratio": ratio(p11 * p00, p10 * p01),
            "jaccard": p11 / (r1 + c1 - p11),
            "j_measure": float(xlnx(p11, r1 * c1) + xlnx(p10, r1 * c0)),
            "standardized_residual": math.sqrt(n) * (p11 - r1 * c1) / math.sqrt(r1 * c1),
            "risk_difference": p00 / c0 - p01 / c1,
            "kappa": (p11 + p00 - agreed) / (1 - agreed),
            "collective_strength": ratio((p11 + p00) / agreed * (1 - agreed), p01 + p10),
            "cosine": p11 / math.sqrt(r1 * c1),
            "interest": p11 / (r1 * c1),
            "piatetsky_shapiro": p11 - r1 * c1,
            "conviction": ratio(r1 * c0, p10),
            "certainty": (p11 / r1 - c1) / (1 - c1),
            "added_value": p11 / r1 - c1,
            "laplace": (table[1, 1] + 1) / (table[1].sum() + 2),
        }
    return found


def independence(table: np.ndarray) -> dict[str, float]:
    """Mutual independence in the full cross of levels."""
    n = float(table.sum())
    p = table / n
    expected = np.ones(())
    for axis in range(p.ndim):
        margin = p.sum(axis=tuple(other for other in range(p.ndim) if other != axis))
        expected = np.multiply.outer(expected, margin)
    return {
        "rows": n,
        "chi2": n * ((p - expected) ** 2 / expected).sum(),
        "g2": 2 * n * xlnx(p, expected).sum(),
        "df": table.size - 1 - sum(d - 1 for d in table.shape),
    }


def design(p: float, d: int) -> np.ndarray:
    q = (1 - p) / (d - 1) if p < 1 else 0.0
    return np.full((d, d), q) + (p - q) * np.eye(d)


def reconstruction(table: np.ndarray, keep: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and their standard errors with the inverse of the whole Kronecker product."""
    whole = np.eye(1)
    for p, d in zip(keep, table.shape, strict=True):
        whole = np.kron(whole, design(p, d))
    inverse = np.linalg.inv(whole)
    n = table.sum()
    share = table.ravel() / n
    estimate = inverse @ share
    return estimate, np.sqrt((inverse**2 @ share - estimate**2) / (n - 1))


def close(expected: object) -> Any:
    return pytest.approx(expected, rel=1e-9, abs=1e-12)


# The file itself


def test_every_statement_begins_alike_and_ends_in_the_only_semicolons(con: duckdb.DuckDBPyConnection) -> None:
    text = FILE.read_text(encoding="utf-8")
    statements = con.extract_statements(text)
    bare = [
        "\n".join(line for line in statement.query.splitlines() if not line.lstrip().startswith("--")).strip()
        for statement in statements
    ]
    assert len(statements) == text.count(";") == text.count(PREFIX)
    assert [statement for statement in bare if not statement.startswith(PREFIX)] == []
    names = [statement.removeprefix(PREFIX).split("(")[0] for statement in bare]
    assert [name for name in names if not name.startswith("_pp_")] == [
        *("association_measures", "chi2_independence", "rr_reconstruct", "rr_privacy"),
        *("k_anonymity", "l_diversity", "t_closeness", "egadp_plain"),
        *("rr_plain", "noise_plain", "pseudonym_plain"),
    ]
    assert len(set(names)) == len(names)


def test_the_temporary_macros_stay_out_of_the_database() -> None:
    with connection("TEMP MACRO") as con:
        kept = con.execute(
            "SELECT DISTINCT database_name FROM duckdb_functions() WHERE function_name LIKE '\\_pp\\_%' ESCAPE '\\'"
            " OR function_name = 'rr_privacy'"
        ).fetchall()
    assert kept == [("temp",)]


# The normal distribution


def test_normal_quantile(con: duckdb.DuckDBPyConnection) -> None:
    x = [*np.linspace(0.0005, 0.9995, 1999), 0.075, 0.925, 1e-4, 1e-10, 1.3e-11, 1.4e-11, 1e-50, 1e-300, 1 - 1e-12]
    found = con.execute("SELECT _pp_normal_quantile(x) FROM (SELECT unnest($1::DOUBLE[]) AS x)", [x]).fetchnumpy()
    np.testing.assert_allclose(next(iter(found.values())), norm.ppf(x), rtol=1e-13, atol=1e-15)


def test_normal_quantile_at_and_beyond_the_ends(con: duckdb.DuckDBPyConnection) -> None:
    found = con.execute("SELECT _pp_normal_quantile(0), _pp_normal_quantile(1), _pp_normal_quantile(0.975)").fetchone()
    assert found == (-math.inf, math.inf, pytest.approx(1.959963984540054, abs=1e-14))
    assert con.execute("SELECT _pp_normal_quantile(-0.1), _pp_normal_quantile(1.1)").fetchone() == (None, None)


# Measures of association

TABLES = [
    np.array([[20, 7], [5, 30]]),
    np.array([[3, 40], [25, 8]]),
    np.array([[12, 5, 9], [4, 22, 6]]),
    np.array([[10, 0, 3, 8], [2, 17, 1, 1], [0, 4, 21, 6]]),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: "x".join(map(str, table.shape)))
def test_association_against_scipy_and_scikit_learn(con: duckdb.DuckDBPyConnection, table: np.ndarray) -> None:
    found = measures(con, f"association_measures('{rows_of(table)}', 'a', 'b')")
    a, b = labels_of(table)
    assert found["chi2"] == close(chi2_contingency(table, correction=False).statistic)
    assert found["g2"] == close(chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic)
    assert found["cramers_v"] == close(association(table, method="cramer"))
    assert found["mutual_information"] == close(homogeneity_score(a, b))
    assert found["uncertainty"] == close(completeness_score(a, b))
    assert found["g2"] == close(2 * len(a) * mutual_info_score(a, b))


@pytest.mark.parametrize("table", TABLES[:2])
def test_two_by_two_against_scipy_and_scikit_learn(con: duckdb.DuckDBPyConnection, table: np.ndarray) -> None:
    found = measures(con, f"association_measures('{rows_of(table)}', 'a', 'b')")
    a, b = labels_of(table)
    assert found["phi"] == close(matthews_corrcoef(a, b))
    assert found["odds_ratio"] == close(odds_ratio(table, kind="sample").statistic)
    assert found["jaccard"] == close(jaccard_score(a, b))
    assert found["kappa"] == close(cohen_kappa_score(a, b))


@pytest.mark.parametrize(("counts", "ratio"), [((2458, 282, 2248, 834), 3.23), ((2773, 72, 2701, 276), 3.94)])
def test_published_odds_ratios(con: duckdb.DuckDBPyConnection, counts: tuple[int, ...], ratio: float) -> None:
    table = np.array(counts).reshape(2, 2)
    assert round(measures(con, f"association_measures('{rows_of(table)}', 'a', 'b')")["odds_ratio"], 2) == ratio


@settings(max_examples=60, deadline=None)
@given(
    table=arrays.arrays(
        np.int64, st.tuples(st.integers(2, 4), st.integers(2, 4)) | st.just((2, 2)), elements=st.integers(0, 30)
    )
)
def test_association_of_any_small_table(con: duckdb.DuckDBPyConnection, table: np.ndarray) -> None:
    assume(table.any(axis=0).all() and table.any(axis=1).all())
    found = measures(con, f"association_measures('{rows_of(table)}', 'a', 'b')")
    assert list(found) == ANY_SIZE + TWO_BY_TWO * (table.shape == (2, 2))
    assert found == pytest.approx(reference(table), rel=1e-8, abs=1e-7)  # cramers_v is the root of a rounding error


def test_association_of_an_empty_cell(con: duckdb.DuckDBPyConnection) -> None:
    found = measures(con, f"association_measures('{rows_of(np.array([[6, 4], [0, 10]]))}', 'a', 'b')")
    assert found["odds_ratio"] == found["conviction"] == math.inf
    assert found["chi2"] == close(chi2_contingency([[6, 4], [0, 10]], correction=False).statistic)
    assert found["j_measure"] == close(0.5 * math.log(0.5 / (0.5 * 0.7)))


def test_association_of_a_column_with_itself(con: duckdb.DuckDBPyConnection) -> None:
    found = measures(con, f"association_measures('{rows_of(TABLES[0])}', 'a', 'a')")
    assert found["collective_strength"] == found["odds_ratio"] == math.inf
    assert found["kappa"] == found["jaccard"] == close(1)


@pytest.mark.parametrize("ieee", ["true", "false"])
def test_division_by_zero_does_not_depend_on_the_setting(con: duckdb.DuckDBPyConnection, ieee: str) -> None:
    con.execute(f"SET ieee_floating_point_ops = {ieee}")
    try:
        found = con.execute(
            "SELECT _pp_ratio(2e0, 0e0), _pp_ratio(-2e0, 0e0), _pp_ratio(0e0, 0e0), _pp_ratio(1e0, 4e0)"
        )
        assert found.fetchone() == (math.inf, -math.inf, None, 0.25)
        table = np.array([[6, 4], [0, 10]])
        assert measures(con, f"association_measures('{rows_of(table)}', 'a', 'b')") == close(reference(table))
    finally:
        con.execute("RESET ieee_floating_point_ops")


def test_association_leaves_out_rows_with_null(con: duckdb.DuckDBPyConnection) -> None:
    rows = rows_of(TABLES[0])
    padded = f"(FROM {rows} UNION ALL SELECT NULL, 1 UNION ALL SELECT 0, NULL UNION ALL SELECT 2, NULL)"
    assert measures(con, f"association_measures('{padded}', 'a', 'b')") == close(reference(TABLES[0]))


def test_the_second_level_in_order_is_presence(con: duckdb.DuckDBPyConnection) -> None:
    """Not the order of appearance, nor that of the text: 10 comes after 9, and true after false."""
    rows = f"(SELECT [9, 10][a + 1] AS a, b = 1 AS b FROM {rows_of(TABLES[0])} ORDER BY a DESC, b DESC)"
    assert measures(con, f"association_measures('{rows}', 'a', 'b')") == close(reference(TABLES[0]))


def test_association_result_types(con: duckdb.DuckDBPyConnection) -> None:
    found = con.execute(f"DESCRIBE FROM association_measures('{rows_of(TABLES[0])}', 'a', 'b')").fetchall()
    assert [row[:2] for row in found] == [("measure", "VARCHAR"), ("value", "DOUBLE")]


# Mutual independence


@settings(max_examples=40, deadline=None)
@given(
    table=arrays.arrays(
        np.int64, arrays.array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3), elements=st.integers(0, 9)
    )
)
def test_independence_of_any_small_table(con: duckdb.DuckDBPyConnection, table: np.ndarray) -> None:
    for axis in range(table.ndim):
        assume(table.any(axis=tuple(other for other in range(table.ndim) if other != axis)).all())
    found = measures(con, f"chi2_independence('{rows_of(table)}', {list('abcd')[: table.ndim]})")
    assert list(found) == ["rows", "chi2", "g2", "df"]
    assert found == pytest.approx(independence(table), rel=1e-9, abs=1e-9)


def test_independence_of_two_columns_is_the_ordinary_test(con: duckdb.DuckDBPyConnection) -> None:
    found = measures(con, f"chi2_independence('{rows_of(TABLES[3])}', ['a', 'b'])")
    test = chi2_contingency(TABLES[3], correction=False)
    assert (found["chi2"], found["df"]) == close((test.statistic, test.dof))


def test_independence_of_seven_columns(con: duckdb.DuckDBPyConnection) -> None:
    table = np.random.default_rng(1).integers(0, 3, (2, 3, 2, 2, 3, 2, 2))
    rows = rows_of(table, "abcdefg")
    assert measures(con, f"chi2_independence('{rows}', {list('abcdefg')})") == close(independence(table))


def test_exact_independence_is_zero_whatever_the_size(con: duckdb.DuckDBPyConnection) -> None:
    table = 700 * np.multiply.outer(np.multiply.outer([3, 7], [1, 2, 6]), [4, 5])
    found = measures(con, f"chi2_independence('{rows_of(table)}', ['a', 'b', 'c'])")
    assert found == {"rows": 567000, "chi2": pytest.approx(0, abs=1e-20), "g2": pytest.approx(0, abs=1e-8), "df": 7}


# Reconstruction


@pytest.mark.parametrize(
    ("shape", "keep"),
    [
        ((2,), [0.9]),
        ((4,), [0.55]),
        ((2, 2), [0.9, 0.8]),
        ((3, 2), [0.7, 1]),
        ((2, 3), [0.15, 0.2]),
        ((2, 3, 4), [0.9, 0.7, 0.6]),
        ((3, 2, 2, 3), [0.8, 0.9, 1, 0.65]),
    ],
)
def test_reconstruction_against_the_whole_inverse(
    con: duckdb.DuckDBPyConnection, shape: tuple[int, ...], keep: list[float]
) -> None:
    table = np.random.default_rng(7).integers(3, 60, shape)
    if len(shape) > 1:
        table[(1,) * len(shape)] = 0
    names = list("abcd")[: len(shape)]
    found = con.execute(f"FROM rr_reconstruct('{rows_of(table)}', {names}, {keep}, confidence := 0.9)").fetchnumpy()
    estimate, error = reconstruction(table, keep)
    assert list(found) == [*names, "estimate", "std_error", "lower", "upper", "observed", "count"]
    at = list(zip(*(found[name] for name in names), strict=True))
    assert at == list(np.ndindex(table.shape))  # every cell, ordered by the columns
    np.testing.assert_allclose(found["observed"], table.ravel() / table.sum(), rtol=1e-14)
    np.testing.assert_allclose(found["estimate"], estimate, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found["std_error"], error, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["lower"], estimate - norm.ppf(0.95) * error, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["upper"], estimate + norm.ppf(0.95) * error, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["count"], estimate * table.sum(), rtol=1e-10, atol=1e-9)


def test_reconstruction_of_an_expected_table_is_exact(con: duckdb.DuckDBPyConnection) -> None:
    original = 100 * np.array([[7, 0, 12], [3, 25, 1]])
    published = design(0.9, 2) @ original @ design(0.8, 3)
    whole = published.round().astype(int)
    np.testing.assert_allclose(whole, published, rtol=1e-12)
    found = con.execute(f"SELECT count FROM rr_reconstruct('{rows_of(whole)}', ['a', 'b'], [0.9, 0.8])").fetchnumpy()
    np.testing.assert_allclose(found["count"], original.ravel(), rtol=1e-12, atol=1e-9)


def test_published_reconstruction(con: duckdb.DuckDBPyConnection) -> None:
    original = np.array([2415, 251, 1067, 2089]) / 5822
    counts = np.round(5822 * np.array([0.368, 0.097, 0.218, 0.316])).astype(int).reshape(2, 2)
    found = con.execute(f"FROM rr_reconstruct('{rows_of(counts, 'gh')}', ['g', 'h'], 0.9)").fetchnumpy()
    np.testing.assert_allclose(found["estimate"], [0.427, 0.031, 0.181, 0.362], rtol=0, atol=0.001)
    np.testing.assert_allclose(1e5 * found["std_error"] ** 2, [7.113, 2.902, 5.667, 6.566], rtol=0, atol=0.02)
    assert (abs(found["estimate"] - original) < 3 * found["std_error"]).all()


def test_one_number_stands_for_every_column(con: duckdb.DuckDBPyConnection) -> None:
    def upper(arguments: str) -> list[float]:
        call = f"rr_reconstruct('{rows_of(TABLES[2])}', ['a', 'b'], {arguments})"
        return [value for (value,) in con.execute(f"SELECT upper FROM {call}").fetchall()]

    one = upper("0.85")
    assert upper("[0.85, 0.85]") == close(one)
    assert upper("p := 0.85, confidence := 0.95") == close(one)
    assert upper("[0.85, 0.8]") != close(one)
    assert upper("0.85, confidence := 0.94") != close(one)


def test_estimates_below_zero_are_not_clipped(con: duckdb.DuckDBPyConnection) -> None:
    found = con.execute(f"FROM rr_reconstruct('{rows_of(np.array([1, 99]))}', ['a'], 0.8)").fetchnumpy()
    np.testing.assert_allclose(found["estimate"], [-0.19 / 0.6, 0.79 / 0.6], rtol=1e-12)
    assert found["lower"][0] < found["estimate"][0]
    assert found["upper"][1] > 1


def test_nothing_randomized_is_left_alone_even_with_a_single_level(con: duckdb.DuckDBPyConnection) -> None:
    told = "SELECT a, b, observed, estimate, std_error"
    found = con.execute(
        f"{told} FROM rr_reconstruct('(SELECT 5 AS a, unnest([1, 1, 2]) AS b)', ['a', 'b'], [1, 1])"
    ).fetchall()
    assert [row[:4] for row in found] == [(5, 1, close(2 / 3), close(2 / 3)), (5, 2, close(1 / 3), close(1 / 3))]
    assert [row[4] for row in found] == close([1 / 3, 1 / 3])


def test_rows_with_null_are_left_out_of_the_reconstruction(con: duckdb.DuckDBPyConnection) -> None:
    padded = f"(FROM {rows_of(TABLES[0])} UNION ALL SELECT NULL, 1 UNION ALL SELECT 2, NULL)"
    found = con.execute(f"FROM rr_reconstruct('{padded}', ['a', 'b'], 0.9)").fetchnumpy()
    estimate, error = reconstruction(TABLES[0], [0.9, 0.9])
    np.testing.assert_allclose(found["estimate"], estimate, rtol=1e-10)
    np.testing.assert_allclose(found["std_error"], error, rtol=1e-10)


def test_columns_keep_their_names_types_and_order(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        CREATE OR REPLACE TEMP TABLE typed AS
        SELECT (['low', 'mid', 'high'][1 + i % 3])::ENUM('low', 'mid', 'high') AS "Grade", i % 2 = 0 AS "is ""ok"" now",
               DATE '2024-01-01' + (i // 12)::INTEGER AS day
        FROM range(24) AS r(i)
        """
    )
    call = """rr_reconstruct('typed', ['Grade', 'is "ok" now', 'day'], 0.9)"""
    types = [row[:2] for row in con.execute(f"DESCRIBE FROM {call}").fetchall()]
    assert types[:3] == [("Grade", "ENUM('low', 'mid', 'high')"), ('is "ok" now', "BOOLEAN"), ("day", "DATE")]
    assert [kind for _, kind in types[3:]] == ["DOUBLE"] * 6
    found = con.execute(f"FROM {call}").fetchall()
    assert [row[:2] for row in found[::2]] == list(itertools.product(["low", "mid", "high"], [False, True]))


# Where the rows come from


def test_every_way_to_name_the_rows(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    con.execute(f"CREATE OR REPLACE TABLE survey AS FROM {rows_of(TABLES[0])}")
    con.execute('CREATE OR REPLACE TABLE "odd; ""name""" AS FROM survey')
    con.execute('CREATE OR REPLACE TABLE "rows.csv" AS FROM survey')
    for ending in ("csv", "csv.gz", "parquet", "json"):
        con.execute(f"COPY survey TO '{tmp_path}/it''s here.{ending}'")
    sources = ["survey", "main.survey", 'main."survey"', '"odd; ""name"""', '"rows.csv"', "survey -- a remark"]
    sources += ["(SELECT * FROM survey)", "  (FROM survey -- a remark\n) AS s", "(SELECT b, a FROM survey)"]
    sources += [f"{tmp_path}/it's here.{ending}" for ending in ("csv", "csv.gz", "parquet", "json")]
    sources += [f"read_csv('{tmp_path}/it''s here.csv')", f"'{tmp_path}/it''s here.csv'"]
    for source in sources:
        text = source.replace("'", "''")
        assert measures(con, f"association_measures('{text}', 'a', 'b')") == close(reference(TABLES[0])), source
        assert measures(con, f"chi2_independence('{text}', ['a', 'b'])") == close(independence(TABLES[0])), source
        counts = con.execute(f"SELECT observed FROM rr_reconstruct('{text}', ['a', 'b'], 0.9)").fetchnumpy()["observed"]
        np.testing.assert_allclose(counts, TABLES[0].ravel() / TABLES[0].sum(), err_msg=source)


@pytest.mark.parametrize(
    ("first", "second"),
    [("x2", "x1"), ("cell", "n"), ("a b", 'say "x"'), ("it's", "a;b"), ("select", "l1"), ("#", "?"), ("_pp_seen", "v")],
)
def test_odd_column_names(con: duckdb.DuckDBPyConnection, first: str, second: str) -> None:
    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def text(value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    rows = text(f"(SELECT a AS {quoted(first)}, b AS {quoted(second)} FROM {rows_of(TABLES[2])})")
    names = f"[{text(first)}, {text(second)}]"
    found = measures(con, f"association_measures({rows}, {text(first)}, {text(second)})")
    assert found == close(reference(TABLES[2]))
    assert measures(con, f"chi2_independence({rows}, {names})") == close(independence(TABLES[2]))
    result = con.execute(f"FROM rr_reconstruct({rows}, {names}, [0.9, 0.7])").fetchnumpy()
    assert list(result)[:2] == [first, second]
    np.testing.assert_allclose(result["estimate"], reconstruction(TABLES[2], [0.9, 0.7])[0], rtol=1e-10, atol=1e-12)


# Privacy


def privacy(p: float, d: int, prior: float) -> dict[str, float]:
    channel = design(p, d)
    q = channel[0, 1]
    gamma = max(ratio(p, q), q / p)
    some_gamma = math.isfinite(gamma)
    back = np.square(channel)[:, 0].sum()
    return {
        "keep": p,
        "gamma": gamma,
        "epsilon": math.log(gamma),
        "jeopardy": gamma,
        "posterior_upper": gamma * prior / (gamma * prior + 1 - prior) if some_gamma else 1,
        "posterior_lower": prior / (prior + gamma * (1 - prior)),
        "reconstruction": back,
        "mask_privacy": 1 - back,
        "condition": np.linalg.cond(channel, 2),
    }


@pytest.mark.parametrize(
    ("p", "d", "prior"), [(0.9, 2, 0.05), (0.6, 5, 0.2), (0.1, 4, 0.05), (0.02, 2, 0.5), (1.0, 3, 0.3)]
)
def test_privacy(con: duckdb.DuckDBPyConnection, p: float, d: int, prior: float) -> None:
    rows = con.execute(f"FROM rr_privacy({p}, {d}, rho1 := {prior})").fetchall()
    assert [row[1] for row in rows] == PRIVACY
    assert {row[1]: row[2] for row in rows} == close(privacy(p, d, prior))
    assert {row[0] for row in rows} == {"1"}


def test_privacy_of_two_levels_by_hand(con: duckdb.DuckDBPyConnection) -> None:
    assert measures(con, "rr_privacy(0.9, 2)") == close(
        dict(zip(PRIVACY, [0.9, 9, math.log(9), 9, 0.45 / 1.4, 0.05 / 8.6, 0.82, 0.18, 1.25], strict=True))
    )


def test_privacy_where_nothing_can_be_learned(con: duckdb.DuckDBPyConnection) -> None:
    found = measures(con, "rr_privacy(1 / 3, 3)")
    assert found["condition"] == math.inf
    assert (found["gamma"], found["epsilon"], found["posterior_upper"]) == close((1, 0, 0.05))


def test_privacy_explains_every_measure_in_a_sentence(con: duckdb.DuckDBPyConnection) -> None:
    described = con.execute("DESCRIBE FROM rr_privacy(0.9, 2)").fetchall()
    columns = [("attribute", "VARCHAR"), ("measure", "VARCHAR"), ("value", "DOUBLE"), ("meaning", "VARCHAR")]
    assert [row[:2] for row in described] == columns
    meanings = dict(con.execute("SELECT measure, meaning FROM rr_privacy(0.9, 2)").fetchall())
    assert len(set(meanings.values())) == len(PRIVACY)
    assert [
        text for text in meanings.values() if not (text[0].isupper() and text.endswith(".") and text.count(".") == 1)
    ] == []
    good = [measure for measure, text in meanings.items() if "is good for" in text]
    bad = [measure for measure, text in meanings.items() if "is bad for" in text]
    assert good == ["mask_privacy"]
    assert sorted(good + bad) == sorted(PRIVACY)


# What is refused

TWO = "(SELECT unnest([0, 1, 1]) AS a, unnest([0, 0, 1]) AS b, 7 AS one, NULL AS none)"
REFUSED = [
    ("association_measures(NULL, 'a', 'b')", r"association_measures: tbl is missing\. Give a table name"),
    (f"association_measures('{TWO}', 'a', NULL)", r"association_measures: a and b must both be column names\. Name"),
    (f"association_measures('{TWO}', '', 'b')", r"association_measures: a and b must both be column names\. Name"),
    (f"association_measures('{TWO}', 'a', 'none')", r"association_measures: there are no rows .* Check tbl and its filter"),
    (f"association_measures('{TWO}', 'one', 'b')", r'association_measures: column "one" has a single level, .* Choose another'),
    (f"association_measures('{TWO}', 'a', 'one')", r'association_measures: column "one" has a single level, .* Choose another'),
    ("chi2_independence('  ', ['a', 'b'])", r"chi2_independence: tbl is missing\. Give a table name"),
    (f"chi2_independence('{TWO}', 'a')", r"chi2_independence: columns must be a list of column names\. Write it as \['first'"),
    (f"chi2_independence('{TWO}', NULL)", r"chi2_independence: columns must be a list of column names\. Write it"),
    (f"chi2_independence('{TWO}', ['a'])", r"chi2_independence: columns names 1 column\(s\), .* Name two or more"),
    (f"chi2_independence('{TWO}', [])", r"chi2_independence: columns names 0 column\(s\), .* Name two or more"),
    (f"chi2_independence('{TWO}', ['a', 'A'])", r"chi2_independence: columns names a column twice\. Name each column once"),
    (f"chi2_independence('{TWO}', ['a', NULL])", r"chi2_independence: columns holds a NULL or an empty name\. Name every"),
    (f"chi2_independence('{TWO}', ['a', 'none'])", r"chi2_independence: there are no rows .* Check tbl and its filter"),
    (f"chi2_independence('{TWO}', ['a', 'one'])", r'chi2_independence: column "one" has a single level, .* Leave the column out'),
    ("rr_reconstruct(NULL, ['a'], 0.9)", r"rr_reconstruct: tbl is missing\. Give a table name"),
    (f"rr_reconstruct('{TWO}', 'a', 0.9)", r"rr_reconstruct: columns must be a list of column names\. Write it"),
    (f"rr_reconstruct('{TWO}', [], 0.9)", r"rr_reconstruct: columns names 0 columns, .* Name one to four"),
    (f"rr_reconstruct('{TWO}', ['a', 'b', 'c', 'd', 'e'], 0.9)", r"rr_reconstruct: columns names 5 columns, .* Name one to four"),
    (f"rr_reconstruct('{TWO}', ['a', 'a'], 0.9)", r"rr_reconstruct: columns names a column twice\. Name each"),
    ("rr_reconstruct('t', ['Count'], 0.9)", r"rr_reconstruct: a column is called like a column of the result .* Rename it"),
    (f"rr_reconstruct('{TWO}', ['a', 'b'], [0.9])", r"rr_reconstruct: p holds 1 numbers for 2 columns\. Give one number"),
    (f"rr_reconstruct('{TWO}', ['a'], [0.9, 0.8])", r"rr_reconstruct: p holds 2 numbers for 1 columns\. Give one number"),
    *(
        (f"rr_reconstruct('{TWO}', ['a', 'b'], {p})", r"rr_reconstruct: p must be greater than 0 and at most 1\. Give the prob")
        for p in ("0", "1.01", "-0.2", "NULL", "'nan'::DOUBLE", "'half'", "[0.9, 0]", "[NULL, 0.9]")
    ),
    *(
        (f"rr_reconstruct('{TWO}', ['a'], 0.9, confidence := {share})", r"rr_reconstruct: confidence must lie strictly between 0 and 1\. Give")
        for share in ("0", "1", "95", "NULL", "'nan'::DOUBLE")
    ),
    (f"rr_reconstruct('{TWO}', ['a', 'b'], [0.9, 0.5])", r'rr_reconstruct: p = 0\.5 is 1 / the number of levels of column "b", .* Publish'),
    (f"rr_reconstruct('{TWO}', ['a'], 0.5000000001)", r"rr_reconstruct: p = 0\.5000000001 is 1 / the number of levels"),
    ("rr_reconstruct('(SELECT unnest([1, 2, 3]) AS \"a''b\")', ['a''b'], 1 / 3)", r"""rr_reconstruct: p = 0\.3+ is .* column "a'b","""),
    (f"rr_reconstruct('{TWO}', ['a', 'one'], 0.9)", r'rr_reconstruct: column "one" has a single level, .* Use p = 1 for it'),
    (f"rr_reconstruct('{TWO}', ['a', 'none'], 0.9)", r"rr_reconstruct: there are no rows .* Check tbl and its filter"),
    (f"rr_reconstruct('{TWO}', ['none'], 1)", r"rr_reconstruct: there are no rows .* Check tbl and its filter"),
    *((f"rr_privacy({p}, 2)", r"rr_privacy: p must be greater than 0 and at most 1\. Give") for p in ("0", "1.5", "-1", "NULL", "'nan'::DOUBLE")),
    *((f"rr_privacy(0.9, {d})", r"rr_privacy: levels must be a whole number of at least 2\. Give") for d in ("1", "0", "-3", "2.5", "NULL", "'inf'::DOUBLE")),
    *((f"rr_privacy(0.9, 2, rho1 := {rho})", r"rr_privacy: rho1 must lie strictly between 0 and 1\. Give") for rho in ("0", "1", "-1", "NULL")),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
@pytest.mark.parametrize("wanted", ["*", "count(*)"])
def test_what_is_refused(temporary: duckdb.DuckDBPyConnection, wanted: str, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        temporary.execute(f"SELECT {wanted} FROM {call}").fetchall()


def test_a_missing_column_is_named(con: duckdb.DuckDBPyConnection) -> None:
    for call in (
        f"association_measures('{TWO}', 'a', 'absent')",
        f"chi2_independence('{TWO}', ['a', 'absent'])",
        f"rr_reconstruct('{TWO}', ['a', 'absent'], 0.9)",
    ):
        with pytest.raises(duckdb.BinderException, match='"absent" not found'):
            con.execute(f"FROM {call}")


def test_p_next_to_the_singular_one_is_taken(con: duckdb.DuckDBPyConnection) -> None:
    found = con.execute(f"FROM rr_reconstruct('{rows_of(np.array([50, 50]))}', ['a'], 0.5001)").fetchnumpy()
    np.testing.assert_allclose(found["estimate"], [0.5, 0.5], rtol=1e-9)


# DuckDB's own shell


def test_shell_association(tmp_path: Path) -> None:
    for table in (TABLES[0], TABLES[3]):
        rows = shell(f"FROM association_measures('{rows_of(table)}', 'a', 'b');", tmp_path)
        assert list(rows[0]) == ["measure", "value"]
        assert [row["measure"] for row in rows] == ANY_SIZE + TWO_BY_TWO * (table.shape == (2, 2))
        assert {row["measure"]: row["value"] for row in rows} == close(reference(table))


def test_shell_association_of_a_csv_file(tmp_path: Path) -> None:
    a, b = labels_of(TABLES[2])
    lines = [f"{x},{y}" for x, y in zip(a, b, strict=True)]
    (tmp_path / "my data.csv").write_text("\n".join(["a,b", *lines, ""]), encoding="utf-8")
    rows = shell("FROM association_measures('my data.csv', 'a', 'b');", tmp_path)
    assert {row["measure"]: row["value"] for row in rows} == close(reference(TABLES[2]))


def test_shell_independence(tmp_path: Path) -> None:
    table = np.random.default_rng(3).integers(0, 20, (2, 3, 2))
    rows = shell(f"FROM chi2_independence('{rows_of(table)}', ['a', 'b', 'c']);", tmp_path)
    assert [row["measure"] for row in rows] == ["rows", "chi2", "g2", "df"]
    assert {row["measure"]: row["value"] for row in rows} == close(independence(table))


def test_shell_reconstruction(tmp_path: Path) -> None:
    table = np.random.default_rng(4).integers(1, 50, (2, 3, 2, 2))
    table[1, 2, 0, 1] = 0
    keep = [0.9, 0.8, 0.85, 1]
    setup = f"CREATE TABLE survey AS FROM {rows_of(table)};"
    rows = shell(f"{setup} FROM rr_reconstruct('survey', ['a', 'b', 'c', 'd'], {keep});", tmp_path)
    estimate, error = reconstruction(table, keep)
    z = norm.ppf(0.975)
    assert list(rows[0]) == ["a", "b", "c", "d", "estimate", "std_error", "lower", "upper", "observed", "count"]
    assert [tuple(row[name] for name in "abcd") for row in rows] == list(np.ndindex(table.shape))
    assert [row["observed"] for row in rows] == close(list(table.ravel() / table.sum()))
    assert [row["estimate"] for row in rows] == close(list(estimate))
    assert [row["std_error"] for row in rows] == close(list(error))
    assert [row["lower"] for row in rows] == close(list(estimate - z * error))
    assert [row["upper"] for row in rows] == close(list(estimate + z * error))
    assert [row["count"] for row in rows] == close(list(table.sum() * estimate))


def test_shell_privacy_in_csv(tmp_path: Path) -> None:
    done = run_shell("FROM rr_privacy(1, 3, rho1 := 0.2);", tmp_path, "-csv", "-bail")
    assert (done.returncode, done.stderr) == (0, "")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0]) == ["attribute", "measure", "value", "meaning"]
    assert [row["measure"] for row in rows] == PRIVACY
    assert {row["measure"]: float(row["value"]) for row in rows} == close(privacy(1, 3, 0.2))


def test_shell_normal_quantile(tmp_path: Path) -> None:
    x = [0.6, 0.99, 1e-12]
    rows = shell(f"SELECT _pp_normal_quantile(x) AS z FROM (SELECT unnest({x}) AS x);", tmp_path)
    assert [row["z"] for row in rows] == pytest.approx(list(norm.ppf(x)), rel=1e-13)


def test_shell_says_what_is_wrong(tmp_path: Path) -> None:
    """One of every message, so that the shell's version of DuckDB is known to raise where the other does."""
    script = "\n".join(f"SELECT count(*) FROM {call};" for call, _ in REFUSED)
    done = run_shell(script, tmp_path, "-csv")
    assert done.stdout.strip() == ""
    said = [line for line in done.stderr.splitlines() if line.startswith("Invalid Input Error: ")]
    assert len(said) == len(REFUSED)
    assert [line for line, (_, message) in zip(said, REFUSED, strict=True) if not re.search(message, line)] == []


def test_shell_on_a_database_that_ppduck_made(tmp_path: Path) -> None:
    database, other = tmp_path / "my.db", tmp_path / "other.db"
    with ppduck.connect(database, config={"storage_compatibility_version": "v1.4.0"}) as con:
        con.execute("CREATE TABLE t AS SELECT i % 3 AS a FROM range(10) r(i)")

    def asked(*arguments: str | Path) -> str:
        command = [shell_binary(), "-no-init", "-csv", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=FILE.parents[1], timeout=60, check=False)
        assert (done.stderr, done.returncode) == ("", 0)
        return done.stdout

    assert asked(database, ".read sql/ppduck.sql") == ""
    assert asked(database, "SELECT k FROM k_anonymity('t', ['a'])") == "k\n3\n"
    attached = f"ATTACH '{database}' AS lib; CREATE TABLE u AS FROM lib.t; SET search_path = 'main,lib.main';"
    assert asked(other, f"{attached} SELECT k FROM k_anonymity('u', ['a'])") == "k\n3\n"
