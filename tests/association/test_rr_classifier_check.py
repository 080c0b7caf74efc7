"""rr_classifier_check: Examples 5 and 6, and what is chosen before and after randomization."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.errors import PpduckWarning
from tests import coil

pytestmark = pytest.mark.core


def test_example_5_the_best_split_is_another_one(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "ABC", coil.ABC)
    ask = "SELECT item, published, reconstructed, chosen, chosen_before, preserved FROM rr_classifier_check('{}', ['A','B'], 'C', count='n'{}) WHERE task = 'gini'"
    before = con.execute(ask.format("coil", "")).fetchall()
    assert [(item, round(value, 2), chosen) for item, value, _, chosen, *_ in before] == [
        ("A", 0.30, True),
        ("B", 0.33, False),
    ]
    assert [row[5] for row in before] == [True, True]
    coil.randomized(con, "published", "coil", {"A": 0.6, "B": 0.9, "C": 1})
    with pytest.warns(PpduckWarning, match=r'"A", "B" is randomized: the order of gini values and of naive Bayes'):
        after = con.execute(ask.format("published", ", p={'A': 0.6, 'B': 0.9, 'C': 1}")).fetchall()
    assert [(item, round(now, 2), round(then, 2)) for item, now, then, *_ in after] == [
        ("A", 0.35, 0.30),
        ("B", 0.34, 0.33),
    ]
    assert [(chosen, earlier, kept) for *_, chosen, earlier, kept in after] == [
        (False, True, False),
        (True, False, False),
    ]


def test_example_6_the_likelier_class_is_another_one(con: duckdb.DuckDBPyConnection) -> None:
    coil.table(con, "coil", "AGH", coil.AGH)
    coil.randomized(con, "published", "coil", {"A": 0.6, "G": 0.6, "H": 1})
    ask = """SELECT class, published, reconstructed, chosen, chosen_before FROM rr_classifier_check('published', ['A','G'], 'H',
             count='n', p={'A': 0.6, 'G': 0.6, 'H': 1}) WHERE task = 'naive_bayes' AND item = 'A = 0, G = 1' ORDER BY class"""
    with pytest.warns(PpduckWarning, match="Results 13, 14"):
        rows = con.execute(ask).fetchall()
    assert [(of, round(now, 2), round(then, 2)) for of, now, then, *_ in rows] == [("0", 0.54, 0.31), ("1", 0.46, 0.69)]
    assert [(chosen, before) for *_, chosen, before in rows] == [(True, False), (False, True)]


def test_names_alone_warn_without_a_reconstruction(survey: duckdb.DuckDBPyConnection) -> None:
    with pytest.warns(PpduckWarning, match='rr_classifier_check on "survey": "disease" is randomized'):
        rows = survey.execute(
            "SELECT reconstructed, chosen_before, preserved FROM rr_classifier_check('survey', ['gender','disease'], 'smoker', randomized='disease')"
        ).fetchall()
    assert set(rows) == {(None, None, False)}


def test_what_is_refused(survey: duckdb.DuckDBPyConnection) -> None:
    for call, message in (
        ("[], 'smoker'", r"columns is empty"),
        ("['gender'], 'gender'", r'column "gender" is named twice'),
        ("['gender'], 'smoke'", r'columns names column "smoke".*Did you mean "smoker"'),
        ("['id'], 'smoker'", r'column "id" has more than 1,000 levels'),
    ):
        with pytest.raises(duckdb.InvalidInputException, match=f"rr_classifier_check.*{message}"):
            survey.execute(f"FROM rr_classifier_check('survey', {call})").fetchall()
