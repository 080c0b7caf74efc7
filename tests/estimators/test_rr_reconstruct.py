"""rr_reconstruct: from published rows back to the table, with its uncertainty, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ppduck
from ppduck.errors import PpduckWarning
from ppduck.kernels import distortion
from ppduck.kernels.distortion import Reconstruction, along_axes, uniform

pytestmark = pytest.mark.core

COLUMNS = ["estimate", "std_error", "lower", "upper", "observed", "count"]


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()


def counted(con: duckdb.DuckDBPyConnection, name: str, table: np.ndarray[Any, Any]) -> None:
    """A table of integer columns a, b, … with these cell counts."""
    letters = "abcdefgh"[: table.ndim]
    con.execute(f"CREATE OR REPLACE TABLE {name} ({', '.join(f'{letter} INTEGER' for letter in letters)})")
    for cell in np.ndindex(table.shape):
        values = ", ".join(map(str, cell))
        con.execute(f"INSERT INTO {name} SELECT {values} FROM range({int(table[cell])})")


@pytest.fixture
def published(survey: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    survey.execute("CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')")
    survey.execute("CREATE TABLE published AS FROM survey_rr")
    return survey


def test_the_statement_of_an_analyst(published: duckdb.DuckDBPyConnection) -> None:
    published.execute("FROM rr_reconstruct('survey_rr', ['gender','disease'])")
    assert [column[0] for column in published.description or ()] == ["gender", "disease", *COLUMNS]
    found = published.fetchall()
    assert [row[:2] for row in found] == [(g, d) for g in ("female", "male") for d in ("anemia", "cancer", "flu")]
    truth = {
        (g, d): n for g, d, n in rows(published, "SELECT gender, disease, count(*) / 6000 FROM survey GROUP BY ALL")
    }
    counts = {
        (g, d): n for g, d, n in rows(published, "SELECT gender, disease, count(*) / 6000 FROM published GROUP BY ALL")
    }
    for gender, disease, estimate, error, lower, upper, observed, count in found:
        assert observed == pytest.approx(counts[gender, disease])
        assert abs(estimate - truth.get((gender, disease), 0)) < 4 * error
        assert (lower, upper) == pytest.approx((estimate - 1.959964 * error, estimate + 1.959964 * error), abs=1e-6)
        assert count == pytest.approx(6000 * estimate)
    assert sum(row[2] for row in found) == pytest.approx(1)


def test_by_hand_is_as_by_the_view(published: duckdb.DuckDBPyConnection) -> None:
    by_view = rows(published, "FROM rr_reconstruct('survey_rr', ['disease', 'gender', 'smoker'])")
    p = "p={'gender': 0.9, 'disease': 0.8, 'smoker': 1}"
    assert rows(published, f"FROM rr_reconstruct('published', ['disease', 'gender', 'smoker'], {p})") == by_view
    matrix = "matrix={'disease': [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]}"
    by_matrix = rows(
        published,
        f"FROM rr_reconstruct('published', ['disease', 'gender', 'smoker'], p={{'gender': 0.9, 'smoker': 1}}, {matrix})",
    )
    for one, two in zip(by_matrix, by_view, strict=True):
        assert one[:3] == two[:3]
        assert one[3:] == pytest.approx(two[3:])


@given(
    st.integers(0, 10**6), st.lists(st.integers(2, 3), min_size=1, max_size=4), st.sampled_from(["population", "table"])
)
@settings(deadline=None, max_examples=15)
def test_sql_is_the_kernel(seed: int, shape: list[int], target: str) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 20, size=shape)
    table[(0,) * len(shape)] += 1
    for axis in range(len(shape)):  # every level occurs
        np.moveaxis(table, axis, 0)[:, *(0,) * (len(shape) - 1)] += 1
    ps = rng.uniform(0.6, 0.95, len(shape))
    letters = "abcd"[: len(shape)]
    with ppduck.connect() as con:
        counted(con, "t", table)
        p = ", ".join(f"'{letter}': {value!r}" for letter, value in zip(letters, ps.tolist(), strict=True))
        found = rows(con, f"FROM rr_reconstruct('t', {list(letters)}, p={{{p}}}, target='{target}')")
    kernel = Reconstruction(
        table.astype(float),
        tuple(uniform(value, size) for value, size in zip(ps, shape, strict=True)),
        "table" if target == "table" else "population",
    )
    estimate = kernel.moment()
    assert [row[: len(shape)] for row in found] == list(np.ndindex(*shape))
    np.testing.assert_allclose([row[-6] for row in found], estimate.ravel(), atol=1e-12)
    np.testing.assert_allclose([row[-5] for row in found], np.sqrt(kernel.variance(estimate)).ravel(), atol=1e-12)


def test_the_expected_table_is_reconstructed_exactly(con: duckdb.DuckDBPyConnection) -> None:
    truth = np.array([[100.0, 300.0], [200.0, 0.0]]) * 10
    counted(con, "t", np.round(along_axes(truth, [uniform(0.9, 2), uniform(0.8, 2)])))
    found = rows(con, "SELECT count FROM rr_reconstruct('t', ['a', 'b'], p={'a': 0.9, 'b': 0.8})")
    assert [count for (count,) in found] == pytest.approx(truth.ravel().tolist(), abs=1e-6)


def test_marginals_agree(published: duckdb.DuckDBPyConnection) -> None:
    whole = (
        "SELECT disease, sum(estimate) FROM rr_reconstruct('survey_rr', ['gender', 'disease', 'smoker']) GROUP BY ALL"
    )
    margin = dict(rows(published, "SELECT disease, estimate FROM rr_reconstruct('survey_rr', 'disease')"))
    assert dict(rows(published, whole)) == pytest.approx(margin)


@pytest.mark.long
def test_many_seeds_give_the_truth_on_average(survey: duckdb.DuckDBPyConnection) -> None:
    """The mean of reconstructions is the truth within 4 standard errors, and they scatter as std_error says."""
    truth = {(g, s): n for g, s, n in rows(survey, "SELECT gender, smoker, count(*) / 6000 FROM survey GROUP BY ALL")}
    estimates: dict[tuple[str, bool], list[float]] = {cell: [] for cell in truth}
    errors: dict[tuple[str, bool], float] = {}
    inside = 0
    for seed in range(120):
        call = f"(FROM rr_mask(''survey'', p := {{gender: 0.85, smoker: 0.75}}, seed := {seed}))"
        for gender, smoker, estimate, error, lower, upper in rows(
            survey,
            f"SELECT gender, smoker, estimate, std_error, lower, upper FROM rr_reconstruct('{call}', ['gender', 'smoker'], target='table')",
        ):
            estimates[gender, smoker].append(estimate)
            errors[gender, smoker] = error
            inside += lower <= truth[gender, smoker] <= upper
    for cell, share in truth.items():
        error = errors[cell]
        assert abs(np.mean(estimates[cell]) - share) < 4 * error / np.sqrt(120)
        assert np.std(estimates[cell], ddof=1) == pytest.approx(error, rel=4 / np.sqrt(2 * 120))
    # 480 ranges, not independent of each other: 95 % ± 4 standard errors of 120 runs.
    assert abs(inside / 480 - 0.95) < 0.05


def test_levels_and_types_and_cells_that_never_occurred(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT 'b'::ENUM('a', 'b', 'c') AS e, DATE '2024-01-01' + i::INTEGER % 2 AS d FROM range(10) r(i)"
    )
    con.execute("FROM rr_reconstruct('t', ['e', 'd'], p={'e': 0.8, 'd': 1})")
    assert [str(column[1]) for column in con.description or ()][:2] == ["ENUM('a', 'b', 'c')", "DATE"]
    found = con.fetchall()
    assert [row[0] for row in found] == ["a", "a", "b", "b", "c", "c"]
    assert found[0][COLUMNS.index("observed") + 2] == 0
    named = rows(con, "SELECT e, observed FROM rr_reconstruct('t', ['e'], p=0.8, levels={'e': ['c', 'b']})")
    assert named == [("c", 0.0), ("b", 1.0)]


def test_null_is_left_out_or_a_level(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 4 > 0 THEN i % 2 END AS c FROM range(4000) r(i)")
    assert [row[0] for row in rows(con, "FROM rr_reconstruct('t', ['c'], p=0.9)")] == [0, 1]
    assert rows(con, "SELECT sum(count) FROM rr_reconstruct('t', ['c'], p=0.9)")[0][0] == pytest.approx(3000)
    found = rows(con, "SELECT c, observed FROM rr_reconstruct('t', ['c'], p=0.9, on_null='level')")
    assert found == [(0, 0.25), (1, 0.5), (None, 0.25)]
    con.execute("CREATE VIEW v AS FROM rr_mask('t', p={'c': 0.8}, on_null='level', key='id')")
    for level, estimate, error in rows(
        con, "SELECT c, estimate, std_error FROM rr_reconstruct('v', ['c'], target='table')"
    ):
        assert abs(estimate - {0: 0.25, 1: 0.5, None: 0.25}[level]) < 4 * error


def test_maximum_likelihood_stays_inside(con: duckdb.DuckDBPyConnection) -> None:
    counted(con, "t", np.array([[30, 170], [280, 20]]))
    moment = rows(con, "SELECT estimate FROM rr_reconstruct('t', ['a', 'b'], p={'a': 0.8, 'b': 0.7})")
    assert min(moment)[0] < 0
    found = rows(
        con, "SELECT estimate, lower, upper FROM rr_reconstruct('t', ['a', 'b'], p={'a': 0.8, 'b': 0.7}, method='mle')"
    )
    assert all(0 <= value <= 1 for row in found for value in row)
    assert sum(row[0] for row in found) == pytest.approx(1)
    inside = "FROM rr_reconstruct('t', ['a', 'b'], p=0.99, method='{}')"
    assert rows(con, inside.format("mle")) == rows(con, inside.format("moment"))


def test_the_three_column_statement_of_the_issue(con: duckdb.DuckDBPyConnection) -> None:
    counted(con, "published", np.arange(1, 9).reshape(2, 2, 2) * 10)
    found = rows(
        con, "FROM rr_reconstruct('published', ['a','b','c'], p={'a':0.9,'b':0.9,'c':1}, method='mle', confidence=0.95)"
    )
    assert len(found) == 8
    assert sum(row[-1] for row in found) == pytest.approx(360)


def test_level_and_chebyshev(published: duckdb.DuckDBPyConnection) -> None:
    widths = {}
    for options in ("confidence=0.9", "confidence=0.99", "range='chebyshev'"):
        found = rows(
            published, f"SELECT (upper - lower) / 2 / std_error FROM rr_reconstruct('survey_rr', ['gender'], {options})"
        )
        widths[options] = found[0][0]
    assert widths == {
        "confidence=0.9": pytest.approx(1.644854),
        "confidence=0.99": pytest.approx(2.575829),
        "range='chebyshev'": pytest.approx(20**0.5),
    }


def test_twenty_columns_of_five_levels_are_refused_with_their_number(con: duckdb.DuckDBPyConnection) -> None:
    columns = ", ".join(f"(hash(i * 100 + {k}) % 5)::INTEGER AS c{k}" for k in range(20))
    con.execute(f"CREATE TABLE wide AS SELECT {columns} FROM range(2000) r(i)")
    con.execute(f"CREATE VIEW wide_rr AS FROM rr_mask('wide', conf=[{', '.join(f'c{k}' for k in range(20))}], p=0.9)")
    names = [f"c{k}" for k in range(20)]
    for call in (f"rr_reconstruct('wide', {names}, p=0.9)", f"rr_reconstruct('wide_rr', {names})"):
        with pytest.raises(
            duckdb.InvalidInputException,
            match=r"would have 95,367,431,640,625 cells \(5 × 5 × .* levels\), more than the 1,000,000",
        ):
            rows(con, f"FROM {call}")
    # Seven columns of unknown levels are counted first, and refused then.
    con.execute(
        "CREATE TABLE many AS SELECT " + ", ".join(f"i % 11 AS c{k}" for k in range(7)) + " FROM range(2000) r(i)"
    )
    with pytest.raises(duckdb.InvalidInputException, match=r"would have 19,487,171 cells"):
        rows(con, f"FROM rr_reconstruct('many', {names[:7]}, p=0.9)")


def test_levels_of_temporary_tables(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE TEMP TABLE mine AS SELECT age % 2 AS odd, gender FROM survey")
    for levels in ("[0, 1]", "['0', '1']"):
        found = rows(survey, f"FROM rr_reconstruct('mine', ['odd', 'gender'], p=0.9, levels={{'odd': {levels}}})")
        assert [row[:2] for row in found] == [(o, g) for o in ("0", "1") for g in ("female", "male")]


def test_no_scatter_is_not_certainty(con: duckdb.DuckDBPyConnection) -> None:
    """One row, or a level that was never published, shows no scatter: its range is not known, not empty."""
    con.execute("CREATE TABLE t AS SELECT i % 2 AS c FROM range(50) r(i)")
    found = {
        row[0]: row[1:]
        for row in rows(
            con, "SELECT c, std_error, lower, upper FROM rr_reconstruct('t', ['c'], p=0.9, levels={'c': [0, 1, 2]})"
        )
    }
    assert found[2] == (None, None, None)
    assert found[0][0] > 0
    assert rows(
        con, "SELECT std_error FROM rr_reconstruct('(FROM t LIMIT 1)', ['c'], p=0.9, levels={'c': [0, 1]})"
    ) == [(None,), (None,)]
    exact = rows(con, "SELECT estimate, std_error FROM rr_reconstruct('t', ['c'], p=1, target='table')")
    assert exact == [(0.5, 0), (0.5, 0)]


def test_a_maximum_that_is_not_reached_is_said(con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distortion, "_MOST_STEPS", 1)
    counted(con, "t", np.array([[30, 170], [280, 20]]))
    with pytest.warns(
        PpduckWarning, match=r"maximum of the likelihood was not reached; the log-likelihood may be .* below it"
    ):
        rows(con, "FROM rr_reconstruct('t', ['a', 'b'], p={'a': 0.8, 'b': 0.7}, method='mle')")


def test_nearly_singular_matrices_warn(published: duckdb.DuckDBPyConnection) -> None:
    with pytest.warns(PpduckWarning, match=r'matrix of column "gender" is nearly singular \(condition number 250\)'):
        rows(published, "FROM rr_reconstruct('published', ['gender'], p=0.502)")


BAD = {
    "'published', ['gender']": r'"published" is no view over rr_mask or pram_mask .* Give p := ',
    "'survey_rr', ['gendr']": r'columns names column "gendr", which does not exist. Did you mean "gender"\?',
    "'survey_rr', []": r"columns is empty",
    "'survey_r', ['gender']": r'cannot see "survey_r". Did you mean "survey_rr"\?',
    "'published', ['gender', 'disease'], p={'gender': 0.9}": r'p is missing for column "disease"; give p := \{\'disease\': …\} \(1 if it was not randomized\)',
    "'published', ['gender'], p={'gender': 0.5}": r'column "gender" cannot be reconstructed: p = 1/2 makes what is published independent',
    "'published', ['disease'], p=0.3333333333333333": r"p = 1/3 makes what is published independent",
    "'published', ['gender'], matrix={'gender': [[0.3, 0.3], [0.7, 0.7]]}": r"its matrix makes what is published independent",
    "'published', ['gender'], p={'gender': 0.9, 'disease': 0.8}": r'p names column "disease", which the call is not about',
    "'published', ['gender'], p=1.5": r"p must be from 0\.000000001 to 0\.999999999, or 1, got 1.5",
    "'published', ['disease'], matrix={'disease': [[0.9, 0.1], [0.1, 0.9]]}": r"is 2×2, but 3 levels occur",
    "'published', ['disease'], matrix={'disease': [[0.9, 0.1], [0.1, 0.9]]}, levels={'disease': ['flu']}": r"is 2×2, but there are 1 levels",
    "'published', ['disease'], p=0.9, levels={'disease': ['flu', 'cancer']}": r"\d+ rows hold a value that is none of the levels",
    "'published', ['disease'], matrix={'disease': [[0.9, 0.2], [0.2, 0.9]]}": r"columns that sum to 1",
    "'(FROM published WHERE id < 0)', ['gender'], p=0.9": r"there are no rows in which all of the columns are present",
    "'(FROM published WHERE gender = ''male'')', ['gender'], p=0.9": r'column "gender" has a single level, so that it cannot have been randomized',
    "'(SELECT gender AS estimate FROM published)', ['estimate'], p=0.9": r'column "estimate" is called like a column of the result; rename it',
    "'published', ['gender', 'id'], p={'gender': 0.9, 'id': 1}": r'column "id" has more than 1,000 levels, which is no category',
    "'published', ['gender'], p=0.9, confidence=2": r"confidence must be from 0.5 to 0.999999, got 2",
    "'published', ['gender'], p=0.9, method='guess'": r"method takes one of 'moment', 'mle', got 'guess'",
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_input(published: duckdb.DuckDBPyConnection, arguments: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=BAD[arguments]):
        rows(published, f"FROM rr_reconstruct({arguments})")


def test_adult(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    """45,222 rows, four attributes of 2 × 5 × 7 × 7 levels randomized: one call, compared with the truth cell by cell."""
    con.execute(f"CREATE TABLE adult AS FROM '{reference_data / 'adult.parquet'}'")
    columns = ["sex", "race", "marital_status", "workclass"]
    con.execute(f"CREATE VIEW adult_rr AS FROM rr_mask('adult', conf={columns}, p=0.9)")
    names = ", ".join(columns)
    found = rows(
        con,
        f"WITH truth AS (SELECT {names}, count(*) / 45222 AS share FROM adult GROUP BY ALL) "
        f"SELECT r.estimate, r.std_error, coalesce(t.share, 0), r.lower, r.upper "
        f"FROM rr_reconstruct('adult_rr', {columns}, target='table') r LEFT JOIN truth t USING ({names})",
    )
    assert len(found) == 2 * 5 * 7 * 7
    distances = [abs(estimate - share) / error for estimate, error, share, *_ in found]
    assert max(distances) < 5
    assert np.mean([lower <= share <= upper for _, _, share, lower, upper in found]) > 0.9
