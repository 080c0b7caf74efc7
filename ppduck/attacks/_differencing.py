"""Differencing: sums that the release keeps exactly give away the values of those who are alone in a group, or two.

Denning (1980): a sum over one person is the value, and of two people each learns the other's. Groups are those of the
known columns that are categories or whole numbers, each by itself and all together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.attacks._figures import RESULTS, row, verdict
from ppduck.attacks._people import AttackSpec, Sides
from ppduck.call.udf import rows_type, told_udf
from ppduck.frozen import frozen
from ppduck.kernels import score_ranges
from ppduck.pairs.one_to_one import MASKED, ORIGINAL
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

DIFFERENCING = "differencing"
EXACT = 1e-6  # share of a sum by which it may miss
SMALL = 2  # people of a group that gives its sum away
STEP = "_pp_differences"
_GROUP, _SIZE = "_pp_group", "_pp_size"


@frozen
class DifferenceSpec(AttackSpec):
    """The groups that were tried, in words."""

    groups: list[str]


@frozen
class DifferenceTold:
    """Of each way to group, one after the other: groups, people in small ones; then for each conf column, groups whose
    sums are kept, people whose values follow, and people whose values would if sums were another group's.
    """

    pairs: int
    sums: Array | None


def groupings(sides: Sides) -> list[list[int]]:
    """The places of known columns that rows are grouped by: none, each, all."""
    own = [
        place
        for place, column in enumerate(sides.attacked.known)
        if not sides.attacked.is_number(column) or column.is_integer
    ]
    return [[], *([place] for place in own), *([own] if len(own) > 1 else [])]


def difference_spec(sides: Sides, spec: AttackSpec) -> DifferenceSpec:
    names = [column.name for column in sides.attacked.known]
    told = [
        " x ".join(names[place] for place in places) or "all rows" for places in groupings(sides)
    ]
    return DifferenceSpec(**{**vars(spec), "groups": told})


def difference(sides: Sides, statement: sql.Statement) -> None:
    """The step of one row that sums up all groupings."""
    every = [_counted(sides, places, i) for i, places in enumerate(groupings(sides))]
    rows = sql.derived(sql.union_all(every), "_pp_groupings")
    listed = sql.call(
        "flatten", sql.in_order("list", sql.column("_pp_counts"), [sql.column("_pp_number")])
    )
    statement.step(STEP, sql.query([sql.named(listed, "_pp_sums")], rows), materialized=True)


def _counted(sides: Sides, places: Sequence[int], number: int) -> sql.Expr:
    conf = range(len(sides.attacked.known), len(sides.attacked.every))
    mine = sql.derived(_sums(ORIGINAL, "x", places, conf), "_pp_before")
    both = mine.using(sql.derived(_sums(MASKED, "y", places, conf), "_pp_after"), [_GROUP, _SIZE])
    told: dict[str, sql.Expr] = {_SIZE: sql.column(_SIZE)}
    for j in conf:
        before, after = sql.column(f"_pp_sum_x{j}"), sql.column(f"_pp_sum_y{j}")
        next_one = sql.over(sql.call("lead", after), [sql.column(_SIZE)], [sql.column(_GROUP)])
        told[f"_pp_kept{j}"] = _same(before, after)
        told[f"_pp_dealt{j}"] = _same(before, next_one)
    groups = sql.derived(sql.query(sql.columns(told), both), "_pp_groups")
    size = sql.column(_SIZE)
    small = size <= sql.number(SMALL)
    counts = [aggregates.rows(), _people(small)]
    for j in conf:
        kept, dealt = sql.column(f"_pp_kept{j}"), sql.column(f"_pp_dealt{j}")
        counts += [
            aggregates.count_if(kept),
            _people(small.copy() & kept.copy()),
            _people(small.copy() & dealt),
        ]
    columns = {"_pp_number": sql.number(number), "_pp_counts": sql.array(counts, "DOUBLE")}
    return sql.query(sql.columns(columns), groups)


def _sums(table: str, letter: str, places: Sequence[int], conf: range) -> sql.Expr:
    group = [sql.column(f"_pp_{letter}{j}") for j in places]
    key = sql.call("hash", *group) if group else sql.cast(sql.number(0), "UBIGINT")
    sums = {_GROUP: sql.column(_GROUP), _SIZE: aggregates.rows()}
    rows: dict[str, sql.Expr] = {_GROUP: key}
    for j in conf:
        value = sql.column(f"_pp_{letter}{j}")
        rows[f"_pp_value{j}"] = value
        own = sql.column(f"_pp_value{j}")
        complete = sql.call("count", own).eq(aggregates.rows())
        sums[f"_pp_sum_{letter}{j}"] = sql.cases(
            (complete, sql.call(aggregates.COMPENSATED, own.copy()))
        )
    read = sql.derived(sql.query(sql.columns(rows), sql.table(table)), "_pp_rows")
    return sql.query(sql.columns(sums), read, group=[sql.column(_GROUP)])


def _same(before: sql.Expr, after: sql.Expr) -> sql.Expr:
    apart = sql.call("abs", sql.minus(before.copy(), after.copy()))
    larger = sql.call("greatest", sql.call("abs", before.copy()), sql.call("abs", after.copy()))
    return sql.paren(apart <= sql.number(EXACT) * larger)


def _people(where: sql.Expr) -> sql.Expr:
    total = sql.call("sum", sql.column(_SIZE))
    return sql.call("coalesce", sql.only(total, where), sql.number(0))


def differencing(spec: DifferenceSpec, told: DifferenceTold) -> list[dict[str, Any]]:
    counts = np.empty(0) if told.sums is None else told.sums
    table = counts.reshape(len(spec.groups), 2 + 3 * len(spec.conf))
    return [_row(spec, told.pairs, table, j, name) for j, name in enumerate(spec.conf)]


def _row(spec: DifferenceSpec, n: int, table: Array, j: int, name: str) -> dict[str, Any]:
    kept, follow, dealt = table[:, 2 + 3 * j : 5 + 3 * j].T
    if len(table) == 1 and n > SMALL:
        whole = "is kept" if kept[0] else "is not kept"
        why = f"not asked: no known column makes groups; the sum over all rows {whole}"
        return row(DIFFERENCING, "group_sums", why, column=name)
    # Where no value follows, the groups that came nearest to it: with most people in small ones.
    best = int(np.lexsort((table[:, 1], follow - dealt))[-1])
    says = (
        f"the values of {follow[best]:,.0f} of {n:,} people follow from sums over groups of at most {SMALL} by "
        f"{spec.groups[best]}, and of {dealt[best]:,.0f} if sums were those of other groups; "
        f"{kept[best]:,.0f} of {table[best, 0]:,.0f} groups keep their sums"
    )
    one, other = float(follow[best]) / n, float(dealt[best]) / n
    between = score_ranges.of_two_groups(one, n, other, n)
    told = f"{says}; {verdict(between[0])}"
    return row(
        DIFFERENCING,
        "group_sums",
        told,
        column=name,
        success=one,
        baseline=other,
        between=between,
        rows=n,
    )


SOLVE = told_udf(
    "ppduck_attack_differencing", differencing, DifferenceSpec, DifferenceTold, rows_type(RESULTS)
)
