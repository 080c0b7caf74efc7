"""What the first look of date_mask refuses, and in which words; and how it counts who shares a day."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.errors import PpduckError
from ppduck.masks._date_look import DateSpec, Look, Shifted, check, crowds, days_of
from ppduck.query import tree as sql

pytestmark = pytest.mark.core

SPEC = DateSpec(
    "date_mask",
    "t",
    per=["id"],
    within=30,
    shifted=[Shifted("x", "DATE")],
    periods=["p"],
    ages=[Shifted("a", "2026-01-01")],
)


def look(**found: object) -> Look:
    plain: dict[str, object] = {
        "rows": 100, "keyless": 0, "beyond": [0], "persons": [100], "most": [1], "alone": [0], "unfit": [0], "ageless": [0],
    }  # fmt: skip
    return Look(**(plain | found))  # type: ignore[arg-type]


def test_all_is_well() -> None:
    assert check(SPEC, look()) == 0
    assert check(SPEC, look(rows=0, persons=[0], most=[0])) == 0


@pytest.mark.parametrize(("persons", "most"), [(2, 2), (60, 3), (100, 5), (1000, 50), (10**6, 50_000)])
def test_up_to_the_share_a_day_is_not_known(persons: int, most: int) -> None:
    assert check(SPEC, look(persons=[persons], most=[most])) == 0


@pytest.mark.parametrize(("persons", "most"), [(3, 3), (59, 3), (100, 6), (1000, 51), (10**6, 50_001)])
def test_beyond_it_a_day_is_known(persons: int, most: int) -> None:
    with pytest.raises(PpduckError, match=rf'^date_mask on "t": column "x" is not shifted, because {most:,} of its'):
        check(SPEC, look(persons=[persons], most=[most]))


def test_words() -> None:
    with pytest.raises(PpduckError, match=r"has 1 value within 30 days of the end of what its type DATE can hold"):
        check(SPEC, look(beyond=[1]))
    with pytest.raises(PpduckError, match=r"up to 12 of its 100 persons .* more than all others within 30 days"):
        check(SPEC, look(alone=[12], persons=[100], most=[5]))
    with pytest.raises(PpduckError, match=r'column "p" has 2 values in the first year'):
        check(SPEC, look(unfit=[2]))
    with pytest.raises(PpduckError, match=r'"a" has 3 values after 2026-01-01 or infinite'):
        check(SPEC, look(ageless=[3]))
    with pytest.raises(PpduckError, match=r'per "id" is NULL in 4 of 100 rows(.|\n)*also: column "a"'):
        check(SPEC, look(keyless=4, ageless=[3]))


def test_persons_are_counted_day_by_day(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        CREATE TABLE people AS SELECT * FROM (VALUES (1, 10, true), (1, 10, true), (2, 10, true), (3, 11, true),
            (3, NULL, true), (4, 11, false)) v(_pp_key, _pp_day0, _pp_named)
        """
    )
    found = con.execute(sql.render(days_of("_pp_day0", "people"))).fetchall()
    assert sorted(found) == [(10, 2), (11, 1)]


def test_crowds_are_seen_within_the_range(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE days AS SELECT * FROM (VALUES (0, 12), (3, 13), (100, 9), (-50, 11)) v(_pp_day, _pp_persons)"
    )
    assert con.execute(sql.render(crowds("days", 3))).fetchall() == [(13, 13)], "13 of 25 are more than half"
    assert con.execute(sql.render(crowds("days", 2))).fetchall() == [(13, 13)]
    con.execute("UPDATE days SET _pp_persons = 14 WHERE _pp_day = 0; DELETE FROM days WHERE _pp_day = -50")
    con.execute("UPDATE days SET _pp_persons = 14 WHERE _pp_day = 3")
    assert con.execute(sql.render(crowds("days", 3))).fetchall() == [(14, 0)], "half is not more than half"
    con.execute("DELETE FROM days")
    assert con.execute(sql.render(crowds("days", 3))).fetchall() == [(0, 0)]
