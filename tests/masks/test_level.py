"""How much noise a mask may be told to add."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.call.parameters import MisreadError
from ppduck.masks._level import LEAST, LevelCall, check_level, level_up_to

pytestmark = pytest.mark.core


@pytest.mark.parametrize("value", [LEAST, 0.5, 1, {"x": 0.1, "y": 1.0}])
def test_a_level_is_a_number_or_one_a_column(value: Any) -> None:
    assert level_up_to(1.0)(value) == value


@pytest.mark.parametrize("value", [0, LEAST / 2, 1.5, -1, "much", {"x": 0.0}])
def test_no_noise_or_too_much_is_refused(value: Any) -> None:
    with pytest.raises(MisreadError, match=r"^(must be|takes a number) from 0\.000001 to 1\b"):
        level_up_to(1.0)(value)


def test_every_masked_column_needs_its_level_and_no_other() -> None:
    def call(level: Any) -> LevelCall:
        return LevelCall(tbl="t", conf=["x", "y"], level=level)

    assert check_level(call(0.1), ["x", "y"]) == []
    assert check_level(call({"x": 0.1, "y": 0.2}), ["x", "y"]) == []
    [fault] = check_level(call({"x": 0.1}), ["x", "y"])
    assert '"y"' in fault
    [fault] = check_level(call({"x": 0.1, "y": 1, "z": 1}), ["x", "y"])
    assert '"z"' in fault
