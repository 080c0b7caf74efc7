"""information_loss(): how far values, covariances, variances and correlations of a release are from the original's.

IL = 100 · mean of: mean |x - x'| / |x|; mean |v - v'| / |v| over the lower triangle of the covariances, its diagonal
included; mean |s - s'| / s over the variances; mean |r - r'| over the pairs of columns (Domingo-Ferrer & Torra 2001).
Where the original is 0, a difference counts 0 if there is none and 1 if there is one. With scale := 'sd' the first term
is the mean of |x - x'| / (√2 · sd), IL1s, which zeros and values near them do not blow up (Yancey, Winkler & Creecy
2002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.call import arguments
from ppduck.call.direction import LOWER_IS_BETTER
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.errors import listed
from ppduck.frozen import frozen
from ppduck.measures._pieces import both_sides, counted, refuse_infinite
from ppduck.pairs import moments as sums
from ppduck.pairs.columns import Compared, ComparedCall
from ppduck.pairs.measure import measure
from ppduck.pairs.rows import Pairs, PairSpec, Told
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array, Moments

NAME = "information_loss"
RESULTS = (
    Result(
        "component",
        "VARCHAR",
        "values, covariances, variances, correlations; their mean; squared_error",
    ),
    Result(
        "value",
        "DOUBLE",
        "the loss, as a share; NULL where a single column has no pairs of columns",
    ),
    Result("zeros", "BIGINT", "how many differences are of what was 0, and count 1 each"),
    Result("rows", "BIGINT", "the pairs that it is of"),
    Result("direction", "VARCHAR", "that lower is better"),
    Result("definition", "VARCHAR", "the formula in words"),
)
# A covariance of so small a part of the deviations is the rounding of one that is 0.
ROUNDING = 1e-12
TERMS = ("values", "covariances", "variances", "correlations")
_DEFINITION = {
    "value": "mean of |x - x'| / |x|",
    "sd": "mean of |x - x'| / (sqrt(2) * standard deviation of x)",
    "covariances": "mean of |v - v'| / |v| over all covariances and variances",
    "variances": "mean of |s - s'| / s over all variances",
    "correlations": "mean of |r - r'| over all pairs of columns",
    "squared_error": "SSE / SST: sum of (x - x')² by that of (x - mean)², mean over columns; beside the others",
}


@parameters
class InformationLossCall(ComparedCall):
    """What a change is measured by."""

    scale: str = parameter(
        arguments.choice("value", "sd"),
        "what a changed value is measured by: itself, or with 'sd' its column's standard deviation, as zeros need it",
        "value",
    )


@frozen
class LossSpec(PairSpec):
    """What a change is measured by."""

    scale: str


@frozen
class LossTold(Told):
    """Moments of both sides; of each column the sums of changes, relative, absolute and squared, how many values
    changed, and how many of these were 0; of each side's columns which are constant.
    """

    counts: Array | None
    sums: Array | None
    products: Array | None
    relative: Array | None
    absolute: Array | None
    squared: Array | None
    changed: Array | None
    zeros: Array | None
    constant: Array | None


def choose(columns: Compared, call: InformationLossCall) -> None:
    columns.use_columns(call.conf, categories=False)


def answer(pairs: Pairs, call: InformationLossCall) -> sql.Expr:
    asked = _aggregates(len(pairs.columns.numbers))
    statement = sums.moments(pairs, {f"_pp_{name}": part for name, part in asked.items()})
    told = {
        **sums.told_counts(),
        **sums.told_sums(),
        **{name: sums.any_of(f"_pp_{name}") for name in asked},
    }
    return pairs.answer(statement, SOLVE, pairs.spec(LossSpec, scale=call.scale), told, RESULTS)


def _aggregates(q: int) -> dict[str, sql.Expr]:
    """Lists with an entry for each column."""
    columns = [(sql.column(f"_pp_x{j}"), sql.column(f"_pp_y{j}")) for j in range(q)]

    def each(of: Callable[[sql.Expr, sql.Expr], sql.Expr]) -> sql.Expr:
        return sql.array((of(x, y) for x, y in columns), "DOUBLE")

    def change(x: sql.Expr, y: sql.Expr) -> sql.Expr:
        return sql.call("abs", x - y)

    def relative(x: sql.Expr, y: sql.Expr) -> sql.Expr:
        same, from_zero = (x.eq(y), sql.number(0.0)), (x.eq(sql.number(0)), sql.number(1.0))
        return sql.cases(same, from_zero, otherwise=change(x, y) / sql.call("abs", x.copy()))

    sides = [x for x, _ in columns] + [y for _, y in columns]
    return {
        "relative": each(lambda x, y: sql.call("sum", sql.double(relative(x, y)))),
        "absolute": each(lambda x, y: sql.call("sum", change(x, y))),
        "squared": each(lambda x, y: sql.call("sum", (x - y) * (x - y))),
        "changed": each(lambda x, y: sql.only(aggregates.rows(), x.neq(y))),
        "zeros": each(
            lambda x, y: sql.only(aggregates.rows(), x.eq(sql.number(0)) & y.neq(sql.number(0)))
        ),
        "constant": sql.cast(aggregates.constant(sides), "DOUBLE[]"),
    }


def solve(spec: LossSpec, told: LossTold) -> list[dict[str, Any]]:
    n = counted(spec, told.counts)
    assert told.sums is not None
    assert told.products is not None
    relative, absolute, squared, changed, zeros, constant = (
        np.asarray(part, dtype=float)
        for part in (
            told.relative,
            told.absolute,
            told.squared,
            told.changed,
            told.zeros,
            told.constant,
        )
    )
    moments = Moments.from_sums(n, told.sums, told.products)
    finite = np.asarray(np.isfinite(moments.mean) & np.isfinite(np.diag(moments.cross)))
    refuse_infinite(spec, both_sides(spec.columns), finite)
    found = _Moved.between(moments, changed > 0, constant > 0)
    if spec.scale == "sd":
        values = _by_deviation(absolute / n, changed / n, np.sqrt(np.diag(found.before)))
        moved = int(changed[np.diag(found.before) == 0].sum())
    else:
        values, moved = relative / n, int(zeros.sum())
    if not np.isfinite(values).all():
        near = listed(
            name for name, value in zip(spec.columns, values, strict=True) if not np.isfinite(value)
        )
        raise spec.refuse(
            f"in {near} values are so near to 0 that their relative change is infinite; measure with scale := 'sd'."
        )
    terms = {"values": (float(values.mean()), moved)} | found.terms()
    return [
        *_rows(terms, n, spec.scale),
        _squared_error(squared, (n - 1) * np.diag(found.before), n),
    ]


def _squared_error(squared: Array, total: Array, n: int) -> dict[str, Any]:
    """What microaggregation is judged by; a constant that changed counts 1."""
    of_columns = np.where(total > 0, squared / np.where(total > 0, total, 1.0), squared > 0)
    return {
        "component": "squared_error", "value": float(of_columns.mean()),
        "zeros": int(((total == 0) & (squared > 0)).sum()), "rows": n, "direction": LOWER_IS_BETTER,
        "definition": _DEFINITION["squared_error"],
    }  # fmt: skip


def _by_deviation(change: Array, changed: Array, sd: Array) -> Array:
    """|x - x'| / (√2·sd), on average; in a constant column the share of values that changed."""
    return np.where(sd > 0, change / (np.sqrt(2) * np.where(sd > 0, sd, 1.0)), changed)


@frozen
class _Moved:
    """Covariances before and after, exactly 0 where a column is constant, and exactly equal where nothing changed."""

    before: Array
    after: Array

    @classmethod
    def between(
        cls, moments: Moments, changed: npt.NDArray[np.bool_], constant: npt.NDArray[np.bool_]
    ) -> _Moved:
        q = len(changed)
        covariance = np.where(constant[:, None] | constant[None, :], 0.0, moments.covariance)
        before, after = covariance[:q, :q], covariance[q:, q:]
        # Sums about different centres differ by rounding, even those of equal values.
        after = np.where(changed[:, None] | changed[None, :], after, before)
        scale = np.sqrt(np.outer(np.diag(before), np.diag(before)))
        before, after = (
            np.where(np.abs(each) <= ROUNDING * scale, 0.0, each) for each in (before, after)
        )
        return cls(before, after)

    def terms(self) -> dict[str, tuple[float, int] | None]:
        """Mean differences, and how many of them are of what was 0 before."""
        lower, pairs = np.tril_indices(len(self.before)), np.tril_indices(len(self.before), -1)
        found: dict[str, tuple[float, int] | None] = {
            "covariances": _relative(self.before[lower], self.after[lower]),
            "variances": _relative(np.diag(self.before), np.diag(self.after)),
            "correlations": None,
        }
        if len(pairs[0]):
            r, masked_r = (_correlation(each)[pairs] for each in (self.before, self.after))
            # Nothing correlates with a constant: one that became another is no change, one that came or went is.
            none, masked_none = np.isnan(r), np.isnan(masked_r)
            apart = np.where(
                none & masked_none, 0.0, np.where(none | masked_none, 1.0, np.abs(r - masked_r))
            )
            found["correlations"] = float(apart.mean()), int((none & ~masked_none).sum())
        return found


def _relative(before: Array, after: Array) -> tuple[float, int]:
    zero = before == 0
    apart = np.abs(before - after)
    return (
        float(np.where(zero, apart > 0, apart / np.where(zero, 1.0, np.abs(before))).mean()),
        int((zero & (apart > 0)).sum()),
    )


def _correlation(covariance: Array) -> Array:
    sd = np.sqrt(np.diag(covariance))
    scale = np.outer(sd, sd)
    result: Array = np.where(scale > 0, covariance / np.where(scale > 0, scale, 1.0), np.nan)
    return result


def _rows(
    terms: dict[str, tuple[float, int] | None], n: int, scale: str
) -> Iterable[dict[str, Any]]:
    def row(
        component: str, value: float | None, zeros: int | None, definition: str
    ) -> dict[str, Any]:
        counted = (
            f"; {zeros} that were 0 and changed count 1 each"
            if zeros and component in TERMS
            else ""
        )
        return {
            "component": component, "value": value, "zeros": zeros, "rows": n, "direction": LOWER_IS_BETTER,
            "definition": definition + counted,
        }  # fmt: skip

    for component in TERMS:
        term = terms[component]
        definition = _DEFINITION[scale if component == "values" else component]
        if term is None:
            yield row(component, None, None, "one column has no pairs; left out of the mean")
        else:
            yield row(component, term[0], term[1], definition)
    had = {component: term for component in TERMS if (term := terms[component]) is not None}
    total = sum(value for value, _ in had.values()) / len(had)
    *first, last = had
    definition = f"mean of {', '.join(first)} and {last}"
    yield row("information_loss", total, sum(zeros for _, zeros in had.values()), definition)


SOLVE = told_udf("ppduck_information_loss", solve, LossSpec, LossTold, rows_type(RESULTS))
FUNCTION = register(
    measure(
        NAME,
        InformationLossCall,
        "How far values, covariances, variances and correlations of a release are from the original's, as shares.",
        "Domingo-Ferrer & Torra 2001; Yancey, Winkler & Creecy 2002",
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM information_loss('customers', 'released', conf=['x1','x2'], key='id')",
        udfs=(SOLVE,),
    )
)
