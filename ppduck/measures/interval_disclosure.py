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
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.direction import LOWER_IS_SAFER
from ppduck.call.parameters import MisreadError, parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.frozen import frozen
from ppduck.measures._pieces import both_sides, counted, refuse_infinite
from ppduck.pairs.columns import Compared, ComparedCall
from ppduck.pairs.measure import measure
from ppduck.pairs.moments import any_of, told_counts
from ppduck.pairs.rows import COUNT, HASH, PAIRS, PIECE, PIECES, Pairs, PairSpec, Told
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
NEAR = "_pp_near"  # a list: how many originals are in each window by standard deviations
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


@frozen
class IntervalSpec(PairSpec):
    """How wide the windows are."""

    percents: list[float]


@frozen
class IntervalTold(Told):
    """Largest absolute values; then how many originals are in the windows around their own masked value, and around
    one that was dealt to them: both of each category, and both of each number, for each width.
    """

    counts: Array | None
    peaks: Array | None
    agreed: Array | None
    ranked: Array | None
    near: Array | None


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
    ranked = [f"_pp_ranked{j}" for j in range(q)]
    inside = {name: _rank_counts(j, percents, name) for j, name in enumerate(ranked)}
    inside |= {NEAR: _near_counts(q, percents)} if q else {}
    told = {
        **told_counts(),
        "peaks": any_of("_pp_peaks"),
        "agreed": any_of("_pp_agreed"),
        "ranked": sql.flat(map(any_of, ranked)),
        "near": any_of(NEAR) if q else sql.array([], "DOUBLE"),
    }
    spec = pairs.spec(IntervalSpec, percents=percents)
    return pairs.answer(statement, SOLVE, spec, told, RESULTS, beside=inside)


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
    agreed = [
        sql.only(aggregates.rows(), sql.column(f"_pp_a{j}").eq(sql.column(f"{other}{j}")))
        for j in range(len(pairs.columns.categories))
        for other in ("_pp_b", "_pp_f")
    ]
    return {
        "_pp_peaks": aggregates.peaks([sql.column(name) for name in pairs.value_names]),
        "_pp_sd": sql.array(deviations, "DOUBLE"),
        "_pp_agreed": sql.array(agreed, "DOUBLE"),
    }


def _rank_counts(j: int, percents: list[float], to: str) -> sql.Expr:
    """How many originals of a column are in the window around their own masked value, for each width, and around the
    one that was dealt to them.

    Twice the rank of y is the number of masked values before its equals and up to them, plus one. Originals and masked
    values then stand in one order, in which each original counts the masked ones up to it, and before it.
    """
    value, is_masked = sql.column("_pp_value"), sql.column("_pp_is_masked")
    ranks = {"_pp_own": _twice_rank(f"_pp_y{j}"), "_pp_dealt": _twice_rank(f"_pp_e{j}")}
    originals = {"_pp_value": sql.column(f"_pp_x{j}"), **ranks}
    originals["_pp_is_masked"] = sql.cast(sql.null(), "TINYINT")
    releases = {"_pp_value": sql.column(f"_pp_y{j}"), **dict.fromkeys(ranks, sql.null())}
    releases["_pp_is_masked"] = sql.number(1)
    both = sql.union_all(
        [
            sql.query(sql.columns(side), sql.table(KEPT), where=_complete())
            for side in (originals, releases)
        ]
    )
    masked_ones = sql.call("count", is_masked)
    # Of equal values the originals come first.
    first = is_masked.is_(exp.null()).not_()
    up_to = sql.over(masked_ones, order=[value])
    before = sql.over(masked_ones.copy(), order=[value, first])
    counted = {name: sql.column(name) for name in (*ranks, "_pp_is_masked")}
    counted |= {"_pp_up_to": up_to, "_pp_before": before}
    ordered = sql.derived(
        sql.query(sql.columns(counted), sql.derived(both, "_pp_both")), "_pp_ranked"
    )
    widths = [f"_pp_width{i}" for i in range(len(percents))]
    whole = sql.derived(_of_complete(sql.column(COUNT), *_widths(percents, widths)), "_pp_whole")
    reach = {name: _reach(name) for name in ranks}
    rows = sql.query(
        [*sql.columns(reach), *map(sql.column, widths)],
        ordered.cross(whole),
        where=is_masked.is_(exp.null()),
    )
    inside = [
        f'count(*) FILTER (WHERE "{name}" <= "{width}")' for name in ranks for width in widths
    ]
    return sql.query([sql.named(_list(inside), to)], sql.derived(rows, "_pp_reaches"))


def _twice_rank(masked: str) -> sql.Expr:
    order = [sql.column(masked)]
    return sql.over(sql.call("rank"), order=order) + sql.over(aggregates.rows(), order=order)


def _reach(twice_rank: str) -> sql.Expr:
    """How far a window must reach to hold an original: w in ranks, as 4w, or 4w + 1 where it must reach farther.

    Its lower end must be at #(masked ≤ x), or below rank 1, which is 4·(r - #) or 4·(r - 1) + 1; its upper end at
    #(masked < x) + 1, or above rank n.
    """
    twice = sql.column(twice_rank) * 2
    low = sql.call("greatest", sql.column("_pp_up_to") * 4, sql.number(3))
    high = sql.call("least", sql.column("_pp_before") * 4 + 4, sql.column(COUNT) * 4 + 1)
    return sql.call("greatest", twice - low, high - twice.copy())


def _widths(percents: Sequence[float], names: Sequence[str]) -> list[sql.Expr]:
    """⌊2w⌋ + ⌈2w⌉ of each width w = p·n/100: 4v is at most that where v ≤ w, and 4v + 1 where v < w."""
    # Written out, as trees of so many terms take longer to plan than to run.
    twice = [f'{p!r}::DOUBLE * "{COUNT}" / 50' for p in percents]
    return [
        sql.named(sql.raw(f"floor({each}) + ceil({each})"), name)
        for each, name in zip(twice, names, strict=True)
    ]


def _list(counts: Sequence[str]) -> sql.Expr:
    # Written out, as above.
    return sql.raw(f"CAST([{', '.join(counts)}] AS DOUBLE[])")


def _of_complete(*columns: sql.Expr) -> sql.Expr:
    """What the pairs without NULL have together."""
    return sql.query(columns, sql.table(PIECES), where=_complete())


def _near_counts(columns: int, percents: list[float]) -> sql.Expr:
    """How many originals are near a masked value, for each column, own and dealt, and width."""
    apart = {
        f"_pp_apart{j}_{other}": sql.call(
            "abs", sql.column(f"_pp_x{j}") - sql.column(f"_pp_{other}{j}")
        )
        for j in range(columns)
        for other in ("y", "e")
    }
    deviations = {f"_pp_sd{j}": sql.item(sql.column("_pp_sd"), j + 1) for j in range(columns)}
    whole = sql.derived(_of_complete(*sql.columns(deviations)), "_pp_whole")
    rows = sql.query(
        [*sql.columns(apart), *map(sql.column, deviations)],
        sql.table(KEPT).cross(whole),
        where=_complete(),
    )
    inside = [
        f'count(*) FILTER (WHERE "_pp_apart{j}_{other}" <= "_pp_sd{j}" * {p!r}::DOUBLE / 100)'
        for j in range(columns)
        for other in ("y", "e")
        for p in percents
    ]
    return sql.query([sql.named(_list(inside), NEAR)], sql.derived(rows, "_pp_distances"))


def solve(spec: IntervalSpec, told: IntervalTold) -> list[dict[str, Any]]:
    n = counted(spec, told.counts)
    assert told.peaks is not None
    # DuckDB holds NaN to be the largest of all.
    refuse_infinite(spec, both_sides(spec.columns), np.asarray(told.peaks < LARGEST))
    own, dealt = _shares(told, len(spec.percents), n)
    columns = {"rank": spec.columns, "sd": spec.columns, "agreement": spec.categories}
    rows = [
        _row(name, window, own[window][j], dealt[window][j], n, spec.percents)
        for windows in (("rank", "sd"), ("agreement",))
        for j, name in enumerate(columns[windows[0]])
        for window in windows
    ]
    return [*rows, *_together(own, dealt, n, spec.percents)]


def _shares(told: IntervalTold, widths: int, n: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """Of the pairs that were counted, by column and width: of their own values, and of dealt ones."""
    counts = {
        "rank": (told.ranked, widths),
        "sd": (told.near, widths),
        "agreement": (told.agreed, 1),
    }
    shares = {
        window: np.asarray(found, dtype=float).reshape(-1, 2, width) / n
        for window, (found, width) in counts.items()
    }
    own, dealt = ({window: each[:, i] for window, each in shares.items()} for i in (0, 1))
    return own, dealt


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
