"""Columns that a policy names and the table has not, and the other way round."""

from __future__ import annotations

import pytest

from ppduck.errors import Faults, PpduckError
from ppduck.policy.names import check_names, columns_named


def said(places: dict[str, str], used: dict[str, str], qi: list[str], own: list[str]) -> str:
    faults = Faults("f")
    check_names(faults, places, used, qi, own)
    with pytest.raises(PpduckError, match=r"^f: ") as raised:
        faults.raise_if_any()
    return str(raised.value)


def test_who_names_all_and_nothing_else_is_let_through() -> None:
    faults = Faults("f")
    check_names(faults, {"A": "", "b": ""}, {"C": "key"}, ["a"], ["a", "B", "c"])
    assert not faults


def test_each_fault_says_where_and_what_was_meant() -> None:
    found = said(
        {"incme": "columns.incme (line 3, column 3)"}, {"bnd": "nonconf of masks.x"}, ["ag"], ["income", "band", "age"]
    )
    for part in (
        'columns.incme (line 3, column 3): the table has no column "incme". Did you mean "income"?',
        'nonconf of masks.x names column "bnd", which the table does not have. Did you mean "band"?',
        'qi names column "ag", which the table does not have. Did you mean "age"?',
        'of the table columns "income", "band", "age" are not named',
    ):
        assert part in found


def test_who_is_named_by_qi_alone_is_not_decided_on() -> None:
    assert 'of the table column "town" is not named' in said({"a": ""}, {}, ["town"], ["a", "town"])


def test_names_are_gathered_with_the_first_who_names_them() -> None:
    assert columns_named([("key", "a"), ("qi", ["a", "b"]), ("no", 7), ("per", ("c", None)), ("x", None)]) == {
        "a": "key", "b": "qi", "c": "per",
    }  # fmt: skip
