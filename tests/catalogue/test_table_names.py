"""What is a table's name, and what its parts are."""

from __future__ import annotations

import pytest

from ppduck.catalogue.table_names import parts, parts_of_name, written


@pytest.mark.parametrize(
    ("text", "name", "own"),
    [
        ("customers", '"customers"', ("customers",)),
        ("main.customers", '"main"."customers"', ("main", "customers")),
        ('lake."my schema"."a.b"', '"lake"."my schema"."a.b"', ("lake", "my schema", "a.b")),
        ('"says ""hi"""', '"says ""hi"""', ('says "hi"',)),
    ],
)
def test_names_are_quoted_part_by_part(text: str, name: str, own: tuple[str, ...]) -> None:
    assert written(text) == name
    assert parts(name) == own
    assert parts_of_name(f"  {text} ") == own


@pytest.mark.parametrize("text", ["a b c", "a; DROP TABLE b", "(SELECT 1)", "f(1)", "", "a AS b"])
def test_what_is_no_name_has_no_parts(text: str) -> None:
    assert parts_of_name(text) == ()
