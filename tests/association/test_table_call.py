"""Calls about tables of counts: what they say of a design, and where they take it."""

from __future__ import annotations

import pytest

from ppduck.association.table_call import TableCall, TellsDesign
from ppduck.call.parameters import parameters_of
from ppduck.call.registry import functions
from ppduck.designs.design import DesignWords

pytestmark = pytest.mark.core


def test_a_call_that_says_nothing_of_a_design() -> None:
    call = TableCall(tbl="t")
    assert call.words == DesignWords()
    assert not call.null_is_level
    assert not call.words.tells_probabilities


def test_what_a_call_says_arrives() -> None:
    call = TableCall(tbl="t", p={"a": 0.8}, matrix={}, levels={"a": [1, 2]}, on_null="level")
    assert call.words == DesignWords({"a": 0.8}, {}, {"a": [1, 2]}, null_is_level=True)
    assert call.words.tells_probabilities


def test_the_table_comes_first_and_the_design_behind_what_is_asked() -> None:
    design = [each.name for each in parameters_of(TableCall) if each.name != "tbl"]
    assert design == ["p", "matrix", "levels", "on_null"]
    asking = [f for f in functions() if isinstance(f.takes, type) and issubclass(f.takes, TellsDesign)]
    assert len(asking) >= 5
    for function in asking:
        names = [each.name for each in function.parameters]
        assert names[0] == "tbl"
        first = names.index("p")
        assert names[first : first + 4] == design
        assert all(each.default is not None for each in function.parameters[first:]), function.name
