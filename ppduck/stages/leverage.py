"""The row that stands farthest apart from all others in the terms of a regression, found by its leverage.

Leverage is 1/n and the sum of squares along axes, which Python finds from the moments.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.query import tree as sql
from ppduck.runtime.solve import LEVERS
from ppduck.runtime.spec import MaskSpec
from ppduck.stages import aggregates
from ppduck.stages.masking import Masking
from ppduck.stages.moments import MOMENTS, Measured, told
from ppduck.stages.plan import Groups, Stage, Totals

WEIGHTS, AXES, FARTHEST = "_pp_weights", "_pp_axes", "_pp_farthest"
# With more terms, weights are lists and no columns: to plan so many columns would take longer than to run.
MOST_PLAIN = 12


def farthest(measured: Measured, spec: MaskSpec) -> list[Stage]:
    """Stages up to ``_pp_farthest``; none where there are no two terms that could set a row apart together."""
    terms = measured.judged(together=True)
    if len(terms) < 2:
        return []
    masking = measured.masking
    return [_weights(masking, spec), _axes(masking, len(terms)), _row(measured, terms)]


def _weights(masking: Masking, spec: MaskSpec) -> Groups:
    """What leverage is computed with, for each group in which the moments do not rule out that it is near 1."""
    weights = sql.named(LEVERS.in_sql(spec, told(masking)), "_pp_w")
    return Groups(WEIGHTS, True, sql.query([*masking.groups_of(), weights], sql.table(MOMENTS)))


def _axes(masking: Masking, size: int) -> Groups:
    """The weights of ``size`` axes as plain columns; one list an axis where these would be many.

    A weight for each term, and behind these where the axis begins. A group in which no row can stand apart has none.
    """
    weights = sql.column("_pp_w")
    columns = [*masking.groups_of(), sql.named(sql.item(weights.copy(), 1), "_pp_limit")]
    for k in range(size):
        before = 1 + k * (size + 1)
        if size > MOST_PLAIN:
            ends = (sql.number(before + 1), sql.number(before + size + 1))
            columns.append(sql.named(sql.call("list_slice", weights.copy(), *ends), f"_pp_axis{k}"))
            continue
        columns += [
            sql.named(sql.item(weights.copy(), before + j + 1), _weight(k, j))
            for j in (*range(k + 1), size)
        ]
    rows = sql.query(columns, sql.table(WEIGHTS), where=sql.present([weights]))
    return Groups(AXES, True, rows)


def _weight(axis: int, term: int) -> str:
    return f"_pp_axis{axis}_{term}"


def _row(measured: Measured, terms: Sequence[str]) -> Totals:
    """The row of the largest leverage of each group, if that is above the limit: its terms, and -1 behind them."""
    masking, size = measured.masking, len(terms)
    values = [sql.column(term) for term in terms]
    row: sql.Expr = sql.array([*(each.copy() for each in values), sql.number(-1)], "DOUBLE")
    kept = [each.copy() for each in values]
    if size > MOST_PLAIN:
        kept = [sql.named(row, "_pp_terms")]
        row = sql.column("_pp_terms")
        along = [
            sql.call("list_inner_product", sql.column(f"_pp_axis{k}"), row.copy())
            for k in range(size)
        ]
    else:
        along = [_along(k, values) for k in range(size)]
    complete = sql.derived(measured.complete_rows(), "_pp_complete")
    joined = complete.matched(sql.table(AXES), masking.same_group("_pp_complete", AXES))
    placed = sql.query(
        [*masking.groups_of("_pp_complete"), *kept, sql.star(AXES, masking.by)], joined
    )
    lengths = [sql.named(each, f"_pp_along{k}") for k, each in enumerate(along)]
    measured_rows = sql.query([exp.Star(), *lengths], sql.derived(placed, "_pp_placed"))
    squares = [
        sql.product(sql.column(f"_pp_along{k}"), sql.column(f"_pp_along{k}")) for k in range(size)
    ]
    levered = sql.query(
        [exp.Star(), sql.named(sql.total(squares), "_pp_leverage")],
        sql.derived(measured_rows, "_pp_measured"),
    )
    found = aggregates.farthest(
        "_pp_outlier", row, sql.column("_pp_leverage"), sql.column("_pp_limit")
    )
    rows = sql.derived(levered, "_pp_levered")
    return Totals(FARTHEST, True, masking.small_groups(), [found], rows, meets=[AXES])


def _along(axis: int, values: Sequence[sql.Expr]) -> sql.Expr:
    """How far a row lies along an axis, which weighs the terms up to its own."""
    parts = [sql.product(sql.column(_weight(axis, j)), values[j]) for j in range(axis + 1)]
    return exp.Sub(this=sql.total(parts), expression=sql.column(_weight(axis, len(values))))
