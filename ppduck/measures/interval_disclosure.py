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

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.direction import LOWER_IS_SAFER
from ppduck.call.parameters import MisreadError, Parameter
from ppduck.call.ranges import Range
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.measures._measure import both_sides, counted, refuse_infinite
from ppduck.measures.relation_frame import row_types
from ppduck.pairs import rows as row_pairs
from ppduck.pairs.moments import COMPARED, COUNT, KEY, ORIGINAL, RELEASE, Pairs
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

NAME = "interval_disclosure"
SOLVE = "ppduck_interval_disclosure"
COLUMNS = {
    "column_name": "VARCHAR",
    "kind": "VARCHAR",
    "share": "DOUBLE",
    "chance_share": "DOUBLE",
    "narrowest": "DOUBLE",
    "widest": "DOUBLE",
    "rows": "BIGINT",
    "direction": "VARCHAR",
    "meaning": "VARCHAR",
}
GIVES = row_types(COLUMNS)
# Specification, number of pairs; pairs without NULL, largest absolute values, and what is counted in each window.
TAKES = ["VARCHAR", "BIGINT", *["DOUBLE[]"] * 8]
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


DEFAULT = [float(p) for p in range(1, 11)]
PERCENTS = Parameter(
    "percents",
    _percents,
    "half the width of the windows, in % of the rows for ranks and of the standard deviation; the share is their mean",
    "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
)


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    pairs = Pairs(NAME, catalog, given)
    pairs.use_columns(categories=True)
    pairs.faults.raise_if_any()
    percents = given.get("percents", DEFAULT)
    statement = pairs.statement()
    # Each column is sorted by itself: the tables are matched once, and no key is carried along.
    names = ["_pp_piece", *pairs.value_names, *pairs.category_names]
    columns = [sql.column(name) for name in names] + [sql.raw(each) for each in _dealt(pairs)]
    statement.step("_pp_kept", sql.select(columns, '"_pp_pairs"'), materialized=True)
    pairs.told(statement, _looks(pairs), '"_pp_kept"')
    told = [COUNT, 'any_value("_pp_peaks")']
    for kind, numbers, categories in (("own", "_pp_y", "_pp_b"), ("dealt", "_pp_e", "_pp_f")):
        counts = ["[]::DOUBLE[]", "[]::DOUBLE[]"]
        if pairs.numbers:
            for j in range(len(pairs.numbers)):
                rank = _rank_counts(j, percents, f"{numbers}{j}")
                statement.step(f"_pp_rank_{kind}{j}", rank, materialized=True)
            near = _near_counts(len(pairs.numbers), percents, numbers)
            statement.step(f"_pp_near_{kind}", near, materialized=True)
            ranks = (f'(SELECT "_pp_counts" FROM "_pp_rank_{kind}{j}")' for j in range(len(pairs.numbers)))
            counts = [f"flatten([{', '.join(ranks)}])", f'(SELECT "_pp_counts" FROM "_pp_near_{kind}")']
        told += [f'any_value("_pp_agreed{categories}")', *counts]
    return pairs.rows(statement, SOLVE, told, COLUMNS, percents=percents)


def _dealt(pairs: Pairs) -> list[str]:
    """Masked values of another row, each once: the next one in an order that has nothing to do with them."""
    over = 'OVER (PARTITION BY "_pp_piece" IS NULL ORDER BY "_pp_key" {})'
    following, first = over.format(""), over.format("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")
    moved = {f"_pp_y{j}": f"_pp_e{j}" for j in range(len(pairs.numbers))}
    moved |= {f"_pp_b{j}": f"_pp_f{j}" for j in range(len(pairs.categories))}
    return [
        f'coalesce(lead("{name}") {following}, first_value("{name}") {first}) AS "{to}"' for name, to in moved.items()
    ]


def _looks(pairs: Pairs) -> dict[str, sql.Expr]:
    """Aggregates over all pairs, each a list: what is too large, standard deviations, categories that agree."""
    # An aggregate of its own raises where it meets infinity; those are refused later, by name.
    deviations = [
        sql.raw(f'coalesce(stddev_samp("_pp_x{j}") FILTER (abs("_pp_x{j}") < {LARGEST!r}), 0)')
        for j in range(len(pairs.numbers))
    ]
    agreed = {
        other: [sql.raw(f'count(*) FILTER ("_pp_a{j}" = "{other}{j}")') for j in range(len(pairs.categories))]
        for other in ("_pp_b", "_pp_f")
    }
    return {
        "_pp_peaks": aggregates.peaks([sql.column(name) for name in pairs.value_names]),
        "_pp_sd": sql.array(deviations, "DOUBLE"),
        **{f"_pp_agreed{other}": sql.array(each, "DOUBLE") for other, each in agreed.items()},
    }


def _rank_counts(j: int, percents: list[float], masked: str) -> str:
    """How many originals of a column are in the window around a masked value, for each width.

    Twice the rank of y, r2, is the number of masked values before its equals and up to them, plus one. Originals and
    masked values then stand in one order, in which each original counts the masked ones up to it, and before it.
    """
    ranked = (
        f'SELECT "_pp_x{j}" AS x, rank() OVER (ORDER BY "{masked}" ASC) + '
        f'count(*) OVER (ORDER BY "{masked}" ASC) AS r2 FROM "_pp_kept" WHERE "_pp_piece" IS NOT NULL'
    )
    union = (
        f"SELECT x AS v, r2, NULL::TINYINT AS masked FROM ({ranked}) UNION ALL "
        f'SELECT "_pp_y{j}", NULL, 1 FROM "_pp_kept" WHERE "_pp_piece" IS NOT NULL'
    )
    counted = (
        "SELECT r2, masked, count(masked) OVER (ORDER BY v ASC) AS upto, "
        "count(masked) OVER (ORDER BY v ASC, masked ASC NULLS FIRST ROWS UNBOUNDED PRECEDING) AS before "
        f"FROM ({union})"
    )
    number = '(SELECT "_pp_n" AS n FROM "_pp_told" WHERE "_pp_piece" IS NOT NULL)'
    inside = []
    for p in percents:
        width = f"({p!r}::DOUBLE * n / 50)"
        low, high = (
            f"r2 - 2 * upto <= {width} OR r2 - 2 < {width}",
            f"2 * before + 2 - r2 <= {width} OR 2 * n - r2 < {width}",
        )
        inside.append(f"count(*) FILTER (({low}) AND ({high}))")
    source = f"({counted}) CROSS JOIN {number}"
    return f'SELECT [{", ".join(inside)}]::DOUBLE[] AS "_pp_counts" FROM {source} WHERE masked IS NULL'


def _near_counts(columns: int, percents: list[float], masked: str) -> str:
    """How many originals are near a masked value, for each column and width."""
    sd = ", ".join(f'"_pp_sd"[{j + 1}] AS sd{j}' for j in range(columns))
    inside = [
        f'count(*) FILTER (abs("_pp_x{j}" - "{masked}{j}") <= sd{j} * {p!r}::DOUBLE / 100)'
        for j in range(columns)
        for p in percents
    ]
    deviations = f'(SELECT {sd} FROM "_pp_told" WHERE "_pp_piece" IS NOT NULL)'
    return (
        f'SELECT [{", ".join(inside)}]::DOUBLE[] AS "_pp_counts" FROM "_pp_kept" CROSS JOIN {deviations} '
        'WHERE "_pp_piece" IS NOT NULL'
    )


def solve(
    specification: str, _: int, counts: Array | None, peaks: Array | None, *found: Array | None
) -> list[dict[str, Any]]:
    spec = json.loads(specification)
    n = counted(spec, counts)
    assert peaks is not None
    names, percents = spec["columns"], spec["percents"]
    # DuckDB holds NaN to be the largest of all.
    refuse_infinite(spec, both_sides(names), np.asarray(peaks < LARGEST))
    own, dealt = (_shares(found[3 * i : 3 * i + 3], percents, n) for i in range(2))
    columns = {"rank": names, "sd": names, "agreement": spec["categories"]}
    rows = [
        _row(name, window, own[window][j], dealt[window][j], n, percents)
        for windows in (("rank", "sd"), ("agreement",))
        for j, name in enumerate(columns[windows[0]])
        for window in windows
    ]
    return [*rows, *_together(own, dealt, n, percents)]


def _shares(found: Sequence[Array | None], percents: list[float], n: int) -> dict[str, Array]:
    """Of the pairs that were counted, by column and width."""
    agreed, ranks, near = (np.asarray(each, dtype=float) for each in found)
    widths = len(percents)
    return {
        "rank": ranks.reshape(-1, widths) / n,
        "sd": near.reshape(-1, widths) / n,
        "agreement": agreed.reshape(-1, 1) / n,
    }


def _together(
    own: dict[str, Array], dealt: dict[str, Array], n: int, percents: list[float]
) -> Iterator[dict[str, Any]]:
    for window, of_columns in own.items():
        if len(of_columns):
            yield _row(TOGETHER, window, of_columns.mean(axis=0), dealt[window].mean(axis=0), n, percents)


def _row(column: str, window: str, shares: Array, dealt: Array, n: int, percents: list[float]) -> dict[str, Any]:
    widths = (
        f"p = {percents[0]:g}" if len(percents) == 1 else f"{len(percents)} p from {percents[0]:g} to {percents[-1]:g}"
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


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, RELEASE, KEY, COMPARED, PERCENTS),
        plan,
        "The share of original values inside a window around their masked value, by ranks and by standard deviations.",
        "Mateo-Sanz, Domingo-Ferrer & Sebé 2005",
        udfs=(Udf(SOLVE, solve, TAKES, GIVES), row_pairs.UDF),
    )
)
