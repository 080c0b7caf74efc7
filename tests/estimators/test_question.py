"""A question taken apart: what of it reads columns, and whether it says which rows come first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ppduck.estimators.answers import Aggregate
from ppduck.estimators.question import Question
from ppduck.query import tree as sql

pytestmark = pytest.mark.core

GENDER, FLU, OLD = sql.column("gender"), sql.column("flu"), sql.column("old")
SHARE = Aggregate("share", FLU, of=OLD)
ASKED = Question("survey", (GENDER,), ((0,),), (("gender", 0), ("share", SHARE)), (OLD,))


def test_everything_that_reads_columns() -> None:
    assert ASKED.aggregates == [SHARE]
    assert ASKED.expressions == [GENDER, OLD, FLU, OLD]


def test_order_limit_and_offset_say_which_rows_come_first() -> None:
    assert not ASKED.ordered
    one = sql.number(1)
    assert replace(ASKED, order=(GENDER,)).ordered
    assert replace(ASKED, limit=one).ordered
    assert replace(ASKED, offset=one).ordered
