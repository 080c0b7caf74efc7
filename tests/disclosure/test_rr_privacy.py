"""rr_privacy: the same numbers as the plain macro, per column and together, from numbers or from a view."""

from __future__ import annotations

import math

import duckdb
import pytest

from ppduck.call import plain_macros
from tests.estimators.test_rr_reconstruct import rows

pytestmark = pytest.mark.core

MEASURES = [
    *("keep", "gamma", "epsilon", "jeopardy", "posterior_upper", "posterior_lower"),
    *("reconstruction", "mask_privacy", "condition"),
]


def test_the_statement_of_the_issue(con: duckdb.DuckDBPyConnection) -> None:
    found = {row[1]: row[2] for row in rows(con, "FROM rr_privacy(p=0.8, levels=3)")}
    assert list(found) == MEASURES
    assert found["epsilon"] == pytest.approx(math.log(8))
    assert found["posterior_upper"] == pytest.approx(8 * 0.05 / (1 + 7 * 0.05))
    assert found["reconstruction"] == pytest.approx(0.8**2 + 2 * 0.1**2)


@pytest.mark.parametrize(("p", "levels", "rho1"), [(0.8, 3, 0.05), (0.2, 4, 0.3), (1, 2, 0.05), (0.65, 2, 0.5)])
def test_as_the_plain_macro_says(con: duckdb.DuckDBPyConnection, p: float, levels: int, rho1: float) -> None:
    planned = rows(con, f"FROM rr_privacy(p={p}, levels={levels}, rho1={rho1})")
    with duckdb.connect() as other:
        other.execute(plain_macros.text())
        by_macro = rows(other, f"FROM rr_privacy({p}, {levels}, rho1 := {rho1})")
    for one, two in zip(planned, by_macro, strict=True):
        assert (one[0], one[1], one[3]) == (two[0], two[1], two[3])
        assert one[2] == pytest.approx(two[2])


def test_columns_together_and_a_prior(con: duckdb.DuckDBPyConnection) -> None:
    call = "rr_privacy(p={'a': 0.9, 'b': 0.8}, levels={'a': 2, 'b': 3}, prior={'a': [0.9, 0.1]})"
    found = {(row[0], row[1]): row[2] for row in rows(con, f"FROM {call}")}
    assert [name for name, measure in found if measure == "keep"] == ["a", "b", "(all)"]
    assert found["(all)", "epsilon"] == pytest.approx(math.log(9) + math.log(8))
    one = 0.9 * (0.9**2 * 0.9 / 0.82 + 0.1**2 * 0.9 / 0.18) + 0.1 * (0.1**2 * 0.1 / 0.82 + 0.9**2 * 0.1 / 0.18)
    assert found["a", "reconstruction"] == pytest.approx(one)
    assert found["(all)", "reconstruction"] == pytest.approx(one * (0.8**2 + 2 * 0.1**2))


def test_jeopardy_of_columns_together_is_counted_and_not_multiplied(con: duckdb.DuckDBPyConnection) -> None:
    found = {(row[0], row[1]): row[2] for row in rows(con, "FROM rr_privacy(p={'a': 0.9, 'b': 0.9}, levels=2)")}
    assert found["(all)", "gamma"] == pytest.approx(81)
    # Of four equally likely pairs: 0.81 against the mean of 0.09, 0.09 and 0.01; and 0.01 against 0.99/3.
    assert found["(all)", "jeopardy"] == pytest.approx(33)
    many = {(row[0], row[1]) for row in rows(con, "FROM rr_privacy(p={'a': 0.9, 'b': 0.9}, levels=100)")}
    assert ("(all)", "gamma") in many
    assert ("(all)", "jeopardy") not in many


def test_a_matrix_and_a_view(survey: duckdb.DuckDBPyConnection) -> None:
    matrix = "[[0.8, 0.2, 0.1], [0.1, 0.7, 0.1], [0.1, 0.1, 0.8]]"
    by_matrix = rows(survey, f"FROM rr_privacy(matrix={{'disease': {matrix}}})")
    survey.execute(
        f"CREATE VIEW v AS SELECT id, disease AS d FROM rr_mask('survey', matrix={{'disease': {matrix}}}, key='id')"
    )
    by_view = rows(survey, "FROM rr_privacy(tbl='v')")
    assert [row[2] for row in by_matrix] == pytest.approx([row[2] for row in by_view])
    assert {row[0] for row in by_view} == {"d"}
    assert by_matrix[1][2] == pytest.approx(8)


def test_bad_input(survey: duckdb.DuckDBPyConnection) -> None:
    for call, message in {
        "rr_privacy()": r"give p and levels, or matrix, or tbl",
        "rr_privacy(p=0.9)": r'levels is missing for column "1"',
        "rr_privacy(p=0, levels=2)": r"p must be from 0\.000000001 to 0\.999999999, or 1, got 0",
        "rr_privacy(p=0.9, levels=1)": r"levels must be from 2 to 1,000, got 1",
        "rr_privacy(p=0.9, levels=100000)": r"levels must be from 2 to 1,000, got 100000",
        "rr_privacy(p=0.9, levels=2, prior={'a': [0.5, 0.5]})": r'prior names column "a", which the call is not about',
        "rr_privacy(p=0.9, levels=2, prior={'1': ['x', 'y']})": r"prior takes",
        "rr_privacy(tbl='(SELECT id FROM rr_mask(''survey'', p := {gender: 0.9}))')": r"shows none of the columns that were randomized",
        "rr_privacy(p=0.9, levels='two')": r"levels takes a whole number from 2 to 1,000",
        "rr_privacy(p=0.9, levels=2, rho1=1)": r"rho1 must be above 0 and below 1, got 1",
        "rr_privacy(p={'a': 0.9}, levels={'b': 2})": r'levels is missing for column "a"',
        "rr_privacy(p=0.9, levels=2, prior={'1': [0.5, 0.6]})": r'prior of column "1" must be 2 shares that sum to 1',
        "rr_privacy(matrix={'a': [[0.9, 0.2], [0.2, 0.8]]})": r"columns that sum to 1",
        "rr_privacy(p=0.9, levels=2, prior={'1': [true, false]})": r"prior takes \{'column': \[0\.2, 0\.8\]\}, shares",
        "rr_privacy(p={'A': 0.9}, levels=2, matrix={'a': [[0.9, 0.2], [0.1, 0.8]]})": r'column "A" has both p and matrix',
        "rr_privacy(tbl='survey', p=0.9, levels=2)": r'tbl tells the design; leave "p", "levels" out',
        "rr_privacy(tbl='survey')": r'"survey" is no view over rr_mask',
        "rr_privacy(tbl='surve')": r'cannot see "surve". Did you mean "survey"\?',
    }.items():
        with pytest.raises(duckdb.InvalidInputException, match=message):
            rows(survey, f"FROM {call}")
