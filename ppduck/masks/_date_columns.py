"""Dates in SQL, whatever their type: their day, another day for them, their period, and the age that they tell.

Nothing goes by the session's TimeZone: a time with zone is an instant, and its day is that of UTC. And nothing goes by
casts between types of time: from nanoseconds DuckDB rounds, and 23:59:59.999999999 would be the next day.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from sqlglot import exp

from ppduck.catalogue.source import Column
from ppduck.masks._date_words import PERIODS, SECOND, Treatment
from ppduck.query import tree as sql
from ppduck.query.arithmetic import remainder, whole_quotient

DATE, ZONED, NANOSECONDS = "DATE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS"
TYPES = (DATE, "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", NANOSECONDS, ZONED)
# The first and the last whole day that a type can hold, as numbers from 1970-01-01.
_MICROSECOND_DAYS = (-106_751_991, 106_751_990)
_ENDS = {DATE: (-2_147_483_646, 2_147_483_646), NANOSECONDS: (-106_751, 106_750)}
_FIRST_WHOLE_YEAR = -5_877_640  # of DATE; the year before begins in June
_EPOCH = date(1970, 1, 1)
_SECONDS = 86_400  # of a day
# What programs write where there is no date: nobody is to learn a shift from what became of these.
SENTINELS = (date(1, 1, 1), date(1900, 1, 1), date(9999, 12, 31))


def ends(column: Column) -> tuple[int, int]:
    return _ENDS.get(column.type, _MICROSECOND_DAYS)


def finite(column: Column) -> sql.Expr:
    return sql.call("isfinite", sql.column(column.name))


def day(column: Column) -> sql.Expr:
    """The number of a finite value's day, from 1970-01-01."""
    if column.type == DATE:
        return sql.minus(sql.column(column.name), _date(_EPOCH))
    ticks, of_day = _ticks(column), sql.number(_SECONDS * _a_second(column))
    # The quotient of whole numbers goes towards zero; the time of the day is never negative.
    behind = remainder(ticks, of_day)
    time = remainder(sql.total([behind, of_day]), of_day)
    return whole_quotient(sql.minus(ticks, time), of_day)


def as_date(column: Column) -> sql.Expr:
    """The day of a finite value as a DATE."""
    if column.type == DATE:
        return sql.column(column.name)
    return sql.paren(sql.total([_date(_EPOCH), sql.cast(day(column), "INTEGER")]))


def shifted(column: Column, by: sql.Expr, unit: str) -> sql.Expr:
    """A finite value, so many days or seconds later; a day has 24 hours."""
    if column.type == DATE:
        return sql.paren(sql.total([sql.column(column.name), sql.cast(by, "INTEGER")]))
    step = _a_second(column) * (1 if unit == SECOND else _SECONDS)
    ticks = sql.total([_ticks(column), sql.product(sql.cast(by, "BIGINT"), sql.number(step))])
    if column.type == NANOSECONDS:
        return sql.call("make_timestamp_ns", ticks)
    if column.type == ZONED:
        return sql.call("make_timestamptz", ticks)
    made = sql.call("make_timestamp", ticks)
    return made if column.type == "TIMESTAMP" else sql.cast_as(made, column.type)


def stays(column: Column, listed: Iterable[date]) -> sql.Expr:
    """Whether the day of a finite value is one that stays as it is."""
    # Midnight of some zone may be the day before, or the day after, in UTC.
    around = (-1, 0, 1) if column.type == ZONED else (0,)
    numbers = {(each - _EPOCH).days + more for each in SENTINELS for more in around}
    numbers |= {(each - _EPOCH).days for each in listed}
    return exp.In(this=day(column), expressions=[sql.number(each) for each in sorted(numbers)])


def period(column: Column, of: str) -> sql.Expr:
    """The first day of a finite value's year, quarter or month."""
    assert of in PERIODS
    months = {
        "year": sql.number(1),
        "quarter": sql.minus(
            sql.product(sql.number(3), sql.call("quarter", as_date(column))), sql.number(2)
        ),
        "month": sql.call("month", as_date(column)),
    }
    return sql.call("make_date", sql.call("year", as_date(column)), months[of], sql.number(1))


def before_periods(column: Column) -> sql.Expr:
    """Whether a finite value is in the year of which its type does not hold the first day."""
    if column.type != DATE:
        return exp.false()
    year = sql.call("year", as_date(column))
    return exp.LT(this=year, expression=sql.number(_FIRST_WHOLE_YEAR))


def endless(column: Column) -> sql.Expr:
    """An infinite value as an infinite DATE."""
    return sql.tried(sql.cast(sql.column(column.name), "VARCHAR"), "DATE")


def band(column: Column, of: Treatment) -> sql.Expr:
    """The band of the age at a day, of a finite value that is not later.

    Who is born on 29 February is a year older on 1 March of a year that has no such day.
    """
    born, at = as_date(column), of.at
    birthday = sql.total(
        [
            sql.product(sql.call("month", born), sql.number(100)),
            sql.call("day", born.copy()),
        ]
    )
    to_come = exp.GT(this=birthday, expression=sql.number(100 * at.month + at.day))
    age = sql.minus(
        sql.minus(sql.number(at.year), sql.call("year", born.copy())),
        sql.cast(sql.paren(to_come), "BIGINT"),
    )
    labels = of.labels
    place = sql.total([whole_quotient(age, sql.number(of.width)), sql.number(1)])
    place = sql.call(
        "if", exp.GTE(this=age, expression=sql.number(of.top)), sql.number(len(labels)), place
    )
    kind = "ENUM(" + ", ".join(sql.render(sql.text(label)) for label in labels) + ")"
    return sql.cast_as(sql.item(sql.texts(labels), place), kind)


def later(column: Column, than: date) -> sql.Expr:
    """Whether a finite value is on a later day."""
    return exp.GT(this=day(column), expression=sql.number((than - _EPOCH).days))


def _ticks(column: Column) -> sql.Expr:
    return sql.call(
        "epoch_ns" if column.type == NANOSECONDS else "epoch_us", sql.column(column.name)
    )


def _a_second(column: Column) -> int:
    return 10**9 if column.type == NANOSECONDS else 10**6


def _date(value: date) -> sql.Expr:
    return sql.cast(sql.text(value.isoformat()), "DATE")
