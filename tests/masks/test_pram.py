"""pram_mask: as rr_mask, and invariant where asked: expected shares stay what they are."""

from __future__ import annotations

from collections import Counter

import duckdb
import numpy as np
import pytest

from ppduck.masks.pram import FUNCTION
from tests.conftest import con

__all__ = ["con"]  # one for each test: some leave a transaction open

pytestmark = pytest.mark.core


def shares(con: duckdb.DuckDBPyConnection, source: str) -> dict[str, float]:
    found = con.execute(f"SELECT disease, count(*) FROM {source} GROUP BY ALL").fetchall()
    total = sum(count for _, count in found)
    return {level: count / total for level, count in found}


@pytest.mark.long
def test_expected_shares_are_unchanged(survey: duckdb.DuckDBPyConnection) -> None:
    """Over 40 seeds the mean share is the original's within 4 standard errors; that of plain PRAM is far off."""
    truth = shares(survey, "survey")
    runs: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    for seed in range(40):
        call = f"pram_mask('survey', conf=['disease'], p=0.8, invariant={{}}, seed={seed})"
        runs.update(shares(survey, call.format("true")))
        plain.update(shares(survey, call.format("false")))
    # One run's share has variance below 0.25/6000.
    error = np.sqrt(0.25 / 6000 / 40)
    assert all(abs(runs[level] / 40 - share) < 4 * error for level, share in truth.items())
    assert max(abs(plain[level] / 40 - share) for level, share in truth.items()) > 10 * error


def test_invariant_still_randomizes(survey: duckdb.DuckDBPyConnection) -> None:
    [(moved,)] = survey.execute(
        "SELECT avg((m.disease <> o.disease)::INT) FROM survey o "
        "JOIN pram_mask('survey', conf=['disease'], p=0.8, invariant=true) m USING (id)"
    ).fetchall()
    assert 0.2 < moved < 0.45


def test_without_invariant_it_is_randomized_response(survey: duckdb.DuckDBPyConnection) -> None:
    query = "FROM {}('survey', conf=['gender', 'disease'], p=0.8, key='id') ORDER BY id"
    masked = [survey.execute(query.format(mask)).fetchall() for mask in ("pram_mask", "rr_mask")]
    assert masked[0] == masked[1]


def test_one_more_row_moves_few_answers(survey: duckdb.DuckDBPyConnection) -> None:
    """The matrix follows the shares, the draws do not: a view cannot be averaged over the states of its table."""
    query = "SELECT id, disease FROM pram_mask('survey', conf=['disease'], p=0.6, invariant=true, key='id') WHERE id < 6000 ORDER BY id"
    before = survey.execute(query).fetchall()
    survey.execute("INSERT INTO survey VALUES (9999, 'male', 'flu', true, 30)")
    after = survey.execute(query).fetchall()
    assert sum(a != b for a, b in zip(before, after, strict=True)) <= 10


def test_a_level_that_never_occurs_can_be_reconstructed(survey: duckdb.DuckDBPyConnection) -> None:
    levels = "levels={'disease': ['anemia', 'cancer', 'flu', 'gout']}"
    survey.execute(
        f"CREATE VIEW v AS FROM pram_mask('survey', conf=['disease'], p=0.8, invariant=true, key='id', {levels})"
    )
    found = dict(survey.execute("SELECT disease, estimate FROM rr_reconstruct('v', ['disease'])").fetchall())
    truth = shares(survey, "survey")
    assert found["gout"] == 0
    assert all(abs(found[level] - share) < 0.05 for level, share in truth.items())


def test_invariant_tables_are_reconstructed_through_the_same_matrix(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute(
        "CREATE VIEW v AS FROM pram_mask('survey', conf=['gender', 'disease'], p=0.8, invariant=true, key='id')"
    )
    found = survey.execute(
        "SELECT abs(r.estimate - o.share) / r.std_error FROM rr_reconstruct('v', ['gender', 'disease'], target='table') r "
        "LEFT JOIN (SELECT gender, disease, count(*) / 6000 AS share FROM survey GROUP BY ALL) o USING (gender, disease) "
        "WHERE o.share IS NOT NULL"
    ).fetchall()
    assert len(found) == 5
    assert all(distance < 4 for (distance,) in found)


def test_rows_that_planning_cannot_see_are_noticed(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("BEGIN")
    survey.execute("INSERT INTO survey VALUES (9999, 'male', 'flu', true, 30)")
    with pytest.raises(
        duckdb.InvalidInputException, match=r"shares of the levels are not those that the matrix was made invariant for"
    ):
        survey.execute("FROM pram_mask('survey', conf=['disease'], p=0.8, invariant=true)").fetchall()
    survey.execute("ROLLBACK")
    assert len(survey.execute("FROM pram_mask('survey', conf=['disease'], p=0.8, invariant=true)").fetchall()) == 6000


def test_bad_input(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE TEMP TABLE mine AS FROM survey; CREATE TABLE none AS FROM survey LIMIT 0")
    levels = "levels={'disease': ['anemia', 'cancer', 'flu']}"
    for call, message in {
        "pram_mask('survey', p=0.8)": r"p is one number; name the columns in conf",
        "pram_mask('survey', conf=['disease'])": r'p is missing for column "disease"',
        "pram_mask('survey', conf=['disease'], p=0.8, invariant='yes')": r"invariant takes true or false, got 'yes'",
        f"pram_mask('mine', conf=['disease'], p=0.8, invariant=true, {levels})": r"invariant needs the shares of the levels",
        f"pram_mask('none', conf=['disease'], p=0.8, invariant=true, {levels})": r"has no values, so that nothing can stay invariant",
    }.items():
        with pytest.raises(duckdb.InvalidInputException, match=message):
            survey.execute(f"FROM {call}")


def test_a_matrix_of_too_many_levels_is_not_made(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE many AS SELECT i AS id, 'level ' || i % 1000 AS a FROM range(5000) AS r(i)")
    with pytest.raises(
        duckdb.InvalidInputException, match=r"at most 200 of them, and column \"a\" has 1,000; group them"
    ):
        con.execute("FROM pram_mask('many', conf=['a'], p=0.8, invariant=true, key='id')")


def test_arguments_by_place() -> None:
    names = [each.name for each in FUNCTION.parameters]
    assert names == ["tbl", "conf", "p", "matrix", "invariant", "levels", "key", "seed", "on_null", "drop"]
