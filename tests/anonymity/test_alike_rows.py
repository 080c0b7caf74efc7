"""What the functions of this room share: how they are asked, and what they count."""

from __future__ import annotations

import pytest

from ppduck.anonymity.alike_rows import GROUPS, ROWS, AlikeRowsCall
from ppduck.call.registry import Kind, PlainMacro, functions

pytestmark = pytest.mark.core
ASKING = [each for each in functions() if isinstance(each.takes, type) and issubclass(each.takes, AlikeRowsCall)]


def test_table_and_quasi_identifiers_come_first() -> None:
    assert len(ASKING) == 3
    for function in ASKING:
        assert isinstance(function, PlainMacro)
        assert function.signature.startswith(f"{function.name}(tbl, qi"), function.signature


def test_each_says_of_how_many_rows_and_groups_it_speaks() -> None:
    for function in ASKING:
        assert {ROWS, GROUPS} <= set(function.results), function.name
        assert function.kind is Kind.MEASURE


def test_the_sensitive_column_is_the_same_thing_everywhere() -> None:
    told = {each.doc for function in ASKING for each in function.parameters if each.name == "sensitive"}
    assert len(told) == 1
