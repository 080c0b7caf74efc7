"""The plan of the rank-based masks."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.masking import Masking
from ppduck.stages.scores import Scores

Make = Callable[..., Masking]


def test_numbers_are_scored_and_categories_are_indicators(masking: Make) -> None:
    scores = Scores(masking("shuffle_mask", nonconf=("s", "g")), back=Scores.shuffled)
    assert scores.scored == [0, 2]
    assert [sql.render(each) for each in scores.terms.values][::2] == ['"_pp_z0"', '"_pp_z2"']
    assert scores.terms.centre(0, "_pp_m0") is None  # scores lie about 0
    assert scores.terms.centre(1, "_pp_m1") is not None


def test_every_column_is_sorted_once(masking: Make) -> None:
    plan = Scores(masking("shuffle_mask"), back=Scores.shuffled).plan()
    kinds = [(each.name, type(each).__name__) for each in plan.stages]
    assert kinds[3:6] == [("_pp_ranked0", "Sorted"), ("_pp_ranked1", "Sorted"), ("_pp_narrow", "Rows")]
    assert [name for name, _ in kinds][-4:] == ["_pp_sample", "_pp_solved", "_pp_form", "_pp_masked"]
    assert type(plan.answer).__name__ == "Sorted"


def test_large_integers_are_sorted_as_they_are(masking: Make) -> None:
    scores = Scores(masking("shuffle_mask", conf=("n",)), back=Scores.shuffled)
    written = sql.render(scores.plan().stage("_pp_ranked1").tree)
    assert 'ORDER BY "n" ASC NULLS LAST' in written
