"""Averaging: what the mean of ten reads of a view tells beyond one, as averaging_attack() measures it."""

from __future__ import annotations

from typing import Any

from ppduck.attacks._figures import RESULTS, row, verdict
from ppduck.attacks._people import AttackSpec, Sides
from ppduck.call.registry import Function, function_named
from ppduck.call.udf import rows_type, told_udf
from ppduck.frozen import frozen
from ppduck.kernels import score_ranges
from ppduck.query import tree as sql
from ppduck.values import Array

AVERAGING = "averaging"
READS = 10
STEP = "_pp_averaged_reads"
_FIELDS = ("r2_one", "r2_mean", "changed", "rows")
METHOD = "mean_of_ten_reads"
READ_ONCE = "not asked: a table is the same at every read"
NO_NUMBERS = "not asked: conf has no numbers, of which alone a mean is taken"


@frozen
class AveragingTold:
    """Of each column, R² of the original by one read and by the mean of ten, and the share of rows that change."""

    pairs: int
    names: list[str] | None
    r2_one: Array | None
    r2_mean: Array | None
    changed: Array | None
    rows: Array | None


def can_average(sides: Sides) -> bool:
    """Whether the release is read anew each time, and has a number in conf."""
    own = sides.attacked
    return not sides.columns.masked.repeatable and any(map(own.is_number, own.conf))


def average(sides: Sides, statement: sql.Statement) -> None:
    """The step of one row that asks averaging_attack()."""
    function: Function = function_named("averaging_attack")
    assert isinstance(function.takes, type)
    own, names = sides.columns, [c.name for c in sides.attacked.conf if sides.attacked.is_number(c)]
    key = [column.name for column in own.key]
    asked = function.takes(
        original=own.original.label, release=own.masked.label, conf=names, key=key, reads=READS
    )
    planned = function.plan(own.catalog, asked)
    assert isinstance(planned, sql.Expr)
    order = [sql.column("column_name")]
    told = {"_pp_names": sql.in_order("list", sql.column("column_name"), order)}
    told |= {
        f"_pp_{field}": sql.in_order("list", sql.double(sql.column(field)), order)
        for field in _FIELDS
    }
    statement.step(
        STEP, sql.query(sql.columns(told), sql.derived(planned, "_pp_reads_of")), materialized=True
    )


def averaging(spec: AttackSpec, told: AveragingTold) -> list[dict[str, Any]]:
    if told.names is None or told.r2_one is None or told.r2_mean is None or told.changed is None:
        says = READ_ONCE if spec.release_is_table else NO_NUMBERS
        return [row(AVERAGING, METHOD, says)]
    assert told.rows is not None
    place = {name: j for j, name in enumerate(told.names)}
    found = []
    for name in spec.conf:
        if name not in place:
            found.append(row(AVERAGING, METHOD, "not asked: categories have no mean", column=name))
            continue
        j = place[name]
        one, mean, n = float(told.r2_one[j]), float(told.r2_mean[j]), int(told.rows[j])
        between = score_ranges.difference(
            mean, score_ranges.of_r2(mean, n), one, score_ranges.of_r2(one, n)
        )
        if told.changed[j] == 0:
            between = (mean - one, mean - one)
        says = (
            f"the mean of {READS} reads explains {mean:.1%} of the variance, and one read {one:.1%}; "
            f"{float(told.changed[j]):.1%} of the values change between reads; {verdict(between[0] - 1e-9)}"
        )
        found.append(
            row(
                AVERAGING,
                METHOD,
                says,
                column=name,
                success=mean,
                baseline=one,
                between=between,
                rows=n,
            )
        )
    return found


SOLVE = told_udf(
    "ppduck_attack_averaging", averaging, AttackSpec, AveragingTold, rows_type(RESULTS)
)
