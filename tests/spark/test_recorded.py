"""What a release's properties say of its call: nothing that noise or pseudonyms could be made again from."""

from __future__ import annotations

import pytest

from ppduck.spark._recorded import WITHHELD, told


@pytest.mark.parametrize("name", ["seed", "SEED", "salt", "Salt"])
@pytest.mark.parametrize("value", [7, 0, "pepper", "", ["pepper"]])
def test_what_could_be_repeated_is_withheld(name: str, value: object) -> None:
    assert told({name: value, "conf": ["x"]}) == {name: WITHHELD, "conf": ["x"]}


def test_it_is_withheld_at_any_depth() -> None:
    columns = {"name": {"as": "hash", "salt": "pepper"}, "mail": [{"salt": "more"}]}
    assert "pepper" not in str(told({"columns": columns}))
    assert "more" not in str(told({"columns": columns}))
    assert told({"columns": columns})["columns"]["name"]["as"] == "hash"


def test_what_was_not_given_is_told_as_it_is() -> None:
    given = {"seed": None, "conf": ("x", "y"), "level": 0.2, "salted": "no"}
    assert told(given) == {**given, "conf": ["x", "y"]}


def test_a_policy_is_told_by_its_path_and_withheld_as_a_document() -> None:
    assert told({"policy": "customers.release.yml"}) == {"policy": "customers.release.yml"}
    assert told({"policy": "columns:\n  name: {pseudonym: {as: hash, salt: pepper}}\n"}) == {"policy": WITHHELD}
    inline = {"columns": {"name": {"pseudonym": {"as": "hash", "salt": "pepper"}}}}
    assert "pepper" not in str(told({"policy": inline}))
