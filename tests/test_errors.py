"""What a refusal says: where, every fault at once, and a name that may have been meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.errors import Faults, PpduckError, UnreadError, listed, near_miss, quoted

pytestmark = pytest.mark.core


def test_faults_arrive_in_one_message() -> None:
    faults = Faults("a_mask", 't"1')
    faults.raise_if_any()
    faults.add("one.")
    with pytest.raises(PpduckError, match=r'^a_mask on "t""1": one\.\n  also: two\.$'):
        raise faults.refuse("two.")
    with pytest.raises(PpduckError, match=r"^a_mask: one\.$"):
        raise Faults("a_mask").refuse("one.")


@given(st.text(max_size=8))
def test_a_quoted_name_can_be_read_again(name: str) -> None:
    assert quoted(name)[1:-1].replace('""', '"') == name
    assert quoted(name).count('"') % 2 == 0


def test_a_long_list_is_cut() -> None:
    assert listed(["a", "b"]) == '"a", "b"'
    assert listed("abcd", at_most=2) == '"a", "b" and 2 more'


@pytest.mark.parametrize(
    ("name", "said"), [("x9", ' Did you mean "x1"?'), ("X1", ""), ("weight", ""), ("incom", ' Did you mean "Income"?')]
)
def test_what_may_have_been_meant(name: str, said: str) -> None:
    assert near_miss(name, ["x1", "Income"]) == said


def test_what_is_not_seen_is_told_from_what_is_not_there() -> None:
    assert UnreadError("hidden", unseen=True).unseen
    assert not UnreadError("gone", unseen=False).unseen
