"""rr_mask: the probabilities are those of the design, the draws belong to the rows, and bad input is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy.stats import chisquare

import ppduck
from ppduck.designs import randomization
from ppduck.masks.rr import FUNCTION, RrMaskCall
from ppduck.values import Array
from tests.conftest import con

__all__ = ["con"]  # one for each test: some leave a transaction open

pytestmark = pytest.mark.core

MATRIX = "[[0.8, 0.2, 0.1], [0.1, 0.7, 0.1], [0.1, 0.1, 0.8]]"
LEVELS = "['anemia', 'cancer', 'flu']"


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()


def moves(con: duckdb.DuckDBPyConnection, call: str, column: str, levels: list[Any], table: str = "survey") -> Array:
    """How many rows of each level (column) were published as each level (row)."""
    found = rows(
        con,
        f"SELECT m.{column}, o.{column}, count(*) FROM {table} o JOIN (FROM {call}) m USING (id) GROUP BY ALL",
    )
    counts = np.zeros((len(levels), len(levels)))
    for published, original, count in found:
        counts[levels.index(published), levels.index(original)] = count
    return counts


def assert_drawn_by(counts: Array, matrix: Array) -> None:
    """A chi-square test of every column at 1 in 100,000; what has probability 0 never happens."""
    for j in range(matrix.shape[1]):
        possible = matrix[:, j] > 0
        assert np.all(counts[~possible, j] == 0)
        if possible.sum() > 1:
            assert chisquare(counts[possible, j], counts[:, j].sum() * matrix[possible, j]).pvalue > 1e-5


def test_the_statements_of_a_survey_owner(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')")
    first = rows(survey, "FROM survey_rr ORDER BY id")
    assert len(first) == 6000
    described = "SELECT column_name, column_type FROM (DESCRIBE {})"
    assert rows(survey, described.format("survey")) == rows(survey, described.format("survey_rr"))
    assert rows(survey, "SELECT id, smoker, age FROM survey ORDER BY id") == [(r[0], r[3], r[4]) for r in first]
    for _ in range(20):
        assert rows(survey, "FROM survey_rr ORDER BY id") == first
    matrix = f"matrix={{'disease': {MATRIX}}}, levels={{'disease': {LEVELS}}}"
    assert len(rows(survey, f"FROM rr_mask('survey', {matrix})")) == 6000


@pytest.mark.parametrize("p", [0.05, 1 / 3, 0.8])
def test_uniform_probabilities(survey: duckdb.DuckDBPyConnection, p: float) -> None:
    counts = moves(survey, f"rr_mask('survey', p={{'disease': {p}}})", "disease", ["anemia", "cancer", "flu"])
    assert_drawn_by(counts, np.full((3, 3), (1 - p) / 2) + (p - (1 - p) / 2) * np.eye(3))


def test_matrix_probabilities(survey: duckdb.DuckDBPyConnection) -> None:
    matrix = np.array([[0.8, 0.2, 0.1], [0.1, 0.7, 0.1], [0.1, 0.1, 0.8]])
    call = f"rr_mask('survey', matrix={{'disease': {MATRIX}}}, levels={{'disease': {LEVELS}}})"
    assert_drawn_by(moves(survey, call, "disease", ["anemia", "cancer", "flu"]), matrix)


def test_a_matrix_goes_by_the_order_of_levels(survey: duckdb.DuckDBPyConnection) -> None:
    """Asymmetric, with zeros: 'flu' is always published as it is, 'anemia' never."""
    matrix = np.array([[1.0, 0.25, 0.5], [0.0, 0.75, 0.5], [0.0, 0.0, 0.0]])
    levels = ["flu", "cancer", "anemia"]
    call = f"rr_mask('survey', matrix={{'disease': {matrix.tolist()}}}, levels={{'disease': {levels}}})"
    assert_drawn_by(moves(survey, call, "disease", levels), matrix)


def test_different_p_for_zero_and_one_is_a_matrix(survey: duckdb.DuckDBPyConnection) -> None:
    counts = moves(survey, "rr_mask('survey', matrix={'smoker': [[0.9, 0.4], [0.1, 0.6]]})", "smoker", [False, True])
    assert_drawn_by(counts, np.array([[0.9, 0.4], [0.1, 0.6]]))


def test_columns_are_randomized_independently(survey: duckdb.DuckDBPyConnection) -> None:
    kept = rows(
        survey,
        "SELECT m.gender = o.gender, m.disease = o.disease, m.smoker = o.smoker, count(*) FROM survey o JOIN "
        "rr_mask('survey', p={'gender': 0.7, 'disease': 0.6, 'smoker': 0.8}) m USING (id) GROUP BY ALL",
    )
    expected = [
        6000 * (0.7 if gender else 0.3) * (0.6 if disease else 0.4) * (0.8 if smoker else 0.2)
        for gender, disease, smoker, _ in kept
    ]
    assert len(kept) == 8
    assert chisquare([count for *_, count in kept], expected).pvalue > 1e-5


def test_p_1_is_the_identity(survey: duckdb.DuckDBPyConnection) -> None:
    assert rows(survey, "FROM rr_mask('survey', p={'gender': 1, 'disease': 1.0}) ORDER BY id") == rows(
        survey, "FROM survey ORDER BY id"
    )


def test_one_thread_or_two_the_same_rows(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE TABLE large AS SELECT * REPLACE (id + 6000 * i AS id) FROM survey, range(60) AS r(i)")
    query = "SELECT hash(list(m ORDER BY id)) FROM rr_mask('large', p={'gender': 0.9, 'disease': 0.8}) m"
    found = set()
    for threads in (1, 2, 4):
        survey.execute(f"SET threads = {threads}")
        found |= set(rows(survey, query))
    assert len(found) == 1


def test_draws_belong_to_row_column_value_and_design(survey: duckdb.DuckDBPyConnection) -> None:
    """The same beside other columns, after other rows have come, and after another column has changed."""
    query = "SELECT id, disease FROM rr_mask('survey', p={}, key='id') WHERE id < 6000 ORDER BY id"
    first = rows(survey, query.format("{'disease': 0.8}"))
    assert rows(survey, query.format("{'gender': 0.9, 'disease': 0.8, 'smoker': 0.7}")) == first
    survey.execute("INSERT INTO survey SELECT id + 6000, gender, disease, smoker, age FROM survey")
    survey.execute("UPDATE survey SET gender = 'male', age = 0, smoker = NOT smoker")
    assert rows(survey, query.format("{'disease': 0.8}")) == first
    assert rows(survey, query.format("{'disease': 0.81}")) != first


@pytest.mark.parametrize(
    "other",
    [
        "p={'disease': 0.6}, key='id', levels={'disease': ['cancer', 'anemia', 'flu', 'none']}",
        "p={'disease': 0.61}, key='id'",
        "matrix={'disease': [[0.6, 0.2, 0.2], [0.2, 0.6, 0.1], [0.2, 0.2, 0.7]]}, key='id'",
        "p={'disease': 0.6}, key='id', seed=1",
        "p={'disease': 0.6}",
    ],
)
def test_two_designs_share_no_draws(survey: duckdb.DuckDBPyConnection, other: str) -> None:
    """Kept in both: 0.36 of the rows if independent, 0.6 if the draws were the same."""
    [(share,)] = rows(
        survey,
        "SELECT avg((a.disease = o.disease AND b.disease = o.disease)::INT) FROM survey o "
        f"JOIN rr_mask('survey', p={{'disease': 0.6}}, key='id') a USING (id) JOIN rr_mask('survey', {other}) b USING (id)",
    )
    assert share == pytest.approx(0.36, abs=0.03)


def test_a_changed_value_is_drawn_anew(survey: duckdb.DuckDBPyConnection) -> None:
    """Otherwise the same step would be taken from both values, and the change could be read off."""
    query = "SELECT id, smoker FROM rr_mask('survey', p={'smoker': 0.6}, key='id') ORDER BY id"
    before = rows(survey, query)
    survey.execute("UPDATE survey SET smoker = NOT smoker")
    after = rows(survey, query)
    changed = np.mean([a != b for a, b in zip(before, after, strict=True)])
    assert changed == pytest.approx(0.6**2 + 0.4**2, abs=0.03)


def test_rows_of_two_tables_without_key_share_no_draws(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE TABLE second AS SELECT * FROM survey ORDER BY id")
    query = (
        "SELECT avg((a.smoker = o.smoker AND b.smoker = o.smoker)::INT) FROM survey o "
        "JOIN rr_mask('survey', p={'smoker': 0.6}) a USING (id) JOIN rr_mask('second', p={'smoker': 0.6}) b USING (id)"
    )
    assert rows(survey, query)[0][0] == pytest.approx(0.36, abs=0.03)


def test_tables_of_one_name_in_two_schemas_share_no_draws(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE SCHEMA s; CREATE TABLE s.survey AS SELECT * FROM survey ORDER BY id")
    query = (
        "SELECT avg((a.smoker = o.smoker AND b.smoker = o.smoker)::INT) FROM survey o "
        "JOIN rr_mask('{}', p={{'smoker': 0.6}}) a USING (id) JOIN rr_mask('{}', p={{'smoker': 0.6}}) b USING (id)"
    )
    assert rows(survey, query.format("survey", "s.survey"))[0][0] == pytest.approx(0.36, abs=0.03)
    assert rows(survey, query.format("survey", "main.survey"))[0][0] == pytest.approx(0.6, abs=0.03)


def test_equal_rows_without_key_have_draws_of_their_own(survey: duckdb.DuckDBPyConnection) -> None:
    """A SELECT has no row numbers; of 6,000 rows only two are different."""
    query = "SELECT smoker, count(*) FROM rr_mask('(SELECT smoker FROM survey)', p={'smoker': 0.7}) GROUP BY ALL"
    found = dict(rows(survey, query))
    [(true,)] = rows(survey, "SELECT count(*) FROM survey WHERE smoker")
    assert found[True] == pytest.approx(0.7 * true + 0.3 * (6000 - true), abs=5 * np.sqrt(6000 * 0.21))
    survey.execute("SET threads = 1")
    assert dict(rows(survey, query)) == found


def test_null_stays_null_or_is_a_level(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute(
        "CREATE TABLE gaps AS SELECT * REPLACE (CASE WHEN id % 3 > 0 THEN disease END AS disease) FROM survey"
    )
    kept = moves(survey, "rr_mask('gaps', p={'disease': 0.8})", "disease", ["anemia", "cancer", "flu", None], "gaps")
    assert kept[3, 3] == 2000
    assert kept[3, :3].sum() == kept[:3, 3].sum() == 0
    call = "rr_mask('gaps', p={'disease': 0.7}, on_null='level')"
    counts = moves(survey, call, "disease", ["anemia", "cancer", "flu", None], "gaps")
    assert_drawn_by(counts, np.full((4, 4), 0.1) + 0.6 * np.eye(4))
    named = (
        "rr_mask('gaps', p={'disease': 0.7}, on_null='level', levels={'disease': ['anemia', 'cancer', 'flu', NULL]})"
    )
    np.testing.assert_array_equal(moves(survey, named, "disease", ["anemia", "cancer", "flu", None], "gaps"), counts)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("ENUM('low', 'middle', 'high')", ["low", "middle", "high"]),
        ("TINYINT", [1, 2, 3]),
        ("UBIGINT", [0, 5, 2**63]),
        ("DATE", ["2024-01-31", "2024-02-29", "2025-03-01"]),
        ("VARCHAR", ["it's", 'a "b"', "ö; --"]),
        ("UUID", ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b", "ffffffff-0000-0000-0000-000000000000"]),
    ],
)  # fmt: skip
def test_types_are_kept(con: duckdb.DuckDBPyConnection, type_: str, values: list[Any]) -> None:
    con.execute(
        "CREATE TABLE texts AS SELECT unnest(range(len(v))) AS n, unnest(v) AS v FROM (SELECT ?::VARCHAR[] AS v)",
        [[str(v) for v in values]],
    )
    con.execute(f"CREATE TABLE t AS SELECT i AS id, v::{type_} AS c FROM range(3000) r(i) JOIN texts ON n = i % 3")
    levels = [row[0] for row in rows(con, "SELECT DISTINCT c FROM t ORDER BY c")]
    assert rows(con, "SELECT column_type FROM (DESCRIBE FROM rr_mask('t', p={'c': 0.5}))")[1] == (
        type_.replace(", ", ", "),
    )
    counts = moves(con, "rr_mask('t', p={'c': 0.5})", "c", levels, "t")
    assert_drawn_by(counts, np.full((3, 3), 0.25) + 0.25 * np.eye(3))


def test_an_enum_is_its_whole_domain(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, 'a'::ENUM('a', 'b', 'c') AS c FROM range(1000) r(i)")
    found = {c for (c,) in rows(con, "SELECT DISTINCT c FROM rr_mask('t', p={'c': 0.5})")}
    assert found == {"a", "b", "c"}


def test_an_enum_whose_labels_differ_by_spaces(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, ['ab', 'a b'][1 + i % 2]::ENUM('ab', 'a b') AS c FROM range(3000) r(i)"
    )
    for levels in (["ab", "a b"], ["a b", "ab"]):
        call = f"rr_mask('t', matrix={{'c': [[0.9, 0.4], [0.1, 0.6]]}}, levels={{'c': {levels}}})"
        assert_drawn_by(moves(con, call, "c", levels, "t"), np.array([[0.9, 0.4], [0.1, 0.6]]))


def test_a_matrix_of_many_levels(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, i % 60 AS c FROM range(60000) r(i)")
    rng = np.random.default_rng(2)
    matrix = 0.5 * np.eye(60) + 0.5 * rng.dirichlet(np.ones(60), size=60).T
    matrix[:, 7] = np.eye(60)[:, 11]  # a level that always becomes another
    counts = moves(con, f"rr_mask('t', matrix={{'c': {matrix.tolist()}}})", "c", list(range(60)), "t")
    assert_drawn_by(counts, matrix)
    con.execute("CREATE TABLE more AS SELECT i % 201 AS c FROM range(2010) r(i)")
    with pytest.raises(duckdb.InvalidInputException, match=r'matrix of column "c" has more than 200 levels; use p'):
        con.execute(f"FROM rr_mask('more', matrix={{'c': {np.eye(201).tolist()}}})")


def test_levels_may_hold_what_never_occurs(survey: duckdb.DuckDBPyConnection) -> None:
    call = "rr_mask('survey', p={'gender': 0.6}, levels={'gender': ['female', 'male', 'other']})"
    counts = moves(survey, call, "gender", ["female", "male", "other"])
    assert_drawn_by(counts[:, :2], np.full((3, 2), 0.2) + 0.4 * np.eye(3)[:, :2])


def test_odd_names_positional_arguments_and_drop(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        'CREATE SCHEMA s; CREATE TABLE s."odd ""table" AS SELECT i AS id, i % 2 AS "Group", i AS x FROM range(500) r(i)'
    )
    call = """rr_mask('s."odd ""table"', {'group': 0.5}, key := 'ID', drop := ['x'])"""
    assert rows(con, f"SELECT column_name FROM (DESCRIBE FROM {call})") == [("id",), ("Group",)]
    [(moved,)] = rows(con, f'SELECT count(*) FROM {call} m WHERE m."Group" <> id % 2')
    assert 180 < moved < 320
    assert rows(con, f"SELECT count(*) FROM {call.replace('{', 'MAP {')}") == [(500,)]


def test_names_are_compared_as_duckdb_compares_them(con: duckdb.DuckDBPyConnection) -> None:
    """The case of A to Z does not matter, that of Ä does: it is the named column that must be masked."""
    con.execute(
        'CREATE TABLE t AS SELECT i AS id, i % 2 AS "Ä", i % 2 AS "ä", i % 2 AS "ß", i % 2 AS "SS" FROM range(500) r(i)'
    )
    for named, other in (("Ä", "ä"), ("ä", "Ä"), ("ß", "SS"), ("ss", "ß")):
        call = f"rr_mask('t', p := MAP {{'{named}': 0.5}})"
        [(moved, kept)] = rows(
            con, f'SELECT count(*) FILTER ("{named}" <> id % 2), count(*) FILTER ("{other}" <> id % 2) FROM {call}'
        )
        assert moved > 150
        assert kept == 0


def test_conf_with_one_p_for_all(survey: duckdb.DuckDBPyConnection) -> None:
    query = "FROM rr_mask('survey', {}, key='id') ORDER BY id"
    one = rows(survey, query.format("conf=['gender', 'disease'], p=0.8"))
    assert one == rows(survey, query.format("p={'disease': 0.8, 'gender': 0.8}"))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files(survey: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str) -> None:
    survey.execute(f"COPY survey TO '{tmp_path}/answers.{kind}'")
    for more in ("", ", key='id'"):
        call = f"rr_mask('{tmp_path}/answers.{kind}', p={{'disease': 0.8}}{more})"
        counts = moves(survey, call, "disease", ["anemia", "cancer", "flu"])
        assert_drawn_by(counts, np.full((3, 3), 0.1) + 0.7 * np.eye(3))
        np.testing.assert_array_equal(moves(survey, call, "disease", ["anemia", "cancer", "flu"]), counts)


def test_temporary_tables_with_levels_and_key(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE TEMP TABLE mine AS SELECT *, age % 2 AS odd FROM survey")
    call = (
        "rr_mask('mine', p={'disease': 0.8, 'odd': 0.9}, key='id', levels={'disease': " + LEVELS + ", 'odd': [0, 1]})"
    )
    assert_drawn_by(moves(survey, call, "disease", ["anemia", "cancer", "flu"]), np.full((3, 3), 0.1) + 0.7 * np.eye(3))
    assert rows(survey, f"SELECT DISTINCT typeof(odd) FROM {call}") == [("INTEGER",)]
    texts = "rr_mask('mine', p={'odd': 0.9}, key='id', levels={'odd': ['0', '1']})"
    assert rows(survey, f"SELECT DISTINCT typeof(odd) FROM {texts}") == [("INTEGER",)]


def test_a_prepared_statement_and_an_open_transaction(survey: duckdb.DuckDBPyConnection) -> None:
    expected = rows(survey, "FROM rr_mask('survey', p={'gender': 0.9}, key='id') ORDER BY id")
    found = survey.execute("FROM rr_mask(?, p={'gender': 0.9}, key='id') ORDER BY id", ["survey"]).fetchall()
    assert found == expected
    survey.execute("BEGIN")
    survey.execute("INSERT INTO survey VALUES (9999, 'male', 'flu', true, 30)")
    assert len(rows(survey, "FROM rr_mask('survey', p={'gender': 0.9}, key='id')")) == 6001
    survey.execute("INSERT INTO survey VALUES (10000, 'unheard of', 'flu', true, 30)")
    with pytest.raises(
        duckdb.InvalidInputException, match=r'column "gender" holds a value that is none of its 2 levels'
    ) as caught:
        rows(survey, "FROM rr_mask('survey', p={'gender': 0.9}, key='id')")
    assert "unheard" not in str(caught.value)
    survey.execute("ROLLBACK")


def test_a_secret_makes_the_draws(survey: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT list(gender ORDER BY id) FROM rr_mask('{}', p={{'gender': 0.6}}, key='id' {})"
    own = [rows(survey, query.format("survey", ""))[0][0], rows(survey, query.format("survey", ", seed=7"))[0][0]]
    with duckdb.connect() as other:
        ppduck.load(other, "another secret, quite long")
        frame = survey.sql("FROM survey").arrow()
        other.register("frame", frame)
        other.execute("CREATE TABLE survey AS FROM frame")
        theirs = [rows(other, query.format("survey", ""))[0][0], rows(other, query.format("survey", ", seed=7"))[0][0]]
    assert own[0] != theirs[0]
    assert own[1] == theirs[1]


BAD = {
    "p={'gender': 0}": r"p must be from 0\.000000001 to 0\.999999999, or 1",
    "p={'gender': 1.2}": r"p must be from 0\.000000001 to 0\.999999999, or 1 .*got \{'gender': 1.2\}",
    "p='much'": r"p takes a number from 0\.000000001 to 0\.999999999, or 1",
    "p=0.9": r"p is one number; name the columns in conf",
    "key='id'": r"name the columns to randomize, such as p := ",
    "p={'gendr': 0.9}": r'p or matrix names column "gendr", which does not exist. Did you mean "gender"\?',
    "conf=['gender', 'disease'], p={'gender': 0.9}": r'p is missing for column "disease"',
    "conf=['gender'], p={'disease': 0.9, 'gender': 0.8}": r'p or matrix names column "disease", which conf does not',
    "p={'age': 0.9}, conf=['age'], matrix={'age': [[1]]}": r'column "age" has both p and matrix',
    "matrix={'gender': [[0.9, 0.2], [0.2, 0.8]]}": r'matrix of column "gender" must have columns that sum to 1; column 1 sums to 1.1\.',
    "matrix={'gender': [[0.9, 0.1], [0.3, 0.7]]}": r"column 1 sums to 1.2. Its rows do: .* transpose it",
    "matrix={'disease': [[0.9, 0.1], [0.1, 0.9]]}": r'matrix of column "disease" is 2×2, but there are 3 levels',
    "matrix={'gender': [[0.9, 0.1, 0], [0.1, 0.9, 1]]}": r"must be square, at least 2×2, got 2×3",
    "matrix={'gender': [[1.5, 0.5], [-0.5, 0.5]]}": r"must hold probabilities from 0 to 1",
    "matrix={'gender': 0.9}": r"matrix takes \{'column': \[\[…\], …\]\}",
    "p={'gender': 0.9}, levels={'gender': ['female']}": r'column "gender" has a single level',
    "p={'gender': 0.9}, levels={'gender': ['female', 'female', 'male']}": r"name a level twice",
    "p={'gender': 0.9}, levels={'gender': ['female', NULL, 'male']}": r"NULL must come last",
    "p={'gender': 0.9}, levels={'gender': ['female', 'male', NULL]}": r"hold NULL; say on_null := 'level'",
    "p={'age': 0.9}, levels={'age': ['young', 'old']}": r"levels of column \"age\": 'young' is no INTEGER",
    "p={'gender': 0.9}, levels={'disease': ['a', 'b']}": r'levels names column "disease", which the call is not about',
    "p={'gender': 0.9}, levels={'gender': ['female', 'other']}": r"holds a value that is none of its 2 levels. Give the whole domain",
    "p={'gender': 0.9}, key='gender'": r'column "gender" is in both key and conf',
    "p={'gender': 0.9}, drop=['gender']": r'column "gender" is in both conf and drop',
    "p={'gender': 0.9}, key='age'": r'key "age" has only 60 values for 6000 rows looked at; rows that share it would share their draws',
    "p={'gender': 0.9999999999}": r"p must be from 0\.000000001 to 0\.999999999, or 1 \(in a",
    "p={'age': 0.9}, levels={'age': [20, 30.5]}": r'levels of column "age": .*30.5.* is no INTEGER\.',
    "p={'gender': 0.9}, on_null='mean'": r"on_null takes one of 'keep', 'level', got 'mean'",
    "p={'gender': 0.9}, sed=1": r"there is no parameter 'sed'. Did you mean \"seed\"\?",
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_input(survey: duckdb.DuckDBPyConnection, arguments: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=BAD[arguments]):
        survey.execute(f"CREATE TABLE released AS FROM rr_mask('survey', {arguments})")
    assert rows(survey, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'released'") == [(0,)]


def test_a_few_shared_keys_are_noticed(con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """All keys of a small table are looked at, some of a large one, each with all of its rows."""
    con.execute("CREATE TABLE t AS SELECT i AS id, i % 2 AS c FROM range(20000) r(i)")
    query = "SELECT count(*) FROM rr_mask('t', p={'c': 0.9}, key='id')"
    assert rows(con, query) == [(20000,)]
    monkeypatch.setattr(randomization, "KEYS_TO_LOOK_AT", 2000)
    assert rows(con, query) == [(20000,)]
    con.execute(
        "CREATE TABLE sentinel AS SELECT CASE WHEN i % 50 = 7 THEN -1 ELSE i END AS id, i % 2 AS c FROM range(20000) r(i)"
    )
    with pytest.raises(duckdb.InvalidInputException, match=r'key "id" has only \d+ values for \d+ rows looked at'):
        rows(con, query.replace("'t'", "'sentinel'"))
    con.execute("INSERT INTO t FROM t LIMIT 200")
    with pytest.raises(
        duckdb.InvalidInputException, match=r'key "id" has only \d\d\d\d values for \d\d\d\d rows looked at'
    ):
        rows(con, query)
    monkeypatch.undo()
    con.execute("DELETE FROM t WHERE id < 200; INSERT INTO t VALUES (200, 0)")
    with pytest.raises(duckdb.InvalidInputException, match=r'key "id" has only 19800 values for 19801 rows looked at'):
        rows(con, query)


def test_bad_sources(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE TABLE empty AS FROM survey LIMIT 0")
    survey.execute("CREATE TABLE same AS SELECT id, 'x' AS c, 1.5 AS d, CASE WHEN id > 5 THEN id END AS k FROM survey")
    survey.execute("CREATE TABLE names AS SELECT id, 'name ' || id AS name FROM survey")
    survey.execute("CREATE TABLE own AS SELECT id AS _pp_id, gender FROM survey")
    for call, message in {
        "rr_mask('empty', p={'gender': 0.9})": r'column "gender" has no values',
        "rr_mask('same', p={'c': 0.9})": r'column "c" has a single level; there is nothing it could be randomized to',
        "rr_mask('same', p={'d': 0.9})": r'column "d" is of type DECIMAL\(2,1\); only text, enum',
        "rr_mask('same', p={'c': 0.9}, levels={'c': ['x', 'y']}, key='k')": r'key "k" is NULL in 6 of 6000 rows',
        "rr_mask('names', p={'name': 0.9})": r'column "name" has more than 1000 levels',
        "rr_mask('surve', p={'gender': 0.9})": r'cannot see "surve". Did you mean "survey"\?',
        "rr_mask('own', p={'gender': 0.9})": r"names that begin with '_pp_' are ppduck's own",
    }.items():
        with pytest.raises(duckdb.InvalidInputException, match=message):
            rows(survey, f"FROM {call}")
    assert rows(survey, "FROM rr_mask('empty', p={'gender': 0.9}, levels={'gender': ['a', 'b']})") == []


def test_arguments_by_place() -> None:
    names = [each.name for each in FUNCTION.parameters]
    assert names == ["tbl", "p", "matrix", "conf", "levels", "key", "seed", "on_null", "drop"]
    assert RrMaskCall(tbl="t").invariant is False  # which is pram_mask's to give
