"""Dates: a person's dates are shifted by one span that the secret draws, or become periods and bands of ages."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import ppduck
from ppduck.call.guarantees import Promise
from ppduck.call.registry import function_named
from ppduck.catalogue.source import Column
from ppduck.dbt.rules import read_rule
from ppduck.masks import _date_columns as dates
from ppduck.masks.date import NAME, DateCall
from tests.conftest import SECRET

pytestmark = pytest.mark.core

QUIET = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
EPOCH = date(1970, 1, 1)
SECONDS = 86_400
BOTH = "columns={'born': 'shift', 'seen': 'shift'}, per='person'"
TYPES = {
    "day": "DATE",
    "plain": "TIMESTAMP",
    "in_s": "TIMESTAMP_S",
    "in_ms": "TIMESTAMP_MS",
    "in_ns": "TIMESTAMP_NS",
    "zoned": "TIMESTAMP WITH TIME ZONE",
}

Connection = duckdb.DuckDBPyConnection


def visits(con: Connection, n: int = 600, name: str = "visits") -> None:
    """Of n visits of n / 3 persons the birth date and the moment; no day is known for many of them."""
    con.execute(
        f"""
        CREATE OR REPLACE TABLE {name} AS
        SELECT i AS id, i // 3 AS person, DATE '1940-01-01' + (i // 3 * 7919 % 20000)::INTEGER AS born,
               TIMESTAMP '2020-01-01 08:00:00' + to_seconds(i * 104729 % 90000000) AS seen, 'kept' || i AS note
        FROM range({n}) r(i)
        """
    )


def spans(con: Connection, call: str, column: str = "born", table: str = "visits", id_: str = "id") -> dict[Any, float]:
    """By how many days each row's date is shifted."""
    found = con.execute(
        f"SELECT a.{id_}, (epoch_us(b.{column}) - epoch_us(a.{column})) / 864e8 FROM {table} a JOIN {call} b USING ({id_})"
    )
    return dict(found.fetchall())


# --- shifts ---------------------------------------------------------------------------------------------------------


@given(
    rows=st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-200_000, 200_000), st.integers(0, SECONDS - 1)),
        min_size=1,
        max_size=30,
        unique_by=lambda row: row[1],
    ),
    within=st.integers(1, 400),
    unit=st.sampled_from(["day", "second"]),
)
@QUIET
def test_the_law(con: Connection, rows: list[tuple[int, int, int]], within: int, unit: str) -> None:
    """All dates of a person move by the same span, by at most within, and never by nothing."""
    con.execute("CREATE OR REPLACE TABLE t (id INTEGER, person INTEGER, one TIMESTAMP, other TIMESTAMP)")
    for i, (person, day, second) in enumerate(rows):
        seconds = [(day + more) * SECONDS + second for more in (0, 400_001)]
        con.execute(
            f"INSERT INTO t SELECT {i}, {person}, make_timestamp({seconds[0]}000000), make_timestamp({seconds[1]}000000)"
        )
    call = f"date_mask('t', columns={{'one': 'shift', 'other': 'shift'}}, per='person', within={within}, unit='{unit}')"
    by = [
        con.execute(
            f"SELECT epoch_us(b.{column}) - epoch_us(a.{column}) FROM t a JOIN {call} b USING (id) ORDER BY id"
        ).fetchall()
        for column in ("one", "other")
    ]
    assert by[0] == by[1], "the same in all columns"
    step = 10**6 * (SECONDS if unit == "day" else 1)
    of_person: dict[int, set[int]] = {}
    for (person, _, _), (span,) in zip(rows, by[0], strict=True):
        assert span % step == 0
        assert 0 < abs(span) <= within * SECONDS * 10**6
        of_person.setdefault(person, set()).add(span)
    assert all(len(spans) == 1 for spans in of_person.values()), "the same in all rows"


def test_intervals_of_a_person_are_kept_and_others_are_not(con: Connection) -> None:
    visits(con)
    kept = "SELECT id, seen - born AS age, seen - lag(seen) OVER (PARTITION BY person ORDER BY id) FROM {} ORDER BY id"
    call = f"date_mask('visits', {BOTH}, within=30)"
    assert con.execute(kept.format(call)).fetchall() == con.execute(kept.format("visits")).fetchall()
    between = "SELECT seen - lag(seen) OVER (ORDER BY id) FROM {} WHERE id % 3 = 0 ORDER BY id"
    before, after = (con.execute(between.format(of)).fetchall() for of in ("visits", call))
    assert sum(a == b for a, b in zip(before, after, strict=True)) < 20


def test_only_named_columns_change_and_rows_keep_their_order(con: Connection) -> None:
    visits(con)
    call = f"date_mask('visits', {BOTH}, within=30)"
    assert con.sql(f"FROM {call}").columns == con.sql("FROM visits").columns
    assert con.sql(f"FROM {call}").types == con.sql("FROM visits").types
    rest = "SELECT id, person, note FROM {}"
    assert con.execute(rest.format(call)).fetchall() == con.execute(rest.format("visits")).fetchall()
    one = con.execute(
        "SELECT seen FROM date_mask('visits', columns={'born': 'shift'}, per='person', within=9)"
    ).fetchall()
    assert one == con.execute("SELECT seen FROM visits").fetchall()
    dropped = con.sql(f"FROM date_mask('visits', {BOTH}, within=30, drop=['note', 'person'])")
    assert dropped.columns == ["id", "born", "seen"]


@pytest.mark.parametrize("unit", ["day", "second"])
def test_a_shift_is_uniform(con: Connection, unit: str) -> None:
    n, within = 60_000, 15
    con.execute(
        f"CREATE TABLE t AS SELECT i AS id, TIMESTAMP '1900-03-01' + to_seconds(i * 86400 % 6000000000) AS x FROM range({n}) r(i)"
    )
    call = f"date_mask('t', columns={{'x': 'shift'}}, per='id', within={within}, unit='{unit}', seed=1)"
    found = np.array(list(spans(con, call, "x", "t").values()))
    assert len(found) == n
    if unit == "day":
        counts = np.array([(found == day).sum() for day in (*range(-within, 0), *range(1, within + 1))])
    else:
        counts, _ = np.histogram(found, bins=100, range=(-within, within))
        assert len(np.unique(found)) > 0.98 * n
    assert counts.sum() == n
    assert 0.001 < chisquare(counts).pvalue < 0.999
    pairs = np.corrcoef(found[:-1], found[1:])[0, 1]
    assert abs(pairs) < 4 / np.sqrt(n), "neighbouring keys have nothing to do with each other"


@pytest.mark.parametrize("key", ["TINYINT", "BIGINT", "UBIGINT", "HUGEINT", "DECIMAL(9,2)", "DOUBLE", "VARCHAR"])
def test_a_key_has_one_shift_in_every_type_table_and_column(con: Connection, key: str) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, DATE '1980-01-01' + (i * 37)::INTEGER AS x FROM range(100) r(i)")
    con.execute(
        f"CREATE TABLE u AS SELECT i AS id, i::{key} AS \"The Person\", TIMESTAMP '2001-01-01 12:34:56.789' + to_days((i * 41)::INTEGER) AS y "
        "FROM range(100) r(i) ORDER BY hash(i)"
    )
    first = spans(con, "date_mask('t', columns={'x': 'shift'}, per='id', within=200)", "x", "t")
    second = spans(con, "date_mask('u', columns={'y': 'shift'}, per='the person', within='200 days')", "y", "u")
    assert first == second
    assert len(set(first.values())) > 50


def test_several_columns_name_a_person_in_any_order(con: Connection) -> None:
    visits(con)
    con.execute("CREATE TABLE t AS SELECT *, person % 7 AS house, person // 7 AS door FROM visits")
    call = "date_mask('t', columns={{'born': 'shift'}}, per={}, within=100)"
    found = [spans(con, call.format(per), table="t") for per in ("['house', 'door']", "['DOOR', 'House']")]
    assert found[0] == found[1]
    assert found[0] != spans(con, call.format("['person']"), table="t")
    assert found[0][0] == found[0][1] == found[0][2], "of one person"


def test_secret_within_unit_and_seed_draw_anew(con: Connection) -> None:
    visits(con)

    def shifts(on: Connection, more: str) -> list[float]:
        own = spans(on, f"date_mask('visits', columns={{'seen': 'shift'}}, per='person', {more})", "seen")
        return [span for id_, span in sorted(own.items()) if id_ % 3 == 0]

    with ppduck.connect(secret="another horse battery staple") as other:
        visits(other)
        found = {
            "plain": shifts(con, "within=300"),
            "secret": shifts(other, "within=300"),
            "within": shifts(con, "within=301"),
            "seed": shifts(con, "within=300, seed=1"),
            "another seed": shifts(con, "within=300, seed=2"),
            "unit": shifts(con, "within=300, unit='second'"),
        }
        assert shifts(other, "within=300, seed=1") == found["seed"], "anybody can make seeded draws"
    assert shifts(con, "within=300, unit='day'") == found["plain"]
    assert shifts(con, "within=300, stay=['2100-01-01'], drop=['note']") == found["plain"]
    for name, one in found.items():
        for other_name, another in found.items():
            if name < other_name:
                assert abs(np.corrcoef(one, another)[0, 1]) < 0.35, (name, other_name)
                assert np.isclose(one, another).mean() < 0.05, (name, other_name)


def of_all_types(con: Connection) -> None:
    con.execute("SET TimeZone = 'UTC'")
    columns = ", ".join(
        f"(make_timestamp(1577880000123456 + i * 40 * 86400000000) - to_days({k})){cast} AS {name}"
        for k, (name, type_) in enumerate(TYPES.items())
        for cast in [f"::{type_}"]
    )
    con.execute(f"CREATE TABLE t AS SELECT i AS id, {columns} FROM range(200) r(i)")
    con.execute("UPDATE t SET in_ns = make_timestamp_ns(epoch_ns(in_ns) + 789)")


ALL = "columns={" + ", ".join(f"'{name}': 'shift'" for name in TYPES) + "}, per='id'"


def test_every_type_of_date_is_kept_to_its_last_digit(con: Connection) -> None:
    of_all_types(con)
    call = f"date_mask('t', {ALL}, within=30)"
    assert list(map(str, con.sql(f"FROM {call}").types[1:])) == list(TYPES.values())
    whole = ", ".join(f"epoch_ns(b.{name}) - epoch_ns(a.{name})" for name in TYPES)
    for row in con.execute(f"SELECT {whole} FROM t a JOIN {call} b USING (id)").fetchall():
        assert len(set(row)) == 1
        assert row[0] % (SECONDS * 10**9) == 0
        assert 0 < abs(row[0]) <= 30 * SECONDS * 10**9
    but_dates = ALL.replace("'day': 'shift', ", "")
    assert but_dates != ALL
    seconds = f"date_mask('t', {but_dates}, within=1, unit='second')"
    found = con.execute(
        f"SELECT epoch_ns(b.in_ns) - epoch_ns(a.in_ns), epoch_ns(b.zoned) - epoch_ns(a.zoned) FROM t a JOIN {seconds} b USING (id)"
    ).fetchall()
    assert all(one == other and one % 10**9 == 0 and 0 < abs(one) <= SECONDS * 10**9 for one, other in found)
    assert any(one % (60 * 10**9) for one, _ in found)


@pytest.mark.parametrize(
    "how", ["'shift'}, per='id', within=200", "'month'}", "'year'}", "{'age': 1, 'at': '2026-01-01'}}"]
)
def test_the_sessions_time_zone_does_not_matter(con: Connection, how: str) -> None:
    """Moments all around the hours in which zones change their clocks, and the ends of days, months and years."""
    con.execute("SET TimeZone = 'UTC'")
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, make_timestamptz(1577836800000000 + i * 13 * 3600000000) AS x FROM range(1500) r(i)"
    )
    found = []
    for zone in ("UTC", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"):
        con.execute(f"SET TimeZone = '{zone}'")
        released = f"date_mask('t', columns={{'x': {how})"
        value = "epoch_us(x)" if "shift" in how else "x::VARCHAR"
        found.append(con.execute(f"SELECT id, {value} FROM {released} ORDER BY id").fetchall())
    assert all(each == found[0] for each in found)
    if "shift" in how:
        by = {value - (1577836800000000 + id_ * 13 * 3600000000) for id_, value in found[0]}
        assert all(span % (SECONDS * 10**6) == 0 for span in by), "a day has 24 hours"


def test_null_infinity_and_days_that_stay(con: Connection) -> None:
    special = ["NULL", "infinity", "-infinity", "9999-12-31", "0001-01-01", "1900-01-01", "2020-02-02"]
    for type_ in TYPES.values():
        con.execute("SET TimeZone = 'UTC'")
        con.execute(f"CREATE OR REPLACE TABLE t (id INTEGER, x {type_})")
        for i, value in enumerate(special):
            if type_ == "TIMESTAMP_NS" and value in ("9999-12-31", "0001-01-01"):
                value = "2000-01-01"  # which it cannot hold
            con.execute(f"INSERT INTO t VALUES ({i}, {value if value == 'NULL' else repr(value)})")
        con.execute("INSERT INTO t SELECT 100 + i, make_date(1990, 1, 1) + (i * 53)::INTEGER FROM range(100) r(i)")
        before = dict(con.execute("SELECT id, x::VARCHAR FROM t").fetchall())
        call = "date_mask('t', columns={'x': 'shift'}, per='id', within=30, stay=['2020-02-02'])"
        after = dict(con.execute(f"SELECT id, x::VARCHAR FROM {call}").fetchall())
        stay = {i for i in range(len(special)) if not (before[i] or "").startswith("2000")}
        assert {i for i in before if before[i] == after[i]} == stay, type_
        assert con.execute(f"SELECT typeof(x) FROM {call} LIMIT 1").fetchall() == [(type_,)]


def test_midnight_of_a_zone_at_the_end_of_time_stays_too(con: Connection) -> None:
    con.execute("SET TimeZone = 'Asia/Tokyo'")
    con.execute("CREATE TABLE t AS SELECT 1 AS id, TIMESTAMPTZ '9999-12-31 00:00:00' AS x")
    con.execute("INSERT INTO t VALUES (2, '2001-02-03')")
    found = con.execute(
        "SELECT a.x = b.x FROM t a JOIN date_mask('t', columns={'x': 'shift'}, per='id', within=3) b USING (id) ORDER BY id"
    ).fetchall()
    assert found == [(True,), (False,)]


def test_one_thread_or_two_of_many_rows_read_in_part(con: Connection) -> None:
    visits(con, 300_000)
    call = f"date_mask('visits', {BOTH}, within=30)"
    con.execute("SET threads = 1")
    first = con.execute(f"SELECT id, born, seen FROM {call}").fetchall()
    con.execute("SET threads = 2")
    assert con.execute(f"SELECT id, born, seen FROM {call}").fetchall() == first
    assert [row[0] for row in first] == list(range(300_000)), "in the order of the table"
    assert con.execute(f"SELECT id, born, seen FROM {call} LIMIT 5").fetchall() == first[:5]
    read = con.execute(f"SELECT id, born, seen FROM {call}")
    assert [read.fetchone() for _ in range(3)] == first[:3]


def test_sources_of_every_kind_give_the_same(con: Connection, tmp_path: Path) -> None:
    visits(con)

    def released(source: str) -> Any:
        return con.execute(
            f"SELECT id, born, seen FROM date_mask('{source}', {BOTH}, within=30) ORDER BY id"
        ).fetchall()

    expected = released("visits")
    con.execute('CREATE SCHEMA "my schema"; CREATE TABLE "my schema"."the ""visits""" AS FROM visits ORDER BY hash(id)')
    con.execute("CREATE VIEW seen_again AS FROM visits")
    con.execute(f"COPY visits TO '{tmp_path}/visits.parquet'")
    sources = [
        '"my schema"."the ""visits"""',
        "seen_again",
        f"{tmp_path}/visits.parquet",
        "(SELECT * FROM visits)",
        "(FROM visits ORDER BY random())",
    ]
    for source in sources:
        assert released(source) == expected, source
    con.execute("CREATE TABLE answers AS SELECT *, id % 2 = 0 AS answer FROM visits")
    inner = "FROM rr_mask(''answers'', p={''answer'': 0.8}, key=''id'')"
    assert released(f"({inner})") == expected, "over another mask"


def test_odd_names(con: Connection) -> None:
    con.execute(
        'CREATE TABLE t AS SELECT i AS "select", DATE \'2000-01-01\' + (i * 31)::INTEGER AS "it\'s a ""date""", '
        "DATE '1990-01-01' + (i * 31)::INTEGER AS \"名前\" FROM range(50) r(i)"
    )
    call = "date_mask('t', columns=MAP {'it''s a \"date\"': 'shift', '名前': 'shift'}, per='SELECT', within=9)"
    assert con.sql(f"FROM {call}").columns == con.sql("FROM t").columns
    own = ['"it\'s a ""date"""', '"名前"']
    moved = ", ".join(f"abs(b.{name} - a.{name})" for name in own)
    [(least, most)] = con.execute(
        f'SELECT min(least({moved})), max(greatest({moved})) FROM t a JOIN {call} b USING ("select")'
    ).fetchall()
    assert least >= 1
    assert most <= 9


def test_an_empty_table(con: Connection) -> None:
    visits(con)
    con.execute("CREATE TABLE none AS FROM visits LIMIT 0")
    assert con.execute(f"FROM date_mask('none', {BOTH}, within=30)").fetchall() == []
    assert (
        con.execute(
            "FROM date_mask('none', columns={'born': 'year', 'seen': {'age': 5, 'at': '2026-01-01'}})"
        ).fetchall()
        == []
    )


def test_a_view_over_it_gives_the_same_rows_when_others_come(con: Connection) -> None:
    visits(con)
    con.execute(f"CREATE VIEW published AS FROM date_mask('visits', {BOTH}, within=30, drop=['person'])")
    before = con.execute("FROM published WHERE id < 300").fetchall()
    con.execute(
        "DELETE FROM visits WHERE id >= 300; INSERT INTO visits SELECT 1000, 5000, '1999-09-09', '2019-09-09', 'new'"
    )
    assert con.execute("FROM published WHERE id < 300").fetchall() == before


# --- days that would tell a shift -----------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", list(TYPES.values()))
def test_a_day_that_many_share_is_refused_and_not_named(con: Connection, type_: str) -> None:
    con.execute("SET TimeZone = 'UTC'")
    con.execute(
        f"CREATE TABLE t AS SELECT i AS id, if(i < 60, TIMESTAMP '2021-03-04' + to_minutes(i), TIMESTAMP '1990-01-01' + to_days((i * 17)::INTEGER))::{type_} "
        "AS x FROM range(1000) r(i)"
    )
    call = "FROM date_mask('t', columns={'x': 'shift'}, per='id', within=30"
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r'date_mask on "t": column "x" is not shifted, because 60 of its 1,000 persons \(6%\) have the same day.*stay',
    ) as refused:
        con.execute(f"{call})").fetchall()
    assert not re.search("2021|03-04|1614816", str(refused.value))
    kept = con.execute(f"SELECT count(*) {call}, stay='2021-03-04') b JOIN t a USING (id) WHERE a.x = b.x").fetchall()
    assert kept == [(60,)]


def test_it_counts_persons_and_not_rows(con: Connection) -> None:
    """One person with a thousand rows of one day is known by nobody; three of forty with the same one are."""
    con.execute("CREATE TABLE t AS SELECT 1 AS person, DATE '2020-01-01' AS x FROM range(1000)")
    con.execute("INSERT INTO t SELECT 2 + i, DATE '1990-01-01' + (i * 300)::INTEGER FROM range(37) r(i)")
    call = "FROM date_mask('t', columns={'x': 'shift'}, per='person', within=30)"
    assert len(con.execute(call).fetchall()) == 1037
    con.execute("INSERT INTO t VALUES (100, '2020-01-01')")
    assert len(con.execute(call).fetchall()) == 1038
    con.execute("INSERT INTO t VALUES (101, '2020-01-01')")
    with pytest.raises(duckdb.InvalidInputException, match=r"3 of its 40 persons \(8%\) have the same day"):
        con.execute(call).fetchall()


def test_days_that_stand_alone_within_the_shift_are_refused(con: Connection) -> None:
    """Every Monday 12 persons: with a shift of 3 days each date tells its Monday, with 30 it is one of nine."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, DATE '2020-01-06' + 7 * (i % 200)::INTEGER AS x FROM range(2400) r(i)"
    )
    call = "FROM date_mask('t', columns={{'x': 'shift'}}, per='id', within={})"
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r"up to 12 of its 2,400 persons have the same day, more than all others within 3 days of it.*longer within",
    ):
        con.execute(call.format(3)).fetchall()
    assert len(con.execute(call.format(30)).fetchall()) == 2400


@given(
    days=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 40)), min_size=1, max_size=80),
    within=st.integers(1, 20),
    more=st.integers(1, 12),
)
@QUIET
def test_what_is_refused_is_what_the_rule_says(
    con: Connection, days: list[tuple[int, int]], within: int, more: int
) -> None:
    """Beside a count in Python; each pair is a person and a day, and every person stands for ``more`` of them."""
    pairs = {(f"{person} {k}", day) for person, day in days for k in range(more)}
    con.execute("CREATE OR REPLACE TABLE t (person VARCHAR, x DATE)")
    values = ", ".join(f"('{person}', DATE '2020-01-01' + {day})" for person, day in sorted(pairs))
    con.execute(f"INSERT INTO t VALUES {values}")
    persons = len({person for person, _ in pairs})
    counts = {day: sum(own == day for _, own in pairs) for _, day in pairs}
    near = {day: sum(counts.get(day + k, 0) for k in range(-within, within + 1)) for day in counts}
    known = any(n >= 3 and n > 0.05 * persons for n in counts.values())
    alone = any(n >= 10 and 2 * n > near[day] for day, n in counts.items())
    call = f"FROM date_mask('t', columns={{'x': 'shift'}}, per='person', within={within})"
    if known or alone:
        words = r"have the same day: who knows" if known else r"persons have the same day, more than all others"
        with pytest.raises(duckdb.InvalidInputException, match=words):
            con.execute(call).fetchall()
    else:
        assert len(con.execute(call).fetchall()) == len(pairs)


# --- periods and ages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", list(TYPES))
def test_periods_are_dates_at_their_first_day(con: Connection, column: str) -> None:
    of_all_types(con)
    con.execute(f"INSERT INTO t (id, {column}) VALUES (-1, NULL), (-2, 'infinity'), (-3, '-infinity')")
    for period in ("year", "quarter", "month"):
        call = f"date_mask('t', columns={{'{column}': '{period}'}})"
        assert str(con.sql(f"FROM {call}").types[list(TYPES).index(column) + 1]) == "DATE"
        expected = con.execute(
            f"SELECT id, date_trunc('{period}', {column}::TIMESTAMP)::DATE::VARCHAR FROM t WHERE id >= 0 ORDER BY id"
        ).fetchall()
        special = [(-3, "-infinity"), (-2, "infinity"), (-1, None)]
        assert con.execute(f"SELECT id, {column}::VARCHAR FROM {call} ORDER BY id").fetchall() == special + expected


def test_the_last_nanosecond_of_a_year_is_in_it(con: Connection) -> None:
    """A cast to DATE would round it up."""
    con.execute(
        "CREATE TABLE t AS SELECT '2020-12-31 23:59:59.999999999'::TIMESTAMP_NS AS x, '1969-12-31 23:59:59.999999'::TIMESTAMP AS y"
    )
    found = con.execute("FROM date_mask('t', columns={'x': 'year', 'y': 'month'})").fetchall()
    assert found == [(date(2020, 1, 1), date(1969, 12, 1))]


def test_years_before_christ_and_far_ahead(con: Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT unnest(['0044-03-15 (BC)', '123456-07-08', '5881580-07-10']::DATE[]) AS x")
    found = con.execute("SELECT x::VARCHAR FROM date_mask('t', columns={'x': 'quarter'})").fetchall()
    assert found == [("0044-01-01 (BC)",), ("123456-07-01",), ("5881580-07-01",)]
    con.execute("INSERT INTO t VALUES ('5877642-06-25 (BC)')")
    with pytest.raises(duckdb.InvalidInputException, match=r'column "x" has 1 value in the first year') as refused:
        con.execute("FROM date_mask('t', columns={'x': 'month'})").fetchall()
    assert "5877" not in str(refused.value)


def age_of(born: date, at: date) -> int:
    """Birthdays that have been; that of 29 February is on 1 March of other years."""
    age = -1
    while True:
        try:
            birthday = born.replace(year=born.year + age + 1)
        except ValueError:
            birthday = date(born.year + age + 1, 3, 1)
        if birthday > at:
            return age
        age += 1


@given(
    born=st.lists(st.dates(date(1890, 1, 1), date(2024, 12, 31)), min_size=1, max_size=20),
    at=st.dates(date(2000, 1, 1), date(2030, 12, 31)),
    width=st.integers(1, 30),
    top=st.integers(1, 120),
)
@QUIET
def test_ages(con: Connection, born: list[date], at: date, width: int, top: int) -> None:
    assume(max(born) <= at)
    con.execute("CREATE OR REPLACE TABLE t (id INTEGER, x DATE)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [[i, day] for i, day in enumerate(born)])
    found = con.execute(
        f"SELECT x::VARCHAR, enum_code(x) FROM date_mask('t', columns={{'x': {{'age': {width}, 'top': {top}, 'at': '{at}'}}}}) ORDER BY id"
    ).fetchall()
    for day, (band, code) in zip(born, found, strict=True):
        age = age_of(day, at)
        if age >= top:
            assert band == f"{top}+"
            continue
        low, _, high = band.partition("-")
        assert int(low) <= age <= int(high or low)
        assert int(low) % width == 0
        assert code == int(low) // width


@pytest.mark.parametrize(
    ("at", "age"), [("2023-02-28", "22"), ("2023-03-01", "23"), ("2024-02-28", "23"), ("2024-02-29", "24")]
)
def test_who_is_born_on_a_leap_day_is_older_on_the_first_of_march(con: Connection, at: str, age: str) -> None:
    con.execute("CREATE TABLE t AS SELECT DATE '2000-02-29' AS x")
    assert con.execute(f"FROM date_mask('t', columns={{'x': {{'age': 1, 'at': DATE '{at}'}}}})").fetchall() == [(age,)]


def test_bands_sort_as_ages_do_and_end_at_ninety(con: Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT DATE '2026-01-01' - (i * 365)::INTEGER AS x FROM range(120) r(i)")
    con.execute("INSERT INTO t VALUES (NULL)")
    call = "date_mask('t', columns={'x': {'age': 20, 'at': '2026-01-01'}})"
    assert con.execute(f"SELECT DISTINCT x FROM {call} ORDER BY x NULLS LAST").fetchall() == [
        ("0-19",), ("20-39",), ("40-59",), ("60-79",), ("80-89",), ("90+",), (None,),
    ]  # fmt: skip
    con.execute(f"CREATE TABLE kept AS FROM {call}")
    assert con.execute("SELECT count(*) FROM kept WHERE x >= '80-89'").fetchall() > [(20,)]
    assert str(con.sql("FROM kept").types[0]).startswith("ENUM('0-19', '20-39'")


@pytest.mark.parametrize("type_", list(TYPES.values()))
def test_who_is_born_later_or_never_has_no_age(con: Connection, type_: str) -> None:
    con.execute("SET TimeZone = 'UTC'")
    con.execute(f"CREATE TABLE t (x {type_})")
    con.execute("INSERT INTO t VALUES ('2000-01-01'), ('2026-01-02'), ('infinity'), ('-infinity'), (NULL)")
    with pytest.raises(
        duckdb.InvalidInputException, match='column "x" has 3 values after 2026-01-01 or infinite'
    ) as refused:
        con.execute("FROM date_mask('t', columns={'x': {'age': 5, 'at': '2026-01-01'}})").fetchall()
    assert "2000" not in str(refused.value)
    con.execute("DELETE FROM t WHERE NOT isfinite(x) OR x > '2026-01-01 23:59:59'")
    found = con.execute("FROM date_mask('t', columns={'x': {'age': 5, 'at': '2026-01-01'}})").fetchall()
    assert found == [("25-29",), (None,)]


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("columns={'born': 'shift'}, per='person'", r'date_mask on "visits": column "born" cannot be shifted without within'),
        (f"{BOTH.partition(', per')[0]}, within=3", r'columns "born", "seen" cannot be shifted without per: name what'),
        ("columns={'born': 'shift'}", r"without per(.|\n)*also: column \"born\" cannot be shifted without within"),
        ("columns={'born': 'year'}, per='person', within=3", r"no column is shifted, so that per, within would mean nothing; leave them"),
        ("columns={'born': 'year'}, seed=3", r"so that seed would mean nothing; leave it out, or give a column 'shift'"),
        ("columns={'born': 'year'}, unit='day'", r"so that unit would mean nothing"),
        ("columns={'born': 'year'}, stay=['2020-01-01']", r"so that stay would mean nothing"),
        ("columns={'bron': 'year'}", r'columns names column "bron", which does not exist\. Did you mean "born"\?'),
        ("columns={'note': 'year'}", r'column "note", which is text; cast it in a view or in tbl, such as \'\(SELECT \* REPLACE'),
        ("columns={'id': 'year'}", r'column "id", which is of type BIGINT; dates are DATE or TIMESTAMP'),
        ("columns={'clock': 'year'}", r'column "clock", which of type TIME is a time of day'),
        ("columns={'born': 'sift'}, per='person', within=3", r'columns of column "born" must be .* and is \'sift\'\. Did you mean "shift"'),
        ("columns={'born': 'age'}", r"'age' needs its width and its day: \{'age': 5"),
        ("columns={'born': {'age': 5}}", r"lacks 'at': ages are of bands of so many years, at a day that does not move"),
        ("columns={'born': {'at': '2020-01-01'}}", r"lacks 'age'"),
        ("columns={'born': {'age': 0, 'at': '2020-01-01'}}", r"'age' must be from 1 to 120"),
        ("columns={'born': {'age': 5, 'top': 121, 'at': '2020-01-01'}}", r"'top' must be from 1 to 120"),
        ("columns={'born': {'age': 5, 'at': 'today'}}", r"'at' must be a day such as '2026-01-01'"),
        ("columns={'born': {'age': 5, 'at': '2025-02-29'}}", r"'at' names '2025-02-29', which is no day"),
        ("columns={'born': {'age': 5, 'tpo': 9, 'at': '2025-02-28'}}", r"has 'tpo', which is none of 'age', 'top' and 'at'\. Did you mean \"top\""),
        ("columns=['born']", r"columns takes \{'column': how\}, where how is 'shift'"),
        ("columns='born'", r"columns takes \{'column': how\}"),
        ("columns=MAP {}", r"columns is empty; say what becomes of a column"),
        ("columns={'born': 'shift'}, per='born', within=3", r'column "born" is in both columns and per'),
        ("columns={'born': 'year'}, drop=['BORN']", r'column "born" is in both columns and drop'),
        ("columns=MAP {'born': 'year', 'BORN': 'month'}", r'columns names column "born" twice'),
        ("columns={'born': 'shift'}, per='person', within=3, unit='second'", r'column "born" is a DATE, which unit := \'second\' cannot shift'),
        ("columns={'born': 'shift'}, per='person', within=3, unit='hour'", r"unit takes one of 'day', 'second', got 'hour'"),
        ("columns={'born': 'shift'}, per='person', within='3 months'", r"within takes a whole number from 1 to 36,525, in days"),
        ("columns={'born': 'shift'}, per='person', within='0 days'", r"within must be from 1 to 36,525 days, got '0 days'"),
        ("columns={'born': 'shift'}, per='person', within=1.5", r"within takes a whole number"),
        ("columns={'born': 'shift'}, per='person', within=3, stay=['soon']", r"stay takes a day, or a list of days"),
        ("columns={'born': 'shift', 'seen': 'yaer'}", r'of column "seen" must be(.|\n)*Did you mean "year"'),
    ],
)  # fmt: skip
def test_refusals(con: Connection, arguments: str, message: str) -> None:
    visits(con)
    con.execute("ALTER TABLE visits ADD COLUMN clock TIME DEFAULT '12:34:56'")
    with pytest.raises(duckdb.InvalidInputException, match=message):
        con.execute(f"FROM date_mask('visits', {arguments})")


def test_rows_without_a_person_are_counted(con: Connection) -> None:
    visits(con)
    con.execute("UPDATE visits SET person = NULL WHERE id < 7")
    with pytest.raises(
        duckdb.InvalidInputException, match=r'per "person" is NULL in 7 of 600 rows; every row needs its person'
    ):
        con.execute(f"FROM date_mask('visits', {BOTH}, within=30)").fetchall()
    with pytest.raises(duckdb.InvalidInputException, match=r'per "id, person" is NULL in 7 of 600 rows'):
        con.execute("FROM date_mask('visits', columns={'born': 'shift'}, per=['id', 'person'], within=30)").fetchall()


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("DATE", ["5881580-07-05", "5877642-06-30 (BC)"]),
        ("TIMESTAMP", ["294247-01-10 04:00:54", "290309-12-22 (BC) 00:00:00"]),
        ("TIMESTAMP WITH TIME ZONE", ["294247-01-10 04:00:54+00", "290309-12-22 (BC) 00:00:00+00"]),
        ("TIMESTAMP_NS", ["2262-04-11 23:47:16", "1677-09-22 00:00:00"]),
    ],
)
def test_a_shift_that_would_leave_the_type_is_refused(con: Connection, type_: str, values: list[str]) -> None:
    con.execute("SET TimeZone = 'UTC'")
    con.execute(f"CREATE TABLE t (id INTEGER, x {type_})")
    con.execute(f"INSERT INTO t VALUES (1, '{values[0]}'), (2, '{values[1]}'), (3, '2000-01-01')")
    for threads in (1, 2):
        con.execute(f"SET threads = {threads}")
        with pytest.raises(
            duckdb.InvalidInputException,
            match=rf'column "x" has 2 values within 30 days of the end of what its type {type_} can hold',
        ) as refused:
            con.execute("FROM date_mask('t', columns={'x': 'shift'}, per='id', within=30)").fetchall()
        assert not re.search("294247|5881580|5877642|290309|2262|1677|2000", str(refused.value))
    con.execute("CREATE OR REPLACE TABLE t AS FROM t WHERE id = 3")
    assert 0 < abs(spans(con, "date_mask('t', columns={'x': 'shift'}, per='id', within=30)", "x", "t")[3]) <= 30


@pytest.mark.parametrize(
    ("name", "unit"), [("DATE", "day"), ("TIMESTAMP", "day"), ("TIMESTAMP", "second"), ("TIMESTAMP_NS", "day")]
)
def test_whatever_is_not_refused_has_room_for_any_shift(con: Connection, name: str, unit: str) -> None:
    """Dates day by day up to both ends of the type: those that are let through move, and none wraps or fails."""
    first, last = dates.ends(Column("x", name))
    make = {"DATE": "DATE '1970-01-01' + {}", "TIMESTAMP": "make_timestamp({} * 86400000000)"}.get(
        name, "make_timestamp_ns({} * 86400000000000)"
    )
    within = 3
    for low in (first + within, last - within - 400):
        day = make.format(f"({low} + i)::BIGINT" if name != "DATE" else f"({low} + i)::INTEGER")
        con.execute(f"CREATE OR REPLACE TABLE t AS SELECT i AS id, {day} AS x FROM range(401) r(i)")
        call = f"date_mask('t', columns={{'x': 'shift'}}, per='id', within={within}, unit='{unit}')"
        [(rows, wrong)] = con.execute(
            f"SELECT count(*), count_if(a.x = b.x OR NOT isfinite(b.x)) FROM t a JOIN {call} b USING (id)"
        ).fetchall()
        assert (rows, wrong) == (401, 0)
        con.execute(f"INSERT INTO t SELECT 1000, {make.format(first + within - 1 if low < 0 else last - within + 1)}")
        with pytest.raises(duckdb.InvalidInputException, match="has 1 value within 3 days of the end"):
            con.execute(f"FROM {call}").fetchall()


def test_the_year_ten_thousand_is_a_year(con: Connection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, DATE '9999-12-25' AS x FROM range(2) r(i)")
    call = "date_mask('t', columns={'x': 'shift'}, per='id', within=5000, seed=4)"
    assert all(0 < abs(by) <= 5000 for by in spans(con, call, "x", "t").values())


def test_several_faults_of_the_rows_arrive_together(con: Connection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT nullif(i, 3) AS id, DATE '2020-01-01' AS x, DATE '2030-01-01' AS y FROM range(20) r(i)"
    )
    with pytest.raises(
        duckdb.InvalidInputException,
        match=r"NULL in 1 of 20 rows(.|\n)*19 of its 19 persons \(100%\) have the same day(.|\n)*20 values after 2026-01-01",
    ):
        con.execute(
            "FROM date_mask('t', columns={'x': 'shift', 'y': {'age': 5, 'at': '2026-01-01'}}, per='id', within=3)"
        ).fetchall()


def test_a_table_that_cannot_be_seen_is_refused(con: Connection) -> None:
    con.execute("CREATE TEMP TABLE mine AS SELECT DATE '2020-01-01' AS x")
    with pytest.raises(duckdb.InvalidInputException, match=r'planner cannot see "mine".*make it a table first'):
        con.execute("FROM date_mask('mine', columns={'x': 'year'})")


@pytest.mark.parametrize("explain", ["EXPLAIN", "EXPLAIN ANALYZE"])
def test_no_plan_tells_the_ends_of_a_column(con: Connection, explain: str) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT 471147 + i AS id, DATE '1947-11-17' + (i * 7)::INTEGER AS x, "
        "TIMESTAMP '1947-11-17 04:07:11' + to_days((i * 7)::INTEGER) AS y FROM range(2000) r(i)"
    )
    call = "FROM date_mask('t', columns={'x': 'shift', 'y': 'shift'}, per='id', within=30)"
    shown = "".join(row[1] for row in con.execute(f"{explain} {call}").fetchall())
    digits = re.sub(r"[^0-9a-z]", "", shown.lower())
    low = (date(1947, 11, 17) - EPOCH).days
    assert not [
        end for end in ("471147", "473146", "19471117", f"{low}", f"{low + 7 * 1999}") if end.strip("-") in digits
    ]


# --- what users read ------------------------------------------------------------------------------------------------


def test_explained(con: Connection) -> None:
    visits(con)
    call = "columns={'born': {'age': 5, 'top': 85, 'at': '2026-01-01'}, 'seen': 'shift'}, per='person', within=30, unit='second'"
    found = con.execute(
        f"SELECT column_name, role, note FROM mask_explain('date_mask', 'visits', {call}, drop=['note'])"
    ).fetchall()
    notes = {name: (role, note) for name, role, note in found if name}
    assert list(notes) == ["id", "person", "born", "seen", "note"]
    assert notes["born"] == (
        "confidential",
        "replaced by the age at 2026-01-01, as an ENUM of bands from 0-4 to 85+; NULL stays NULL",
    )
    assert notes["seen"][1].startswith(
        "shifted by -30..30 days, in seconds, and never by 0: all dates of one person by the same"
    )
    assert notes["person"][1].startswith("names the person for the shift")
    assert notes["note"] == ("dropped", "left out of the output")
    born = con.execute(
        "SELECT note FROM mask_explain('date_mask', 'visits', columns={'seen': 'month'}) WHERE column_name = 'born'"
    ).fetchall()
    assert born == [("a date that is released as it is; who can connect it with a shifted one knows the shift",)]
    with pytest.raises(duckdb.InvalidInputException, match="without within"):
        con.execute("FROM mask_explain('date_mask', 'visits', columns={'seen': 'shift'}, per='person')")


def test_promises_go_by_the_call() -> None:
    mask = function_named(NAME)
    read: Callable[..., Any] = {each.name: each.read for each in mask.parameters}["columns"]

    def call(how: object) -> DateCall:
        return DateCall(tbl="t", columns=read({"x": how}), per=["id"], within=3)

    assert mask.promises(Promise.INTERVALS, call("shift"))
    assert not mask.promises(Promise.INTERVALS, call("year"))
    ages = call({"age": 5, "at": "2026-01-01"})
    assert [str(each) for each in mask.kept(ages)] == ["ages are right, up to the width of their band"]
    lost = {str(each) for each in mask.lost(call("shift"))}
    assert any("knows one date of a person" in each for each in lost)
    assert not any("seeded" in each for each in lost)


def test_dbt_knows_it(con: Connection) -> None:
    visits(con)
    rule = {
        "mask": "date",
        "columns": {"born": {"age": 5, "at": "2026-01-01"}, "seen": "shift"},
        "per": "person",
        "within": "2 weeks",
    }
    statement = read_rule("m", rule, {}).statement("visits")
    by_hand = "date_mask('visits', columns={'born': {'age': 5, 'at': '2026-01-01'}, 'seen': 'shift'}, per='person', within=14)"
    assert con.execute(statement).fetchall() == con.execute(f"FROM {by_hand}").fetchall()


def test_the_shift_is_what_is_stated(con: Connection) -> None:
    """From the secret by the formula in the docstring, with Python's own hashes and AES."""
    import hashlib
    import json

    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    visits(con)
    found = spans(con, "date_mask('visits', columns={'born': 'shift'}, per='person', within=45)")
    text = json.dumps({"shifted dates": {"within": 45, "unit": "day", "seed": None}}, sort_keys=True)
    tweak = int.from_bytes(hashlib.sha256(f"{text}\0000".encode()).digest()[:8], "little") >> 2
    aes = Cipher(algorithms.AES(hashlib.sha256(b"ppduck draws 2\0" + SECRET.encode()).digest()[:16]), modes.ECB())

    def half(person: int, place: int) -> int:
        block = person.to_bytes(8, "little") + (tweak + place).to_bytes(8, "little")
        return int.from_bytes(aes.encryptor().update(block)[:4], "little")

    for id_, span in found.items():
        r = (half(id_ // 3, 0) + (half(id_ // 3, 1) << 32)) % 90
        assert span == r - 45 + (r >= 45)


def test_a_moment_and_its_day_move_alike(con: Connection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, TIMESTAMP '2020-05-05 23:59:59.999999' + to_days((i * 9)::INTEGER) AS x FROM range(50) r(i)"
    )
    con.execute("ALTER TABLE t ADD COLUMN d DATE; UPDATE t SET d = x::DATE")
    rows = con.execute(
        "SELECT x, d FROM date_mask('t', columns={'x': 'shift', 'd': 'shift'}, per='id', within=400)"
    ).fetchall()
    assert all(isinstance(x, datetime) and x.date() == d for x, d in rows)
    assert any(x - datetime(2020, 5, 5) != timedelta(0) for x, _ in rows)
