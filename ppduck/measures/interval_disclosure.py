"""interval_disclosure(): the share of original values that lie in a window around their masked value.

An intruder who takes the original to be near the masked value is right that often (Mateo-Sanz, Sebé & Domingo-Ferrer
2004; Mateo-Sanz, Domingo-Ferrer & Sebé 2005). For p = 1 … 10 %, averaged, n pairs, original x, masked y:

'rank'       with r the rank of y among all masked values (equal ones share their mean rank) and w = p·n/100, x lies
             between the masked values of ranks r - w and r + w: #(masked ≤ x) ≥ r - w and #(masked < x) + 1 ≤ r + w;
             a window that reaches beyond rank 1 or n has no end there
'sd'         |x - y| ≤ p % of the standard deviation of the originals
'agreement'  x = y, for categories

What chance gives is measured the same way, on masked values that are dealt out to other rows: in a column of few
values, or of many equal ones, most originals are near whatever a mask does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.direction import LOWER_IS_SAFER
from ppduck.call.parameters import MisreadError, parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.measures._pieces import both_sides, counted, refuse_infinite
from ppduck.pairs.columns import Compared, ComparedCall
from ppduck.pairs.measure import measure
from ppduck.pairs.moments import any_of, told_counts
from ppduck.pairs.rows import COUNT, HASH, PAIRS, PIECE, PIECES, Pairs, PairSpec, Told, named
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

NAME = "interval_disclosure"
RESULTS = (
    Result("column_name", "VARCHAR", "a column, or all of them on average"),
    Result("kind", "VARCHAR", "the window: rank, sd, or agreement of categories"),
    Result(
        "share",
        "DOUBLE",
        "originals inside the window around their masked value, the mean over its widths",
    ),
    Result("chance_share", "DOUBLE", "the same of masked values that are dealt out to other rows"),
    Result("narrowest", "DOUBLE", "the share in the narrowest window"),
    Result("widest", "DOUBLE", "the share in the widest window"),
    Result("rows", "BIGINT", "the pairs that it is of"),
    Result("direction", "VARCHAR", "that lower is safer"),
    Result("meaning", "VARCHAR", "the share in words"),
)
KEPT = "_pp_kept"  # the pairs with values dealt to them: numbers as _pp_e0…, categories as _pp_f0…
INSIDE = "_pp_inside"  # a list: how many originals are in each window
LARGEST = 1e150  # what can be squared, and summed
TOGETHER = "all, on average"
_MEANING = {
    "rank": "share of originals between the masked values that rank p % of the rows below and above their own",
    "sd": "share of originals within p % of the column's standard deviation of their masked value",
    "agreement": "share of originals that are equal to their masked value",
}


_PERCENT = arguments.number(Range(0, 100, above=True))


@arguments.reader(f"{_PERCENT.takes}, or a list of them, such as [1, 5, 10]", _PERCENT.within)
def _percents(value: Any) -> list[float]:
    if not isinstance(value, list):
        return [float(_PERCENT(value))]
    if not value:
        raise MisreadError("is empty; it takes percentages, such as [1, 5, 10]")
    return sorted({float(_PERCENT(each)) for each in value})


@parameters
class IntervalDisclosureCall(ComparedCall):
    """How wide the windows are."""

    percents: Sequence[float] = parameter(
        _percents,
        "half the width of the windows, in % of the rows for ranks and of the standard deviation; the share is their "
        "mean",
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    )


@dataclass(frozen=True)
class IntervalSpec(PairSpec):
    """How wide the windows are."""

    percents: list[float]


@dataclass(frozen=True)
class IntervalTold(Told):
    """Largest absolute values; then how many originals are in the windows around their own masked value, and around
    one that was dealt to them: of each category, and of each number and width.
    """

    counts: Array | None
    peaks: Array | None
    own_agreed: Array | None
    own_ranked: Array | None
    own_near: Array | None
    dealt_agreed: Array | None
    dealt_ranked: Array | None
    dealt_near: Array | None


def choose(columns: Compared, call: IntervalDisclosureCall) -> None:
    columns.use_columns(call.conf, categories=True)


def answer(pairs: Pairs, call: IntervalDisclosureCall) -> sql.Expr:
    percents, q = [float(p) for p in call.percents], len(pairs.columns.numbers)
    statement = pairs.statement()
    # Each column is sorted by itself: the tables are matched once, and no key is carried along.
    own = [PIECE, *pairs.value_names, *pairs.category_names]
    dealt = _dealt(pairs.columns)
    statement.step(
        KEPT, sql.query([*map(sql.column, own), *dealt], sql.table(PAIRS)), materialized=True
    )
    pairs.aggregate(statement, _looks(pairs), sql.table(KEPT))
    told = {**told_counts(), "peaks": any_of("_pp_peaks")}
    for kind, numbers, categories in (("own", "_pp_y", "_pp_b"), ("dealt", "_pp_e", "_pp_f")):
        for j in range(q):
            counts = _rank_counts(j, percents, f"{numbers}{j}")
            statement.step(f"_pp_ranked_{kind}{j}", counts, materialized=True)
        if q:
            statement.step(
                f"_pp_near_{kind}", _near_counts(q, percents, numbers), materialized=True
            )
        ranked = [_counted(f"_pp_ranked_{kind}{j}") for j in range(q)]
        near = [_counted(f"_pp_near_{kind}")] if q else []
        told[f"{kind}_agreed"] = any_of(f"_pp_agreed{categories}")
        told[f"{kind}_ranked"] = sql.call("flatten", sql.array(ranked, "DOUBLE[]"))
        told[f"{kind}_near"] = sql.call("flatten", sql.array(near, "DOUBLE[]"))
    return pairs.answer(
        statement, SOLVE, pairs.spec(IntervalSpec, percents=percents), told, RESULTS
    )


def _counted(step: str) -> sql.Expr:
    return sql.scalar(sql.query([sql.column(INSIDE)], sql.table(step)))


def _complete() -> sql.Expr:
    return sql.column(PIECE).is_(exp.null()).not_()


def _dealt(columns: Compared) -> list[sql.Expr]:
    """Masked values of another row, each once: the next one in an order that has nothing to do with them."""
    moved = {f"_pp_y{j}": f"_pp_e{j}" for j in range(len(columns.numbers))}
    moved |= {f"_pp_b{j}": f"_pp_f{j}" for j in range(len(columns.categories))}
    by, order = [sql.column(PIECE).is_(exp.null())], [sql.column(HASH)]
    return [
        sql.named(
            sql.call(
                "coalesce",
                *(
                    sql.over(sql.call(each, sql.column(name)), by, order)
                    for each in ("lead", "first_value")
                ),
            ),
            to,
        )
        for name, to in moved.items()
    ]


def _looks(pairs: Pairs) -> dict[str, sql.Expr]:
    """Aggregates over all pairs, each a list: what is too large, standard deviations, categories that agree."""
    numbers = [sql.column(f"_pp_x{j}") for j in range(len(pairs.columns.numbers))]
    # An aggregate of its own raises where it meets infinity; those are refused later, by name.
    deviations = [
        sql.call(
            "coalesce",
            sql.only(sql.call("stddev_samp", x), sql.call("abs", x.copy()) < sql.number(LARGEST)),
            sql.number(0),
        )
        for x in numbers
    ]
    places = range(len(pairs.columns.categories))
    agreed = {
        f"_pp_agreed{other}": [
            sql.only(aggregates.rows(), sql.column(f"_pp_a{j}").eq(sql.column(f"{other}{j}")))
            for j in places
        ]
        for other in ("_pp_b", "_pp_f")
    }
    return {
        "_pp_peaks": aggregates.peaks([sql.column(name) for name in pairs.value_names]),
        "_pp_sd": sql.array(deviations, "DOUBLE"),
        **{name: sql.array(each, "DOUBLE") for name, each in agreed.items()},
    }


def _rank_counts(j: int, percents: list[float], masked: str) -> sql.Expr:
    """How many originals of a column are in the window around a masked value, for each width.

    Twice the rank of y is the number of masked values before its equals and up to them, plus one. Originals and masked
    values then stand in one order, in which each original counts the masked ones up to it, and before it.
    """
    y, value, twice_rank, is_masked = (
        sql.column(name) for name in (masked, "_pp_value", "_pp_twice_rank", "_pp_is_masked")
    )
    rank = sql.over(sql.call("rank"), order=[y]) + sql.over(aggregates.rows(), order=[y])
    kept, complete = sql.table(KEPT), _complete()
    nothing = sql.cast(sql.null(), "TINYINT")
    originals = {
        "_pp_value": sql.column(f"_pp_x{j}"),
        "_pp_twice_rank": rank,
        "_pp_is_masked": nothing,
    }
    releases = {
        "_pp_value": sql.column(f"_pp_y{j}"),
        "_pp_twice_rank": sql.null(),
        "_pp_is_masked": sql.number(1),
    }
    both = sql.union_all(
        [sql.query(named(side), kept, where=complete.copy()) for side in (originals, releases)]
    )
    masked_ones = sql.call("count", is_masked)
    # Of equal values the originals come first.
    first = is_masked.is_(exp.null()).not_()
    counted = sql.query(
        [
            twice_rank,
            is_masked,
            sql.named(sql.over(masked_ones, order=[value]), "_pp_up_to"),
            sql.named(sql.over(masked_ones.copy(), order=[value, first]), "_pp_before"),
        ],
        sql.derived(both, "_pp_both"),
    )
    n, up_to, before = (sql.column(name) for name in (COUNT, "_pp_up_to", "_pp_before"))
    # How wide a window must be to reach an original at its lower and at its upper end; or to have no end there.
    ends = {
        "_pp_low": twice_rank - up_to * 2,
        "_pp_first": twice_rank - 2,
        "_pp_high": before * 2 + 2 - twice_rank,
        "_pp_last": n * 2 - twice_rank,
    }
    rows = sql.derived(counted, "_pp_ranked").cross(sql.derived(_of_complete(n), "_pp_whole"))
    originals_only = sql.query([*named(ends), n], rows, where=is_masked.is_(exp.null()))
    # Written out, as a tree of so many counts takes longer to plan than to run.
    widths = [f'({p!r}::DOUBLE * "{COUNT}" / 50)' for p in percents]
    inside = [
        f'count(*) FILTER (WHERE ("_pp_low" <= {width} OR "_pp_first" < {width}) '
        f'AND ("_pp_high" <= {width} OR "_pp_last" < {width}))'
        for width in widths
    ]
    return sql.query([sql.named(_list(inside), INSIDE)], sql.derived(originals_only, "_pp_ends"))


def _list(counts: Sequence[str]) -> sql.Expr:
    return sql.raw(f"CAST([{', '.join(counts)}] AS DOUBLE[])")


def _of_complete(*columns: sql.Expr) -> sql.Expr:
    """What the pairs without NULL have together."""
    return sql.query(columns, sql.table(PIECES), where=_complete())


def _near_counts(columns: int, percents: list[float], masked: str) -> sql.Expr:
    """How many originals are near a masked value, for each column and width."""
    apart = {
        f"_pp_apart{j}": sql.call("abs", sql.column(f"_pp_x{j}") - sql.column(f"{masked}{j}"))
        for j in range(columns)
    }
    deviations = {f"_pp_sd{j}": sql.item(sql.column("_pp_sd"), j + 1) for j in range(columns)}
    whole = sql.derived(_of_complete(*named(deviations)), "_pp_whole")
    rows = sql.query(
        [*named(apart), *map(sql.column, deviations)],
        sql.table(KEPT).cross(whole),
        where=_complete(),
    )
    # Written out, as above.
    inside = [
        f'count(*) FILTER (WHERE "_pp_apart{j}" <= "_pp_sd{j}" * {p!r}::DOUBLE / 100)'
        for j in range(columns)
        for p in percents
    ]
    return sql.query([sql.named(_list(inside), INSIDE)], sql.derived(rows, "_pp_distances"))


def solve(spec: IntervalSpec, told: IntervalTold) -> list[dict[str, Any]]:
    n = counted(spec, told.counts)
    assert told.peaks is not None
    # DuckDB holds NaN to be the largest of all.
    refuse_infinite(spec, both_sides(spec.columns), np.asarray(told.peaks < LARGEST))
    own = _shares(told.own_agreed, told.own_ranked, told.own_near, len(spec.percents), n)
    dealt = _shares(told.dealt_agreed, told.dealt_ranked, told.dealt_near, len(spec.percents), n)
    columns = {"rank": spec.columns, "sd": spec.columns, "agreement": spec.categories}
    rows = [
        _row(name, window, own[window][j], dealt[window][j], n, spec.percents)
        for windows in (("rank", "sd"), ("agreement",))
        for j, name in enumerate(columns[windows[0]])
        for window in windows
    ]
    return [*rows, *_together(own, dealt, n, spec.percents)]


def _shares(
    agreed: Array | None, ranked: Array | None, near: Array | None, widths: int, n: int
) -> dict[str, Array]:
    """Of the pairs that were counted, by column and width."""
    return {
        "rank": np.asarray(ranked, dtype=float).reshape(-1, widths) / n,
        "sd": np.asarray(near, dtype=float).reshape(-1, widths) / n,
        "agreement": np.asarray(agreed, dtype=float).reshape(-1, 1) / n,
    }


def _together(
    own: dict[str, Array], dealt: dict[str, Array], n: int, percents: list[float]
) -> Iterator[dict[str, Any]]:
    for window, of_columns in own.items():
        if len(of_columns):
            yield _row(
                TOGETHER, window, of_columns.mean(axis=0), dealt[window].mean(axis=0), n, percents
            )


def _row(
    column: str, window: str, shares: Array, dealt: Array, n: int, percents: list[float]
) -> dict[str, Any]:
    widths = (
        f"p = {percents[0]:g}"
        if len(percents) == 1
        else f"{len(percents)} p from {percents[0]:g} to {percents[-1]:g}"
    )
    of_p = "" if window == "agreement" else f", mean over {widths}"
    return {
        "column_name": column,
        "kind": window,
        "share": float(np.mean(shares)),
        "chance_share": float(np.mean(dealt)),
        "narrowest": float(shares[0]),
        "widest": float(shares[-1]),
        "rows": n,
        "direction": LOWER_IS_SAFER,
        "meaning": f"{_MEANING[window]}{of_p}; chance_share is that of values dealt to other rows",
    }


SOLVE = told_udf(
    "ppduck_interval_disclosure", solve, IntervalSpec, IntervalTold, rows_type(RESULTS)
)
FUNCTION = register(
    measure(
        NAME,
        IntervalDisclosureCall,
        "The share of original values inside a window around their masked value, by ranks and by standard deviations.",
        "Mateo-Sanz, Domingo-Ferrer & Sebé 2005",
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM interval_disclosure('customers', 'released', conf=['x1','x2'], key='id', percents=[5, 10])",
        udfs=(SOLVE,),
    )
)
