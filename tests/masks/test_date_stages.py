"""The stages of date_mask as values: what is kept, what is drawn, and which shift each draw gives."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

import duckdb
import pytest

from ppduck.catalogue.source import Column, Source
from ppduck.masks._date_stages import DateStages, Found
from ppduck.masks._date_words import AGE, SHIFT, Treatment
from ppduck.query import tree as sql
from ppduck.stages.plan import Groups, Rows, Sorted, Totals

pytestmark = pytest.mark.core

COLUMNS = (Column("id", "BIGINT"), Column("x", "DATE"), Column("y", "TIMESTAMP"))


def found(*kinds: str, **told: Any) -> Found:
    treatments = [Treatment(kind, 5, 90, date(2026, 1, 1)) if kind == AGE else Treatment(kind) for kind in kinds]
    plain: dict[str, Any] = {
        "function": "date_mask",
        "source": Source("t", '"t"', COLUMNS, has_rowid=True),
        "columns": tuple(zip(COLUMNS[1:], treatments, strict=False)),
        "per": COLUMNS[:1] if SHIFT in kinds else (),
        "within": 3 if SHIFT in kinds else 0,
        "unit": "day",
        "stay": (),
        "seed": None,
        "drop": (),
    }
    return Found(**(plain | told))


def test_stages_of_a_shift() -> None:
    plan = DateStages(found(SHIFT, SHIFT)).plan()
    kinds = {stage.name: (type(stage), stage.kept) for stage in plan.stages}
    assert kinds == {
        "_pp_source": (Rows, False),
        "_pp_people": (Rows, True),
        "_pp_known0": (Sorted, False),
        "_pp_crowd0": (Sorted, False),
        "_pp_known1": (Sorted, False),
        "_pp_crowd1": (Sorted, False),
        "_pp_seen": (Totals, False),
        "_pp_look": (Groups, True),
        "_pp_drawn": (Rows, False),
    }


def test_a_source_that_may_be_read_once_is_kept() -> None:
    once = Source("t", '"t"', COLUMNS, repeatable=False)
    assert DateStages(found(SHIFT, source=once)).plan().stage("_pp_source").kept


def test_where_nothing_is_shifted_nothing_is_drawn() -> None:
    written = sql.render(DateStages(found("year", AGE)).plan().query())
    assert "_draws" not in written
    assert '"_pp_key"' not in written
    assert not DateStages(found("year")).plan().stage("_pp_people").kept


@pytest.mark.parametrize(("unit", "within", "widest"), [("day", 1, 1), ("day", 15, 15), ("second", 1, 86_400)])
def test_every_shift_is_that_of_as_many_draws(unit: str, within: int, widest: int) -> None:
    shift = sql.render(DateStages(found(SHIFT, unit=unit, within=within))._shift())
    with duckdb.connect() as con:
        draws = f'(SELECT i::UBIGINT AS "_pp_draw" FROM range({6 * widest}) r(i))'
        shifts = Counter(row[0] for row in con.execute(f"SELECT {shift} FROM {draws}").fetchall())
        highest = con.execute(f'SELECT {shift} FROM (SELECT 18446744073709551615::UBIGINT AS "_pp_draw")').fetchone()
    assert shifts == dict.fromkeys([*range(-widest, 0), *range(1, widest + 1)], 3)
    assert highest is not None
    assert 0 < abs(highest[0]) <= widest


def test_draws_go_by_within_unit_and_seed_alone() -> None:
    plain = DateStages(found(SHIFT))._tweak()
    assert 0 <= plain < 2**62
    same = [
        found(SHIFT, SHIFT),
        found(SHIFT, "year", drop=("id",)),
        found(SHIFT, stay=[date(2020, 1, 1)]),
        found(SHIFT, per=COLUMNS[2:]),
        found(SHIFT, source=Source("u", '"u"', COLUMNS, repeatable=False)),
    ]
    assert {DateStages(each)._tweak() for each in same} == {plain}
    others = [found(SHIFT, within=4), found(SHIFT, unit="second"), found(SHIFT, seed=3), found(SHIFT, seed=0)]
    assert len({plain, *(DateStages(each)._tweak() for each in others)}) == 5
