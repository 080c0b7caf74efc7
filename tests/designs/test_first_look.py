"""What the first look of a randomizing mask refuses, from what it is told."""

from __future__ import annotations

import pytest

from ppduck.designs.first_look import Look, LookSpec, check
from ppduck.errors import PpduckError

pytestmark = pytest.mark.core
SPEC = LookSpec("rr_mask", "t", ("id",), (3, 4))


def test_a_look_that_finds_what_was_planned() -> None:
    assert check(SPEC, Look(7, 0, 7, 7, [3, 4])) == 0


@pytest.mark.parametrize(
    ("look", "fault"),
    [
        (Look(7, 2, 7, 7, [3, 4]), r'^rr_mask on "t": key "id" is NULL in 2 of 7 rows'),
        (Look(7, 0, 7, 5, [3, 4]), 'key "id" has only 5 values for 7 rows looked at'),
        (Look(7, 0, 7, 7, [4, 3]), "the shares of the levels are not those that the matrix was made invariant for"),
    ],
)
def test_a_look_that_finds_something_else(look: Look, fault: str) -> None:
    with pytest.raises(PpduckError, match=fault):
        check(SPEC, look)


def test_faults_arrive_together() -> None:
    with pytest.raises(PpduckError, match=r"share their draws.*\n  also: the shares of the levels"):
        check(SPEC, Look(7, 0, 7, 5, [4, 3]))
