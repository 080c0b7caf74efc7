"""Pairs of answers in the levels of both releases, by the design of each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ppduck.designs.design import Attribute
from ppduck.errors import PpduckError
from ppduck.measures._repeated_answers import MOST_LEVELS, AnsweredBy, AnswersSpec, AnswersTold, by_design, solve

pytestmark = pytest.mark.core
BY_P = AnsweredBy(None, 0.8, None)
SPEC = AnswersSpec("release_intersection", "one", "g", BY_P, BY_P, False)
# as two answers with p = 0.8 of 1,000 people half a, half b
PAIRS = AnswersTold(1, ["a", "a", "b", "b"], ["a", "b", "a", "b"], [None] * 4, np.array([340.0, 160.0, 160.0, 340.0]))


def test_even_levels_are_guessed_no_better_but_more_surely() -> None:
    guessed, certain = solve(SPEC, PAIRS)
    assert (guessed["success"], guessed["baseline"]) == pytest.approx((0.8, 0.8))
    assert (certain["success"], certain["baseline"]) == (0, 0)  # 0.64/0.68 is below 0.95
    sharper = AnsweredBy(None, 0.9, None)
    _, certain = solve(
        replace(SPEC, first=sharper, second=sharper), replace(PAIRS, counts=np.array([410.0, 90.0, 90.0, 410.0]))
    )
    assert (certain["success"], certain["baseline"]) == (0.82, 0)


def test_guesses_are_held_against_the_original() -> None:
    """Half of those who gave different answers, in turn, are a."""
    told = AnswersTold(
        1, ["a", "a", "a", "b", "b"], ["a", "b", "b", "a", "b"], ["a", "a", "b", None, "b"], np.array([300.0, 50.0, 50.0, 100.0, 300.0])
    )  # fmt: skip
    guessed, _ = solve(replace(SPEC, has_original=True, second=AnsweredBy(None, 0.7, None)), told)
    assert guessed["rows"] == 700  # those that the original has
    assert (guessed["success"], guessed["baseline"]) == pytest.approx((650 / 700, 650 / 700))


def test_a_matrix_is_over_the_levels_of_its_release() -> None:
    matrix = ((0.9, 0.2), (0.1, 0.8))
    by_matrix = by_design(Attribute("g", "VARCHAR", ("b", "a"), None, matrix))
    told = AnswersTold(1, ["a", "b", "c"], ["a", "a", "c"], [None] * 3, np.array([50.0, 20.0, 30.0]))
    guessed, _ = solve(replace(SPEC, first=by_matrix, second=replace(by_matrix, levels=("b", "a"))), told)
    assert guessed["rows"] == 100
    with pytest.raises(PpduckError, match=r'matrix of column "g" is not of its 3 levels'):
        solve(replace(SPEC, first=replace(by_matrix, levels=None)), told)


def test_null_is_an_answer_where_it_is_a_level() -> None:
    told = AnswersTold(1, ["a", None, "a"], ["b", "a", "a"], [None] * 3, np.array([10.0, 20.0, 30.0]))
    assert solve(SPEC, told)[0]["rows"] == 40
    leveled = AnsweredBy(("a", "b", None), 0.8, None)
    assert solve(replace(SPEC, first=leveled, second=leveled), told)[0]["rows"] == 60


def test_answers_that_were_not_drawn_apart_are_noticed() -> None:
    told = replace(PAIRS, counts=np.array([480.0, 20.0, 20.0, 480.0]))
    assert "agree more often" in solve(SPEC, told)[0]["says"]
    assert "agree more often" not in solve(SPEC, PAIRS)[0]["says"]


def test_what_cannot_be_told_is_said() -> None:
    same = AnswersTold(1, ["a", "b"], ["a", "b"], [None] * 2, np.array([5.0, 6.0]))
    [row] = solve(SPEC, same)
    assert (row["success"], row["gain"], row["rows"]) == (None, 0, 11)
    [row] = solve(replace(SPEC, second=None), PAIRS)
    assert "320 answers of 1000 differ" in row["says"]
    [row] = solve(SPEC, AnswersTold(1, [None], ["a"], [None], np.array([3.0])))
    assert row["says"] == "no row has an answer in both releases"
    [row] = solve(replace(SPEC, has_original=True), PAIRS)
    assert "in the original" in row["says"]
    many = [str(i) for i in range(MOST_LEVELS + 1)]
    with pytest.raises(PpduckError, match=f"more than {MOST_LEVELS} levels"):
        solve(SPEC, AnswersTold(1, many, many[::-1], [None] * len(many), np.ones(len(many))))
