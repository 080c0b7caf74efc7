"""The page of a proposal says what its rows say, whatever columns are called."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from ppduck.policy.document import of_yaml
from ppduck.policy.proposal import at_the_top, in_a_line, page

ODD = [
    "no",
    "y",
    "007",
    "1e3",
    "0x1f",
    "1_000",
    "null",
    "~",
    "a: b",
    "# c",
    "- d",
    "e #f",
    "[g]",
    "{h}",
    "'i'",
    '"j"',
    "k\n",
]
ODD += [
    " l",
    "m ",
    "ümlaut",
    "✓",
    "2026-01-31",
    "12:30:00",
    "=",
    "<<",
    "*n",
    "&o",
    "!p",
    "%q",
    "@r",
    "`s",
    "?",
    ":",
    "𝔘",
    "\x85",
]
NAMES = st.one_of(
    st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
)


@given(NAMES)
def test_a_text_is_read_as_the_same_text(name: str) -> None:
    assert of_yaml(in_a_line([name])).plain == [name]
    assert yaml.safe_load(in_a_line([name])) == [name]


@given(st.lists(NAMES, min_size=1, max_size=8, unique=True), NAMES, NAMES)
def test_every_column_is_named_and_nothing_else(names: list[str], table: str, reason: str) -> None:
    rows: list[tuple[str | None, str | None, str]] = [
        (None, at_the_top("from", table), reason),
        (None, at_the_top("key", names[0]), reason),
        *((name, in_a_line({"mask": "egadp"}), reason) for name in names),
        (None, at_the_top("masks", {"egadp": {"nonconf": names}}), reason),
        (None, at_the_top("limits", {"k": 5}), reason),
    ]
    assert of_yaml(page(rows)).plain == {
        "from": table,
        "key": names[0],
        "columns": {name: {"mask": "egadp"} for name in names},
        "masks": {"egadp": {"nonconf": names}},
        "limits": {"k": 5},
    }


def test_a_very_long_name() -> None:
    name = "long " * 400 + "name"
    assert of_yaml(page([(name, "drop", "why")])).plain == {"columns": {name: "drop"}}


def test_lines_stand_below_each_other() -> None:
    rows = [("id", "{pseudonym: token}", "one"), ("income", "drop", "two"), ("x" * 40, "drop", "three")]
    lines = page(rows).splitlines()[-3:]
    assert lines[0] == "  id:     {pseudonym: token}  # one"
    assert lines[1] == "  income: drop                # two"


def test_what_is_not_proposed_is_said() -> None:
    assert "\n# key: there is none\n" in page([(None, None, "key: there is none"), ("a", "drop", "why")])
