"""Narrow tables: only what a mask works on goes through its sorts, beside the number of each row.

By that number masked values find the rest of their row again at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.query import tree as sql
from ppduck.query.aggregates import rows
from ppduck.stages import aggregates
from ppduck.stages.aggregates import Aggregate
from ppduck.stages.masking import KEY, LOOK, ROW, Masking
from ppduck.stages.moments import Measured
from ppduck.stages.plan import Rows, Totals
from ppduck.stages.projection import measured_rows
from ppduck.stages.solve import SAMPLE

NARROW, MASKED = "_pp_narrow", "_pp_masked"
SAMPLED_UPTO = "_pp_sampled_upto"
LARGEST_KEY = 2.0**64 * (1 - 2.0**-53)


def own_columns(masking: Masking) -> list[str]:
    """The user's columns that a narrow table keeps."""
    roles = masking.roles
    return list(
        dict.fromkeys([*roles.strata, *roles.nonconf, *(column.name for column in roles.conf)])
    )


def masked_name(j: int) -> str:
    return f"_pp_y{j}"


def original_name(j: int) -> str:
    return f"_pp_x{j}"


def masked(
    measured: Measured, outputs: Sequence[sql.Expr], count: int, beside: Sequence[sql.Expr] = ()
) -> Rows:
    """``_pp_masked``: the form's values, NULL where the confidential value is; and what else the last steps read."""
    masking = measured.masking
    columns: list[sql.Expr] = [
        sql.column(ROW),
        sql.column(KEY),
        *map(sql.column, masking.roles.strata),
    ]
    for j, (column, output) in enumerate(zip(masking.roles.conf, outputs, strict=False)):
        value = sql.column(column.name)
        present = sql.cases((value.is_(exp.null()).not_(), output))
        columns += [sql.named(present, masked_name(j)), sql.named(value.copy(), original_name(j))]
    made = sql.derived(measured_rows(measured, count), "_pp_measured")
    return Rows(MASKED, True, sql.query([*columns, *beside], made))


def sampled_upto(size: int) -> Aggregate:
    """The largest key that a row of a sample of about ``size`` rows has."""
    whole = _upto(size, rows())

    def merge(found: Sequence[tuple[int]]) -> int:
        n = sum(each[0] for each in found)
        return int(float(size) / max(size, n) * LARGEST_KEY)

    return Aggregate(SAMPLED_UPTO, whole, (rows(),), merge, "sum")


def _upto(size: int, count: sql.Expr) -> sql.Expr:
    part = exp.Div(
        this=sql.number(float(size)), expression=sql.call("greatest", sql.number(size), count)
    )
    return sql.cast(exp.Mul(this=part, expression=sql.number(LARGEST_KEY)), "UBIGINT")


def in_sample() -> sql.Expr:
    """Whether a row is in the sample, the same ones at every reading."""
    return exp.LTE(this=sql.column(KEY), expression=sql.column(SAMPLED_UPTO, LOOK))


def sample_of_terms(measured: Measured) -> Totals:
    """``_pp_sample``: some rows of what is summed, one after the other, in an order that tells nothing."""
    chosen = measured.complete_rows([sql.column(KEY)], in_sample())
    values = [sql.column(name) for name in measured.summed]
    rows = aggregates.in_order_of("_pp_rows", values, sql.column(KEY))
    return Totals(
        SAMPLE, True, measured.masking.small_groups(), [rows], sql.derived(chosen, "_pp_chosen")
    )
