"""What is refused of keys, from what was counted of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.errors import Faults, PpduckError
from ppduck.runtime.key_check import KeysSeen, ReleaseSeen, Uniqueness, refuse_keys

pytestmark = pytest.mark.core
EVERY, MOST = Uniqueness.EVERY, Uniqueness.MOST


def judged(seen: KeysSeen, wanted: Uniqueness, key: tuple[str, ...] = ("id",), where: str = "") -> None:
    faults = Faults("a_mask", "t")
    refuse_keys(faults, key, seen, wanted, where)
    faults.raise_if_any()


@pytest.mark.parametrize("wanted", Uniqueness)
def test_rows_without_a_key_are_counted(wanted: Uniqueness) -> None:
    with pytest.raises(
        PpduckError,
        match=r'^a_mask on "t": key "a, b" is NULL in 2 of 7 rows in the group g = 1; every row needs a key',
    ):
        judged(KeysSeen(7, 2, 7, 1), wanted, ("a", "b"), " in the group g = 1")


def test_every_row_needs_its_own() -> None:
    with pytest.raises(
        PpduckError, match=r'key "id" has only 6 values for 7 rows looked at; .* Name columns that identify'
    ):
        judged(KeysSeen(9, 0, 7, 6), EVERY)
    judged(KeysSeen(9, 0, 7, 7), EVERY)


def test_most_rows_need_their_own() -> None:
    with pytest.raises(
        PpduckError, match=r'key "id" does not identify the 10 rows: most of them share it\. Name a unique'
    ):
        judged(KeysSeen(10, 0, 10, 4), MOST)
    with pytest.raises(PpduckError, match=r"most of the 10 rows are copies of each other .*; name a unique key"):
        judged(KeysSeen(10, 0, 10, 4), MOST, ())
    judged(KeysSeen(10, 0, 10, 5), MOST)
    judged(KeysSeen(3, 0, 3, 1), MOST)  # too few to say most of


@given(st.integers(1, 50), st.data())
def test_what_passes_where_every_row_needs_its_own_passes_where_most_do(rows: int, data: st.DataObject) -> None:
    seen = KeysSeen(rows, 0, rows, data.draw(st.integers(1, rows)))

    def passes(wanted: Uniqueness) -> bool:
        try:
            judged(seen, wanted)
        except PpduckError:
            return False
        return True

    assert passes(EVERY) == (seen.distinct_keys == rows)
    assert passes(MOST) >= passes(EVERY)


def test_a_release_has_the_tweak_of_what_was_asked_and_of_its_rows() -> None:
    seen, other = ReleaseSeen(7, 0, 7, 7, "12345"), ReleaseSeen(7, 0, 7, 7, "12346")
    assert seen.tweak("asked") == ReleaseSeen(8, 0, 8, 8, "12345").tweak("asked")
    assert len({seen.tweak("asked"), seen.tweak("asked else"), other.tweak("asked")}) == 3
    assert ReleaseSeen(0, 0, 0, 0, None).tweak("asked") == ReleaseSeen(0, 0, 0, 0, "0").tweak("asked")
