"""Groups of alike rows in two releases: who is in one group of each is in what both have in common.

Three attacks (Ganta, Kasiviswanathan & Smith 2008). *intersection*: rows that share both groups with a person are
fewer than those of either. *homogeneity*: all of these have one sensitive value, though neither group has.
*composition*: only one value is in both groups. The first two need a way to connect the rows of both releases, such as
a key that both publish; the last does not, and is all that is tried where values are published group by group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call.spec import Spec
from ppduck.call.udf import rows_type, told_udf
from ppduck.frozen import frozen
from ppduck.kernels import score_ranges
from ppduck.measures._told_together import RESULTS, nothing, plural, row
from ppduck.measures._two_releases import (
    BOTH,
    CHECK,
    CHECKED,
    FIRST,
    JOINED,
    ORIGINAL,
    SECOND,
    TwoReleases,
    at,
)
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

INTERSECTION, HOMOGENEITY, COMPOSITION = "intersection", "homogeneity", "composition"
FEW = 3  # a group of fewer rows hides nobody
SIDES = (FIRST, SECOND)
STEP = "_pp_joint_groups"


@frozen
class GroupsSpec(Spec):
    qi: list[str]
    categories: list[str]
    by_row: list[bool]  # whether both releases publish a category row by row


@frozen
class GroupsTold:
    """Of the people that both releases have: how many are in groups of each kind."""

    checked: int
    people: int
    sizes: Array  # of joint groups, each size once
    groups: Array  # how many have it
    few: Array  # people in few rows: of the first release, of the second
    smallest: Array  # the smallest group of each
    changed: Array  # people whose category differs between the releases
    one: Array  # by category: people whose group has one value in the first, the second, jointly, in the intersection


def solve(spec: GroupsSpec, told: GroupsTold) -> list[dict[str, Any]]:
    n = told.people
    few = float(np.sum((told.sizes * told.groups)[told.sizes < FEW]))
    baseline = float(np.max(told.few)) / n
    # Who is in few rows of one release is in few of both.
    ends = score_ranges.of_shares(few / n, baseline, n, baseline)
    order = np.argsort(told.sizes)
    reached = np.cumsum((told.sizes * told.groups)[order])
    median = int(told.sizes[order][np.searchsorted(reached, n / 2)])
    smallest = int(np.min(told.sizes))
    own = " and ".join(str(int(size)) for size in told.smallest)
    says = (
        f"people in joint groups of fewer than {FEW} rows: the smallest has {plural(smallest, 'row')}, half of the "
        f"people are in one of at most {median}; the releases alone have no group below {own}"
    )
    rows = [row(INTERSECTION, ", ".join(spec.qi), (few / n, baseline), ends, n, says)]
    for j, name in enumerate(spec.categories):
        rows += _of_category(name, told, j, spec.by_row[j])
    return rows


def _of_category(name: str, told: GroupsTold, j: int, by_row: bool) -> Iterator[dict[str, Any]]:
    n = told.people
    if told.changed[j]:
        says = f"{plural(int(told.changed[j]), 'value')} differ between the releases; their groups tell none for sure"
        yield nothing(HOMOGENEITY, name, n, says)
        return
    first, second, joint, common = (float(count) / n for count in told.one.reshape(-1, 4)[j])
    baseline = max(first, second)
    for attack, share, says in (
        (HOMOGENEITY, joint, "people whose joint group has one value only, beside those whose own group has"),
        (COMPOSITION, common, "people whose groups share one value only, beside those whose own group has one"),
    ):  # fmt: skip
        if attack == HOMOGENEITY and not by_row:
            continue
        ends = score_ranges.of_shares(share, baseline, n, baseline)
        yield row(attack, name, (share, baseline), ends, n, says)


def answer(tables: TwoReleases, statement: sql.Statement) -> sql.Expr:
    """Adds the steps, and gives a SELECT of the list of rows."""
    categories = range(len(tables.categories))
    for side in SIDES:
        statement.step(f"_pp_groups_{side}", _groups(tables, side), materialized=True)
    statement.step(STEP, _joint(tables), materialized=True)
    placed = sql.table(STEP)
    for side in SIDES:
        placed = placed.using(sql.table(f"_pp_groups_{side}"), [at("group", "", side)])
    n = sql.column("_pp_n")

    def people(where: sql.Expr) -> sql.Expr:
        return sql.call("coalesce", sql.only(sql.call("sum", n.copy()), where), sql.number(0))

    one = []
    for j in categories:
        lists = [sql.column(f"_pp_values{j}_{side}") for side in SIDES]
        common = sql.call("len", sql.call("list_intersect", *lists))
        one += [people(sql.call("len", each.copy()).eq(sql.number(1))) for each in lists]
        one += [people(sql.column(f"_pp_one{j}")), people(common.eq(sql.number(1)))]
    parts: dict[str, sql.Expr] = {
        "people": sql.call("coalesce", sql.call("sum", n.copy()), sql.number(0)),
        "few": sql.array((people(sql.column(f"_pp_n_{s}") < sql.number(FEW)) for s in SIDES), "DOUBLE"),
        "smallest": sql.array((sql.call("min", sql.column(f"_pp_n_{s}")) for s in SIDES), "DOUBLE"),
        "changed": sql.array((sql.call("sum", sql.column(f"_pp_changed{j}")) for j in categories), "DOUBLE"),
        "one": sql.array(one, "DOUBLE"),
    }  # fmt: skip
    told = sql.derived(sql.query(sql.columns(_as_told(parts)), placed), "_pp_groups_told")
    each = sql.query(
        [n.copy(), sql.named(aggregates.rows(), "_pp_times")], sql.table(STEP), group=[n.copy()]
    )
    histogram = {
        "sizes": sql.in_order("list", sql.double(n.copy()), [n]),
        "groups": sql.in_order("list", sql.double(sql.column("_pp_times")), [n]),
    }
    sizes = sql.derived(
        sql.query(sql.columns(_as_told(histogram)), sql.derived(each, "_pp_each_size")), "_pp_sizes"
    )
    fields = {name: sql.column(f"_pp_{name}_told") for name in (*parts, *histogram)}
    fields["checked"] = sql.column(CHECKED)
    qi = dict.fromkeys(column.name for side in SIDES for column in tables.qi[side])
    spec = GroupsSpec(
        tables.function,
        tables.sources[FIRST].label,
        list(qi),
        [column.name for column in tables.categories],
        [tables.published(column) for column in tables.categories],
    )
    return sql.query([SOLVE.in_sql(spec, fields)], sql.table(CHECK).cross(told).cross(sizes))


def _as_told(parts: dict[str, sql.Expr]) -> dict[str, sql.Expr]:
    return {f"_pp_{name}_told": value for name, value in parts.items()}


def _value(tables: TwoReleases, j: int, side: str) -> sql.Expr:
    """A number for a category's value: that of the release, or of the original where the release has groups only."""
    has = tables.column(side, tables.categories[j].name) is not None
    return sql.call("hash", sql.column(at("a", j, side if has else ORIGINAL)))


def _groups(tables: TwoReleases, side: str) -> sql.Expr:
    """The groups of one release: how many rows each has, and which values."""
    group = sql.column(at("group", "", side))
    parts: dict[str, sql.Expr] = {f"_pp_n_{side}": aggregates.rows()}
    for j in range(len(tables.categories)):
        value = _value(tables, j, side)
        parts[f"_pp_values{j}_{side}"] = sql.call("list", exp.Distinct(expressions=[value]))
    there = sql.column(f"_pp_in_{side}").is_(exp.null()).not_()
    return sql.query(
        [group, *sql.columns(parts)], sql.table(JOINED), where=there, group=[group.copy()]
    )


def _joint(tables: TwoReleases) -> sql.Expr:
    """People of both releases by both of their groups."""
    groups = [sql.column(at("group", "", side)) for side in SIDES]
    parts: dict[str, sql.Expr] = {"_pp_n": aggregates.rows()}
    for j in range(len(tables.categories)):
        first, second = (_value(tables, j, side) for side in SIDES)
        parts[f"_pp_one{j}"] = sql.equal(
            sql.call("min", first.copy()), sql.call("max", first.copy())
        )
        parts[f"_pp_changed{j}"] = aggregates.count_if(exp.NEQ(this=first, expression=second))
    return sql.query(
        [*groups, *sql.columns(parts)],
        sql.table(JOINED),
        where=sql.column(BOTH),
        group=[each.copy() for each in groups],
    )


SOLVE = told_udf("ppduck_joint_groups", solve, GroupsSpec, GroupsTold, rows_type(RESULTS))
