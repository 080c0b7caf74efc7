"""What is noted over the groups of a call is said once, with the worst of them."""

from __future__ import annotations

import warnings

import pytest

from ppduck import notes
from ppduck.errors import PpduckWarning
from ppduck.notes import Note, Speaker

pytestmark = pytest.mark.core
NEAR = "{columns} stay near{groups}; take more noise."


def said(speaker: Speaker, *noted: Note) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with speaker.gathering():
            for note in noted:
                notes.add(note)
    return [str(each.message) for each in caught]


def test_groups_are_told_by_the_worst() -> None:
    found = [
        Note("f", NEAR, "x", f"{size:g} off", size, f"g = {group}") for group, size in ((1, 0.1), (2, 0.3), (3, 0.2))
    ]
    assert said(Speaker(), *found) == ['f: "x" (0.3 off) stay near in several groups, such as g = 2; take more noise.']
    assert said(Speaker(), found[0]) == ['f: "x" (0.1 off) stay near in the group g = 1; take more noise.']
    assert said(Speaker(), Note("f", NEAR, "x")) == ['f: "x" stay near; take more noise.']


def test_columns_share_a_sentence_and_sentences_a_warning() -> None:
    [one] = said(Speaker(), Note("f", NEAR, "x", "1"), Note("f", NEAR, "y", "2"), Note("f", "few rows."))
    assert one == 'f: "x" (1), "y" (2) stay near; take more noise.\n  also: few rows.'


def test_of_one_query_the_same_is_said_once() -> None:
    speaker = Speaker()
    assert said(speaker, Note("f", NEAR, "x", query=1))
    assert not said(speaker, Note("f", NEAR, "x", query=1))
    assert said(speaker, Note("f", NEAR, "y", query=1))
    assert said(speaker, Note("f", NEAR, "x", query=2))


def test_what_nobody_gathers_is_said_at_once() -> None:
    with pytest.warns(PpduckWarning, match="^f: few rows.$"):
        notes.add(Note("f", "few rows."))


def test_what_was_noted_before_an_error_is_not_said() -> None:
    def fails() -> None:
        with Speaker().gathering():
            notes.add(Note("f", "few rows."))
            raise KeyError("gone")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError, match="gone"):
            fails()
