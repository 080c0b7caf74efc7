"""A plan is a value: it can be read, and becomes one statement."""

from __future__ import annotations

from typing import Any

import pytest

import ppduck
from ppduck.call.registry import Function, PlainMacro, masks
from ppduck.extension.planner import Planner
from ppduck.guide.demo import DEMO
from ppduck.query import tree as sql
from ppduck.stages import aggregates
from ppduck.stages.plan import Groups, Plan, Rows, Sorted, Totals
from tests.conftest import SECRET

MASKS = [mask for mask in masks().values() if not isinstance(mask, PlainMacro)]


@pytest.fixture
def plan() -> Plan:
    x = sql.column("x")
    rows = Rows("_pp_source", False, sql.query([x, sql.column("g")], sql.table("t")))
    found = [aggregates.rows("_pp_n"), aggregates.sums("_pp_sums", [x]), aggregates.mean("_pp_mean", x, none=0.0)]
    totals = Totals("_pp_totals", True, [("_pp_by0", sql.column("g"))], found, rows.table)
    halves = Groups("_pp_half", True, sql.query([sql.column("_pp_n")], totals.table))
    ranked = sql.over(sql.call("row_number"), (), [x])
    return Plan((rows, totals, halves), Sorted("_pp_answer", False, sql.query([ranked], rows.table)))


def test_it_can_be_read(plan: Plan) -> None:
    assert str(plan) == (
        "_pp_source: rows\n"
        "_pp_totals: totals, kept\n  _pp_n: sum\n  _pp_sums: sum\n  _pp_mean: sum and count\n"
        "_pp_half: groups, kept\n"
        "_pp_answer: sorted"
    )
    assert plan.stage("_pp_half").kept


def test_it_is_one_statement(plan: Plan) -> None:
    written = sql.render(plan.query())
    assert written.startswith(
        'WITH "_pp_source" AS NOT MATERIALIZED (SELECT "x", "g" FROM "t"), "_pp_totals" AS MATERIALIZED ('
    )
    assert 'count(*) AS "_pp_n"' in written
    assert written.endswith(' SELECT row_number() OVER (ORDER BY "x" ASC NULLS LAST) FROM "_pp_source"')


def test_a_part_is_asked_for_partial_results(plan: Plan) -> None:
    totals = plan.stage("_pp_totals")
    assert isinstance(totals, Totals)
    assert sql.render(totals.partial()) == (
        'SELECT "g" AS "_pp_by0", count(*) AS "_pp_part0", CAST(list_value(sum("x")) AS DOUBLE[]) AS "_pp_part1", '
        'sum(CAST("x" AS DOUBLE)) AS "_pp_part2", count("x") AS "_pp_part3" FROM "_pp_source" GROUP BY "g"'
    )


@pytest.mark.parametrize("mask", MASKS, ids=[mask.name for mask in MASKS])
def test_every_mask_plans_a_value(mask: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another engine asks the registry, and gets stages."""
    planned = []
    write = Planner.written

    def written(self: Planner, plan: Any, **more: Any) -> str:
        planned.append(plan)
        return write(self, plan, **more)

    monkeypatch.setattr(Planner, "written", written)
    with ppduck.connect(secret=SECRET) as con:
        con.execute(DEMO)
        con.execute(mask.example).fetchall()
    assert planned
    assert all(isinstance(plan, Plan) for plan in planned)
