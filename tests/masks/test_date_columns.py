"""Dates in SQL beside Python's: days, periods and sentinels of every type."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppduck.catalogue.source import Column
from ppduck.masks import _date_columns as dates
from ppduck.query import tree as sql

pytestmark = pytest.mark.core

EPOCH = datetime(1970, 1, 1)


def value_of(con: duckdb.DuckDBPyConnection, written: sql.Expr, moment: datetime, type_: str) -> object:
    text = moment.isoformat(sep=" ") + ("+00" if type_ == dates.ZONED else "")
    own = f"CAST('{text}' AS {type_})" if type_ != "DATE" else f"DATE '{moment.date()}'"
    found = con.execute(f"SELECT {sql.render(written)} FROM (SELECT {own} AS x)").fetchone()
    assert found is not None
    return found[0]


MOMENTS = st.datetimes(datetime(1678, 1, 1), datetime(2261, 12, 31)).map(
    lambda each: each.replace(microsecond=each.microsecond // 1000 * 1000)
)


@given(moment=MOMENTS, zone=st.sampled_from(["UTC", "America/St_Johns", "Pacific/Kiritimati"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("type_", dates.TYPES)
def test_days_and_periods(con: duckdb.DuckDBPyConnection, type_: str, moment: datetime, zone: str) -> None:
    con.execute(f"SET TimeZone = '{zone}'")
    if type_ == "TIMESTAMP_S":
        moment = moment.replace(microsecond=0)
    column, day = Column("x", type_), moment.date()
    assert value_of(con, dates.day(column), moment, type_) == (day - EPOCH.date()).days
    assert value_of(con, dates.as_date(column), moment, type_) == day
    first = {
        "year": date(day.year, 1, 1),
        "quarter": date(day.year, (day.month - 1) // 3 * 3 + 1, 1),
        "month": day.replace(day=1),
    }
    for period, expected in first.items():
        assert value_of(con, dates.period(column, period), moment, type_) == expected


@given(moment=MOMENTS, by=st.integers(-5000, 5000), unit=st.sampled_from(["day", "second"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("type_", ["TIMESTAMP", "TIMESTAMP_MS", "TIMESTAMP_NS"])
def test_shifted(con: duckdb.DuckDBPyConnection, type_: str, moment: datetime, by: int, unit: str) -> None:
    expected = moment + (timedelta(days=by) if unit == "day" else timedelta(seconds=by))
    if not datetime(1678, 1, 1) < expected < datetime(2262, 1, 1):
        return
    found = value_of(con, dates.shifted(Column("x", type_), sql.number(by), unit), moment, type_)
    assert found == expected


def test_sentinels_stay_with_what_is_listed(con: duckdb.DuckDBPyConnection) -> None:
    listed = [date(2020, 2, 29)]
    cases = {
        "1900-01-01": (True, True),
        "1900-01-02": (False, True),
        "2020-02-29": (True, True),
        "2020-03-01": (False, False),
    }
    for text, expected in cases.items():
        moment = datetime.fromisoformat(text) + timedelta(hours=12)
        for type_, stays in zip(("TIMESTAMP", dates.ZONED), expected, strict=True):
            assert value_of(con, dates.stays(Column("x", type_), listed), moment, type_) is stays


@pytest.mark.parametrize("type_", dates.TYPES)
def test_infinity_is_an_infinite_date(con: duckdb.DuckDBPyConnection, type_: str) -> None:
    written = sql.render(sql.cast(dates.endless(Column("x", type_)), "VARCHAR"))
    for text in ("infinity", "-infinity"):
        found = con.execute(f"SELECT {written} FROM (SELECT CAST('{text}' AS {type_}) AS x)").fetchone()
        assert found == (text,)
