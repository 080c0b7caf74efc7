"""What a call of date_mask says: what becomes of each column, how far a shift goes, and which days stay."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import ColumnNames, MisreadError, NotTakenError
from ppduck.call.ranges import shown
from ppduck.errors import near_miss, quoted
from ppduck.frozen import frozen

SHIFT, AGE = "shift", "age"
PERIODS = ("year", "quarter", "month")
DAY, SECOND = "day", "second"
# Ages of 90 and more are one band by default, as HIPAA's safe harbor has it: 45 CFR 164.514(b)(2)(i)(C).
DEFAULT_TOP = 90
MOST_DAYS = 36_525  # a hundred years: a longer shift would make other dates of dates
_YEARS = arguments.whole(1, 120)
_FIELDS = (AGE, "top", "at")
_WEEK = 7
_SPAN = re.compile(r"\s*(\d{1,9})\s*(day|week)s?\s*", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@frozen
class Treatment:
    """What becomes of a column: its dates are shifted, or become the first day of a period, or a band of ages."""

    kind: str  # SHIFT, one of PERIODS, or AGE
    width: int = 0  # of a band of ages, in years
    top: int = 0  # the age from which on there is one band
    at: date = date.min  # the day at which ages are

    @property
    def labels(self) -> list[str]:
        """The bands of ages in their order: '0-4', '5-9', …, '90+'; the last before the top may be shorter."""
        lows = range(0, self.top, self.width)
        ends = [min(low + self.width, self.top) - 1 for low in lows]
        bands = [
            f"{low}-{end}" if low < end else str(low) for low, end in zip(lows, ends, strict=True)
        ]
        return [*bands, f"{self.top}+"]


def day_of(value: Any) -> date:
    """A day as text, or as DuckDB's DATE."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise MisreadError
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise MisreadError(f"names {value!r}, which is no day") from None


@arguments.reader(
    "{'column': how}, where how is 'shift', 'year', 'quarter', 'month' or "
    f"{{'age': 5, 'top': {DEFAULT_TOP}, 'at': '2026-01-01'}}",
    columns=ColumnNames.KEYED,
)
def treatments(value: Any) -> dict[str, Treatment]:
    if not isinstance(value, Mapping):
        raise MisreadError
    found: dict[str, Treatment] = {}
    faults: list[str] = []
    for name, told in value.items():
        try:
            found[str(name)] = _treatment(told)
        except MisreadError as misread:
            faults.append(f"of column {quoted(str(name))} {misread}")
    if faults:
        raise MisreadError("; ".join(faults))
    return found


def _treatment(told: Any) -> Treatment:
    words = (SHIFT, *PERIODS)
    if isinstance(told, Mapping):
        return _ages({str(name): part for name, part in told.items() if part is not None})
    if told == AGE:
        raise MisreadError(f"'age' needs its width and its day: {_example()}")
    if not isinstance(told, str) or told not in words:
        options = ", ".join(f"'{word}'" for word in words)
        hint = near_miss(told, words) if isinstance(told, str) else ""
        raise MisreadError(f"must be {options} or {_example()}, and is {told!r}.{hint}")
    return Treatment(told)


def _ages(told: Mapping[str, Any]) -> Treatment:
    strange = [name for name in told if name not in _FIELDS]
    if strange:
        raise MisreadError(
            f"has {strange[0]!r}, which is none of 'age', 'top' and 'at'.{near_miss(strange[0], _FIELDS)}"
        )
    missing = [repr(name) for name in (AGE, "at") if name not in told]
    if missing:
        raise MisreadError(
            f"lacks {' and '.join(missing)}: ages are of bands of so many years, at a day that does not move on, "
            f"such as {_example()}"
        )
    years = {name: _whole_years(name, told[name]) for name in (AGE, "top") if name in told}
    try:
        at = day_of(told["at"])
    except MisreadError as misread:
        said = str(misread) or "must be a day such as '2026-01-01'"
        raise MisreadError(f"'at' {said}") from None
    return Treatment(AGE, years[AGE], years.get("top", DEFAULT_TOP), at)


def _whole_years(name: str, value: Any) -> int:
    try:
        return int(_YEARS(value))
    except MisreadError as misread:
        raise MisreadError(f"{name!r} {misread}") from None


def _example() -> str:
    return f"{{'age': 5, 'top': {DEFAULT_TOP}, 'at': '2026-01-01'}}"


_DAYS = arguments.whole(1, MOST_DAYS)


@arguments.reader(
    f"{_DAYS.takes}, in days, or a text such as '30 days' or '2 weeks'",
    _DAYS.within,
)
def days(value: Any) -> int:
    if isinstance(value, str):
        told = _SPAN.fullmatch(value)
        if told is None:
            raise MisreadError
        value = int(told[1]) * (_WEEK if told[2].lower() == "week" else 1)
    try:
        return int(_DAYS(value))
    except NotTakenError:
        raise MisreadError from None
    except MisreadError:
        raise MisreadError(f"must be {_DAYS.within} days") from None


@arguments.reader("a day, or a list of days, such as ['2020-01-01']")
def days_listed(value: Any) -> list[date]:
    return [day_of(each) for each in (value if isinstance(value, list) else [value])]


def told_range(within: int) -> str:
    """For messages and help."""
    return f"-{shown(within)}..{shown(within)}"
