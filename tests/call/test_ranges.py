"""A range holds what its words say."""

from __future__ import annotations

import math

import pytest

from ppduck.call.ranges import Range, shown

pytestmark = pytest.mark.core


@pytest.mark.parametrize(
    ("range_", "words", "inside", "outside"),
    [
        (Range(0, 1), "from 0 to 1", [0, 0.5, 1], [-5e-324, math.nextafter(1, 2)]),
        (Range(0, 1, above=True), "above 0 and at most 1", [5e-324, 1], [0, -1, 1.5]),
        (Range(0.01, 1, below=True), "from 0.01 to below 1", [0.01, math.nextafter(1, 0)], [0.009, 1]),
        (Range(0, 1, above=True, below=True), "above 0 and below 1", [5e-324, math.nextafter(1, 0)], [0, 1]),
        (Range(2), "at least 2", [2, 10**400], [1, -(10**400)]),
        (Range(0, above=True), "above 0", [5e-324, 1e308], [0]),
        (Range(1e-9, 1 - 1e-9, also=1), "from 0.000000001 to 0.999999999, or 1", [1e-9, 0.999999999, 1], [0, 1 - 1e-10]),
    ],
)  # fmt: skip
def test_words_and_numbers(range_: Range, words: str, inside: list[float], outside: list[float]) -> None:
    assert str(range_) == words
    assert all(number in range_ for number in inside)
    assert not any(number in range_ for number in [*outside, math.inf, -math.inf, math.nan])


def test_behind_a_noun() -> None:
    said = [each.behind_a_noun for each in (Range(2), Range(0, above=True), Range(0, 1))]
    assert said == ["of at least 2", "above 0", "from 0 to 1"]


@pytest.mark.parametrize(
    ("number", "text"),
    [(2, "2"), (1000, "1,000"), (1e12, "1,000,000,000,000"), (1e-6, "0.000001"), (0.999, "0.999"), (100.0, "100")],
)
def test_numbers_are_shown_in_full(number: float, text: str) -> None:
    assert shown(number) == text
