"""What a call of date_mask may say, and what is wrong with the rest."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.call.parameters import MisreadError
from ppduck.masks._date_words import (
    AGE,
    DEFAULT_TOP,
    MOST_DAYS,
    Treatment,
    day_of,
    days,
    days_listed,
    told_range,
    treatments,
)

pytestmark = pytest.mark.core


@given(width=st.integers(1, 120), top=st.integers(1, 120))
def test_every_age_has_one_band(width: int, top: int) -> None:
    labels = Treatment(AGE, width, top).labels
    assert labels[-1] == f"{top}+"
    covered: list[int] = []
    for label in labels[:-1]:
        low, _, high = label.partition("-")
        assert low != high, "one age is one number"
        covered += range(int(low), int(high or low) + 1)
    assert covered == list(range(top))
    assert all(label.partition("-")[0] == str(i * width) for i, label in enumerate(labels[:-1]))


def test_bands() -> None:
    assert Treatment(AGE, 30, DEFAULT_TOP).labels == ["0-29", "30-59", "60-89", "90+"]
    assert Treatment(AGE, 40, 85).labels == ["0-39", "40-79", "80-84", "85+"]
    assert Treatment(AGE, 1, 2).labels == ["0", "1", "2+"]
    assert Treatment(AGE, 50, 20).labels == ["0-19", "20+"]


def test_treatments() -> None:
    read = treatments({"a": "shift", "b": "year", "c": {"age": 5, "at": "2026-01-01"}})
    assert read == {"a": Treatment("shift"), "b": Treatment("year"), "c": Treatment(AGE, 5, 90, date(2026, 1, 1))}
    told = treatments({"c": {"at": date(2020, 2, 29), "age": 1, "top": None}})
    assert told["c"] == Treatment(AGE, 1, DEFAULT_TOP, date(2020, 2, 29)), "NULL is as good as not given"


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"a": "Shft"}, r'^of column "a" must be .*Did you mean "shift"'),
        ({"a": 3}, r"and is 3\.$"),
        ({"a": {"age": Decimal("5.5"), "at": "2026-01-01"}}, r"'age' takes a whole number from 1 to 120"),
        ({"a": {"age": True, "at": "2026-01-01"}}, r"'age' takes a whole number"),
        ({"a": {"age": 5, "at": 2026}}, r"'at' must be a day such as"),
        ({"a": {}}, r"lacks 'age' and 'at'"),
        ({"a": "yaer", "b": "motnh"}, r'of column "a" .*; of column "b" .*Did you mean "month"'),
    ],
)
def test_what_is_no_treatment(told: Any, message: str) -> None:
    with pytest.raises(MisreadError, match=message):
        treatments(told)


@pytest.mark.parametrize("told", ["shift", ["shift"], 3, None])
def test_only_a_mapping_has_columns(told: Any) -> None:
    with pytest.raises(MisreadError, match=r"^takes \{'column': how\}"):
        treatments(told)


@pytest.mark.parametrize(
    ("told", "expected"),
    [(1, 1), (MOST_DAYS, MOST_DAYS), ("30 days", 30), ("1 day", 1), ("2 weeks", 14), (" 3WEEK ", 21), ("1 Week", 7)],
)
def test_spans(told: Any, expected: int) -> None:
    assert days(told) == expected


@pytest.mark.parametrize("told", ["", "days", "-3 days", "1.5 days", "3 months", "3 days 2 hours", True, 2.0, [3]])
def test_what_is_no_span(told: Any) -> None:
    with pytest.raises(
        MisreadError, match=r"^takes a whole number from 1 to 36,525, in days, or a text such as '30 days'"
    ):
        days(told)


@pytest.mark.parametrize("told", [0, -1, MOST_DAYS + 1, "0 days", "6000 weeks"])
def test_spans_out_of_range(told: Any) -> None:
    with pytest.raises(MisreadError, match=r"^must be from 1 to 36,525 days"):
        days(told)


def test_days_that_stay() -> None:
    assert days_listed("2020-01-01") == [date(2020, 1, 1)]
    assert days_listed(["2020-01-01", date(1999, 9, 9)]) == [date(2020, 1, 1), date(1999, 9, 9)]
    assert days_listed([]) == []


@pytest.mark.parametrize("told", [datetime(2020, 1, 1), "20200101", "2020-1-1", "2020-W01-1", "today", 2020, None])
def test_what_is_no_day(told: Any) -> None:
    with pytest.raises(MisreadError, match=r"^$"):
        day_of(told)
    with pytest.raises(MisreadError, match=r"^takes a day, or a list of days"):
        days_listed([told])


def test_a_day_that_no_month_has_is_named() -> None:
    with pytest.raises(MisreadError, match=r"^names '2021-02-29', which is no day$"):
        days_listed(["2021-02-29"])


def test_a_range_as_users_read_it() -> None:
    assert told_range(30) == "-30..30"
    assert told_range(36_525) == "-36,525..36,525"
