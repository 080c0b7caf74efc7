"""What is refused of counts: merged levels and quantiles that would tell of a few people."""

from __future__ import annotations

import pytest

from ppduck.errors import PpduckError
from ppduck.masks._recode_check import AskedQuantile, MergedLevels, RecodeSpec, Told, check

pytestmark = pytest.mark.core
SPEC = RecodeSpec(
    "recode_mask",
    "t",
    (MergedLevels("city", 5, "other"), MergedLevels("zip", 3, "rest")),
    (AskedQuantile("income", "top", "p99"),),
    ("income",),
)
FINE = Told([5, 0], [False, False], [False], [False])


def test_what_hides_enough_passes() -> None:
    assert check(SPEC, FINE) == 0


def test_a_specification_comes_back_as_it_was() -> None:
    assert RecodeSpec.read(SPEC.text()) == SPEC


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (Told([4, 0], [False] * 2, [False], [False]), 'column "city" has fewer than 5 values in all'),
        (Told([5, 2], [False] * 2, [False], [False]), 'column "zip" has fewer than 3 values in all'),
        (Told([9, 9], [True, False], [False], [False]), "\"city\": rare levels become 'other', which is a level of it"),
        (Told([9, 9], [False] * 2, [True], [False]), "\"income\": top is 'p99', and fewer than 3 values are there"),
        (Told([9, 9], [False] * 2, [False], [True]), 'column "income": bottom lies above top in these rows'),
    ],
)
def test_what_tells_too_much_is_refused(told: Told, message: str) -> None:
    with pytest.raises(PpduckError, match=f'^recode_mask on "t": .*{message}'):
        check(SPEC, told)


def test_everything_is_told_at_once() -> None:
    with pytest.raises(PpduckError, match=r"(?s)city.*also: .*city.*also: .*income.*also: .*income"):
        check(SPEC, Told([4, 9], [True, False], [True], [True]))
