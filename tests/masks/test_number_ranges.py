"""Ranges of numbers: they follow each other, hold what they say, and begin where the type has it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.masks import _number_ranges
from ppduck.masks._number_ranges import (
    MOST_RANGES,
    Numbers,
    Ranges,
    RangesError,
    by_breaks,
    by_width,
    number,
    numbers_of,
    text,
)

pytestmark = pytest.mark.core


def numbers(type_: str) -> Numbers:
    found = numbers_of(type_)
    assert found is not None
    return found


def widths(width: str, least: str, greatest: str, type_: str = "INTEGER", **ends: str) -> Ranges:
    own = {name: number(value) for name, value in ends.items()}
    return by_width(
        numbers(type_),
        number(width),
        own.get("origin", Fraction(0)),
        own.get("bottom"),
        own.get("top"),
        least=number(least),
        greatest=number(greatest),
    )


@pytest.mark.parametrize(
    ("type_", "low", "high", "decimals"),
    [
        ("TINYINT", -128, 127, 0),
        ("UTINYINT", 0, 255, 0),
        ("BIGINT", -(2**63), 2**63 - 1, 0),
        ("UHUGEINT", 0, 2**128 - 1, 0),
        ("DECIMAL(5,2)", Fraction("-999.99"), Fraction("999.99"), 2),
        ("DECIMAL(4,0)", -9999, 9999, 0),
    ],
)
def test_what_types_hold(type_: str, low: Fraction, high: Fraction, decimals: int) -> None:
    found = numbers(type_)
    assert (found.low, found.high, found.decimals) == (low, high, decimals)
    assert found.holds(found.low)
    assert found.holds(found.high)
    assert not found.holds(found.high + 1)
    assert not found.holds(found.low - 1)
    assert not found.holds(Fraction(1, 10 ** (decimals + 1)))
    assert found.nearest(found.low) == found.low


def test_floating_point_holds_what_is_near() -> None:
    double, real = numbers("DOUBLE"), numbers("FLOAT")
    assert double.holds(Fraction(1, 3))
    assert not double.holds(Fraction(10) ** 309)
    assert not real.holds(Fraction(10) ** 39)
    assert double.nearest(Fraction(3, 10)) == Fraction(3, 10)
    assert real.nearest(Fraction(16_777_217)) == 16_777_216
    assert double.nearest(Fraction(2**53 + 1)) == 2**53


@pytest.mark.parametrize("type_", ["VARCHAR", "DATE", "UUID", "BOOLEAN", "INTEGER[]", "ENUM('a')", ""])
def test_other_types_hold_no_numbers(type_: str) -> None:
    assert numbers_of(type_) is None


@pytest.mark.parametrize(
    ("written", "exact"),
    [(0.1, "1/10"), ("2.50", "5/2"), (Decimal("1E+3"), "1000"), (7, "7"), (1e300, str(10**300))],
)
def test_numbers_are_as_they_are_written(written: str | float | Decimal, exact: str) -> None:
    assert number(written) == Fraction(exact)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_as_it_is_told(value: Decimal) -> None:
    assert number(text(Fraction(value))) == Fraction(value)


@pytest.mark.parametrize(
    ("value", "told"),
    [(Fraction(100), "100"), (Fraction("-0.50"), "-0.5"), (Fraction(0), "0"), (Fraction(10) ** 300, "1E+300")],
)
def test_numbers_are_told_plainly(value: Fraction, told: str) -> None:
    assert text(value) == told


@pytest.mark.parametrize(
    ("ranges", "labels"),
    [
        (widths("5", "3", "17"), ["0-4", "5-9", "10-14", "15-19"]),
        (widths("5", "3", "17", top="15"), ["0-4", "5-9", "10-14", "15+"]),
        (widths("5", "3", "17", bottom="6", top="17"), ["<6", "6-9", "10-14", "15-16", "17+"]),
        (widths("5", "3", "17", origin="3"), ["3-7", "8-12", "13-17"]),
        (widths("1", "-1", "1"), ["-1", "0", "1"]),
        (widths("5", "-7", "-1"), ["-10 to -6", "-5 to -1"]),
        (widths("5", "20", "30", top="10"), ["10+"]),
        (widths("5", "1", "2", bottom="10"), ["<10", "10-14"]),
        (widths("2.5", "0", "4", "DOUBLE", top="5"), ["[0, 2.5)", "[2.5, 5)", "5+"]),
        (widths("0.1", "0.3", "0.3", "DOUBLE"), ["[0.3, 0.4)"]),
        (widths("100", "-0.5", "0.5", "DECIMAL(9,1)"), ["[-100, 0)", "[0, 100)"]),
        (by_breaks(numbers("INTEGER"), [Fraction(18), Fraction(30)]), ["<18", "18-29", "30+"]),
        (by_breaks(numbers("DOUBLE"), [Fraction("0.5")]), ["<0.5", "0.5+"]),
    ],
)
def test_labels(ranges: Ranges, labels: list[str]) -> None:
    assert ranges.labels == labels


finite = st.decimals(min_value=-1000, max_value=1000, places=2)


@given(
    width=st.decimals(min_value="0.5", max_value=500, places=2).filter(bool),
    origin=finite,
    ends=st.tuples(finite, finite).map(sorted),
    bounds=st.tuples(st.none() | finite, st.none() | finite).filter(lambda each: None in each or each[0] < each[1]),
    type_=st.sampled_from(["DOUBLE", "FLOAT", "DECIMAL(9,2)"]),
)
def test_the_law(
    width: Decimal,
    origin: Decimal,
    ends: list[Decimal],
    bounds: tuple[Decimal | None, Decimal | None],
    type_: str,
) -> None:
    """Ranges follow each other without gaps, have no more than their width, and hold what was asked of the data."""
    least, greatest = map(Fraction, ends)
    bottom, top = (None if each is None else Fraction(each) for each in bounds)
    try:
        found = by_width(numbers(type_), Fraction(width), Fraction(origin), bottom, top, least=least, greatest=greatest)
    except RangesError:
        every = [*ends, *(each for each in bounds if each is not None)]
        assert (max(every) - min(every)) / width > MOST_RANGES - 2
        return
    spans = found.spans
    assert len(spans) <= MOST_RANGES + 2
    assert len(set(found.labels)) == len(spans)
    for (_, end), (start, _) in pairwise(spans):
        assert end == start
    for low, high in spans:
        if low is not None and high is not None:
            assert 0 < high - low <= width
    assert (spans[0][0] is None) == (bottom is not None)
    assert (spans[-1][1] is None) == (top is not None)
    for value in (least, greatest):
        holding = [
            (low, high) for low, high in spans if (low is None or value >= low) and (high is None or value < high)
        ]
        assert len(holding) == 1
    for edge in found.edges:
        assert edge in (bottom, top) or ((edge - Fraction(origin)) / Fraction(width)).denominator == 1


def test_an_edge_that_comes_to_lie_on_the_greatest_value_is_not_the_last() -> None:
    width = "0.1000000000000000055"  # to a machine 0.1
    found = widths(width, "0.05", "0.1", "DOUBLE")
    assert numbers("DOUBLE").nearest(found.edges[1]) == Fraction(1, 10)
    assert [text(edge) for edge in found.edges] == ["0", width, "0.200000000000000011"]
    assert len(widths(width, "0.05", "0.09", "DOUBLE").edges) == 2


@pytest.mark.parametrize(
    ("width", "least", "greatest", "type_", "message"),
    [
        ("1", "0", "1000", "INTEGER", "^makes more than 1,000 ranges$"),
        ("1", "1e300", "1e300", "DOUBLE", "^makes ranges finer than DOUBLE can tell apart$"),
        ("0.001", "16777216", "16777216.01", "FLOAT", "^makes ranges finer than FLOAT can tell apart$"),
    ],
)
def test_ranges_that_cannot_be_made(width: str, least: str, greatest: str, type_: str, message: str) -> None:
    with pytest.raises(RangesError, match=message):
        widths(width, least, greatest, type_)


def test_a_thousand_ranges_can_be_made() -> None:
    assert len(widths("1", "0", "999").labels) == _number_ranges.MOST_RANGES
