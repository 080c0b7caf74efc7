"""The plan of masks that see all values of a group at once."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.call.parameters import parameters_of
from ppduck.masks.onn import SOLVE
from ppduck.query import tree as sql
from ppduck.stages.group_lists import ConfCall, in_order_of_names, list_plan
from ppduck.stages.masking import Masking

Make = Callable[..., Masking]


def test_lists_go_in_and_come_back_by_row(masking: Make) -> None:
    made = masking("onn_mask", nonconf=(), conf=("x", "n"))
    plan = list_plan(made, SOLVE)
    assert [each.name for each in plan.stages] == ["_pp_source", "_pp_seen", "_pp_look", "_pp_lists", "_pp_masked"]
    lists = sql.render(plan.stage("_pp_lists").tree)
    assert 'ORDER BY "_pp_key" ASC NULLS LAST, "_pp_row_number" ASC NULLS LAST' in lists
    assert 'flatten(list_value("_pp_list1", "_pp_list0"))' in lists  # n before x
    assert "NOT isnan" in sql.render(plan.stage("_pp_masked").tree)
    assert in_order_of_names(made) == [1, 0]


def test_nonconf_and_on_null_cannot_be_given() -> None:
    assert not {"nonconf", "on_null"} & {each.name for each in parameters_of(ConfCall)}
    call = ConfCall(tbl="t", conf=["x"])
    assert (call.nonconf, call.on_null) == (None, "error")
