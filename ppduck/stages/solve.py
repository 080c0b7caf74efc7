"""The small solve inside a statement, and its coefficients as columns that rows can be multiplied by."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.call.linear_mask import LinearMask
from ppduck.call.roles import numeric
from ppduck.query import tree as sql
from ppduck.runtime.solve import SOLVE
from ppduck.runtime.spec import MaskSpec
from ppduck.stages import aggregates
from ppduck.stages.aggregates import Aggregate
from ppduck.stages.leverage import FARTHEST, farthest
from ppduck.stages.masking import LOOK, QUERY_NUMBER, TWEAK, Masking
from ppduck.stages.moments import MOMENTS, Measured, told
from ppduck.stages.plan import Groups, Stage, Totals
from ppduck.stages.terms import Terms

SOLVED, FORM, SAMPLE = "_pp_solved", "_pp_form", "_pp_sample"


def column_figures(masking: Masking) -> list[Aggregate]:
    """Of conf the smallest and largest values, the means, and whether all are whole: what masking may change."""
    conf = masking.roles.conf
    numbers = [numeric(column) for column in conf]
    whole = [
        exp.true()
        if column.is_integer
        else exp.EQ(this=number.copy(), expression=sql.call("trunc", number.copy()))
        for column, number in zip(conf, numbers, strict=True)
    ]
    return [
        aggregates.least("_pp_least", numbers),
        aggregates.most("_pp_most", numbers),
        aggregates.means("_pp_mean", numbers),
        aggregates.every("_pp_whole", whole),
    ]


def solving(
    measured: Measured, spec: MaskSpec, outputs: int, sampled: Totals | None = None
) -> list[Stage]:
    """Stages from rows with their noise to ``_pp_form``; ``sampled`` are rows that the solve looks at one by one."""
    apart = farthest(measured, spec)
    sample = [] if sampled is None else [sampled]
    solved = _solved(measured, spec, bool(apart), bool(sample))
    form = _form(measured, outputs)
    return [measured.moments(), *apart, *sample, solved, form]


def _solved(measured: Measured, spec: MaskSpec, apart: bool, sampled: bool) -> Groups:
    masking = measured.masking
    nothing = sql.cast(exp.null(), "DOUBLE[]")
    tells = told(masking)
    tables = sql.table(MOMENTS)
    if sampled:
        tables = tables.matched(sql.table(SAMPLE), masking.same_group(MOMENTS, SAMPLE))
    if apart:
        tables = tables.matched(
            sql.table(FARTHEST), masking.same_group(MOMENTS, FARTHEST), outer=True
        )
    tables = tables.matched(sql.table(LOOK), masking.same_group(MOMENTS, LOOK))
    also = {each.name for each in measured.also}
    tells |= {
        "farthest": sql.column("_pp_outlier", FARTHEST) if apart else nothing.copy(),
        **{
            name: sql.column(f"_pp_{name}", MOMENTS) if f"_pp_{name}" in also else nothing.copy()
            for name in ("rank_sums", "rank_products")
        },
        "sample": sql.column("_pp_rows", SAMPLE) if sampled else nothing.copy(),
        **{name: sql.column(f"_pp_{name}", LOOK) for name in ("least", "most", "mean", "whole")},
        "query": sql.call(QUERY_NUMBER),
        # DuckDB leaves out what nothing reads: asking for the tweak makes it run the checks of the first look.
        "tweak": sql.column(TWEAK, LOOK),
    }
    columns = [*masking.groups_of(MOMENTS), sql.named(SOLVE.in_sql(spec, tells), "_pp_solution")]
    return Groups(SOLVED, True, sql.query(columns, tables))


def _form(measured: Measured, outputs: int) -> Groups:
    """The solve's list as plain columns, together with every term's centre."""
    masking, terms = measured.masking, measured.terms
    named = coefficients(masking.mask, terms, outputs)
    found = [
        sql.named(sql.item(sql.column("_pp_solution"), i), name)
        for i, name in enumerate(named, start=1)
    ]
    centres = [sql.column(name, LOOK) for name in terms.centres]
    tables = sql.table(SOLVED).matched(sql.table(LOOK), masking.same_group(SOLVED, LOOK))
    return Groups(FORM, True, sql.query([*masking.groups_of(LOOK), *centres, *found], tables))


def coefficients(mask: object, terms: Terms, outputs: int) -> list[str]:
    """Names of the coefficients, output by output, as ``flatten`` lays them out."""
    assert isinstance(mask, LinearMask)
    return [f"_pp_c{i}" for i in range(outputs * mask.size(terms.p, terms.q))]


def outputs(measured: Measured, count: int, x: Sequence[sql.Expr] | None = None) -> list[sql.Expr]:
    """The form, column by column; the centre comes last, so that a large one costs digits once.

    ``x`` are the terms of X: a row that lacks one conf column is else masked in the others as if it were average.
    """
    masking, terms = measured.masking, measured.terms
    mask, p, q = masking.mask, terms.p, terms.q
    assert isinstance(mask, LinearMask)
    s = [sql.column(name) for name in terms.deviations[:p]]
    own = [sql.call("coalesce", sql.column(name), sql.number(0.0)) for name in terms.deviations[p:]]
    x = own if x is None else x
    v = [sql.column(f"_pp_v{j}") for j in range(q)]
    names = iter(coefficients(mask, terms, count))
    found = []
    for output in range(count):
        intercept = sql.column(next(names))
        used = mask.terms(output, s, x, v)
        parts = [sql.product(term, sql.column(next(names))) for term in used]
        centre = sql.column(terms.centres[p + output % q])
        found.append(sql.total([intercept, *parts, centre]))
    return found
