"""What all stages know of a call: groups, labels, joins."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.masking import Masking

Make = Callable[..., Masking]


def test_groups_have_names_of_their_own(masking: Make) -> None:
    of_two = masking(strata=("g", "flag"))
    assert of_two.by == ["_pp_by0", "_pp_by1"]
    assert [(alias, sql.render(value)) for alias, value in of_two.groups] == [("_pp_by0", '"g"'), ("_pp_by1", '"flag"')]
    pairs = [(sql.render(a), sql.render(b)) for a, b in of_two.to_rows("_pp_source")]
    assert pairs[0] == ('"_pp_source"."g"', '"_pp_look"."_pp_by0"')
    assert masking().same_group("a", "b") == []


def test_the_label_names_each_column_of_a_group(masking: Make) -> None:
    assert sql.render(masking().label()) == "CAST(NULL AS TEXT)"
    label = sql.render(masking(strata=("g",)).label("_pp_look"))
    assert label.startswith("concat_ws(', ', concat('g = ', coalesce(CAST(\"_pp_look\".\"_pp_by0\" AS TEXT), 'NULL'))")


def test_categories_are_those_of_nonconf(masking: Make) -> None:
    assert masking(nonconf=("s", "g")).categories == [("g", ["a", "b"])]
    assert masking().categories == []
    assert masking(nonconf=("g",)).is_category("g")
    assert masking().is_category("flag")
    assert not masking().is_category("s")


def test_what_a_call_asks_for(masking: Make) -> None:
    assert masking(seed=3).seeded
    assert not masking().seeded
    assert masking("shuffle_mask").permutes
    assert not masking().permutes
