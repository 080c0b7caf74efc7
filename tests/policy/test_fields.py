"""Fields of a policy are read by what they take; others are faults with a place."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.errors import Faults, PpduckError
from ppduck.policy.document import of_python, of_yaml
from ppduck.policy.fields import Fields

KNOWN = ("from", "key", "limits", "masks", "smallest_batch")


def fields(**given: Any) -> Fields:
    return Fields(Faults("test"), of_python(given), KNOWN)


def test_what_is_there_and_what_is_not() -> None:
    found = fields(key=["a", "b"], limits={"k": 5, "linkage": None, "cc_gain": "chance"}, smallest_batch=7, masks={})
    assert found.names("key") == ("a", "b")
    assert fields(key="a").names("key") == ("a",)
    assert found.limits() == {"k": 5, "linkage": None, "cc_gain": "chance"}
    assert found.whole("smallest_batch") == 7
    assert found.text("from") is None
    assert found.mapping("masks", "masks") == {}
    assert found.get("from") is None
    found.faults.raise_if_any()


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("key: 7", "names", r"key \(line 1, column 1\): key takes a column name or a list of them, got 7"),
        ("from: [a]", "text", r"from \(line 1, column 1\): from takes a text, got a list"),
        ("smallest_batch: no", "whole", r"smallest_batch takes a whole number of at least 1, got 'no'"),
        ("limits: {k: [1]}", "limits", r'limits.k \(line 1, column 10\): the limit of rule "k" takes a number'),
    ],
)
def test_faults_have_places(text: str, name: str, said: str) -> None:
    found = Fields(Faults("test"), of_yaml(text), KNOWN)
    getattr(found, name)(*([text.partition(":")[0]] if name != "limits" else []))
    with pytest.raises(PpduckError, match=said):
        found.faults.raise_if_any()
