"""What a policy says, and where: YAML 1.2's scalars, places, names twice, and texts that are no policy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ppduck.policy.document import UnreadableError, as_yaml, of_python, of_yaml, without


def test_scalars_are_what_they_look_like_to_people() -> None:
    text = """
    no: [no, off, yes, true, False, null, ~, "true", '7']
    numbers: [7, -3, 0, 0.5, 1e-3, .5, 1_000, 0x10, 12:30]
    codes: [01234, 2026-01-31, 1.2.3]
    """
    found = of_yaml(text).plain
    assert found["no"] == ["no", "off", "yes", True, False, None, None, "true", "7"]
    assert found["numbers"] == [7, -3, 0, 0.5, 0.001, 0.5, "1_000", "0x10", "12:30"]
    assert found["codes"] == ["01234", "2026-01-31", "1.2.3"]


def test_everything_has_its_place() -> None:
    document = of_yaml("columns:\n  id: drop\n  income: {mask: egadp}\n")
    income = document.value["columns"].value["income"]
    assert income.place == "columns.income (line 3, column 3)"
    assert income.value["mask"].place == "columns.income.mask (line 3, column 12)"


def test_what_python_gives_has_paths_and_no_lines() -> None:
    document = of_python({"columns": {"id": "drop"}, "key": ("id",)})
    assert document.value["columns"].value["id"].place == "columns.id"
    assert document.plain == {"columns": {"id": "drop"}, "key": ["id"]}


def test_both_ways_say_the_same() -> None:
    assert of_yaml("a: {b: [1, 2.5, x]}").plain == of_python({"a": {"b": [1, 2.5, "x"]}}).plain


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("columns: {id: drop", "is no YAML at line 1, column 19"),
        ("? [a, b]\n: c\n", "a name that is no text at line 1, column 3"),
        ("a: &x [*x]\n", "refers to itself"),
        ("a: \x00", "a character that YAML does not know"),
    ],
)
def test_texts_that_are_no_policy(text: str, said: str) -> None:
    with pytest.raises(UnreadableError, match=said):
        of_yaml(text)


def test_a_text_that_unfolds_without_end_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(UnreadableError, match="unfolds to more than a policy has"):
        of_yaml("\n".join(lines))


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
NAMED = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    st.dictionaries(
        NAMED,
        st.recursive(PLAIN, lambda own: st.lists(own, max_size=4) | st.dictionaries(NAMED, own, max_size=4)),
        max_size=5,
    )
)
@example({"no": ["no", "1e5", "tRUE", "01234", "~", "2026-01-31", "", "a: b", "# c", "x\u2028y\u0085", "\U0001f986"]})
def test_what_is_written_is_read_back(value: dict[str, Any]) -> None:
    text = as_yaml(value)
    assert "\n" in text
    assert of_yaml(text).plain == value


def test_what_is_named_twice_is_gathered_and_the_first_of_two_counts() -> None:
    found = of_yaml("key: id\ncolumns:\n  id: drop\n  id: keep\n  a: {mask: x, mask: y}\nkey: a\n")
    assert found.twice == (
        "columns.id is there twice, at line 3, column 3 and at line 4, column 3.",
        "columns.a.mask is there twice, at line 5, column 7 and at line 5, column 16.",
        "key is there twice, at line 1, column 1 and at line 6, column 1.",
    )
    assert found.plain == {"key": "id", "columns": {"id": "drop", "a": {"mask": "x"}}}


def test_what_holds_anyway_is_left_out() -> None:
    assert without({"as": "other", "from": 0}, {"as": "other", "from": 1, "width": 0}) == {"from": 1, "width": 0}
    assert without({"as": "other"}, "keep") == "keep"
