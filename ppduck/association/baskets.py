"""Baskets of 0/1 columns: counted as patterns of bits, so that one GROUP BY serves every itemset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.ranges import Range
from ppduck.catalogue.tables import Column
from ppduck.designs.conditioning import is_invertible
from ppduck.designs.design import Attribute
from ppduck.errors import Faults, quoted
from ppduck.estimators.cells import CONFIDENCE
from ppduck.estimators.design_source import SAME_VIEWS, Release, same_views
from ppduck.kernels.rules import Baskets, By, Limits, Rule, TooManyError, find_rules
from ppduck.query import tree as sql
from ppduck.values import Array

BITS = 62  # items to a word
MOST_PATTERNS = 5_000_000
SIDE = ["BIGINT[][]", "BIGINT[]"]  # words and counts of one table

_SHARE = arguments.number(Range(0, 1))
COLUMNS = Parameter("columns", arguments.columns, "the items: columns of 0 and 1, or of booleans")
LEAST = (
    Parameter("min_support", _SHARE, "the least share of baskets that hold all items of a rule"),
    Parameter("min_confidence", _SHARE, "the least share of the antecedent's baskets that hold the consequent"),
)
RANGES = (
    CONFIDENCE,
    Parameter(
        "range",
        arguments.choice("chebyshev", "normal"),
        "how the range of the confidence is taken; by Chebyshev by default, because the confidence of a rare rule is a "
        "quotient that is far from normal",
        "'chebyshev'",
    ),
    Parameter("max_items", arguments.whole(2, 1000), "the most items in a rule", "NULL"),
)


def refuse_other_types(faults: Faults, columns: Sequence[Column]) -> None:
    """Items must be able to be 0 or 1."""
    for column in columns:
        if column.type and not (column.is_boolean or column.is_integer):
            faults.add(
                f"item column {quoted(column.name)} is of type {column.type}; items must be columns of 0 and 1, or "
                f"booleans, such as '(SELECT {column.name} = … AS {column.name} FROM …)'."
            )


def refuse_other_than_bits(published: Release) -> None:
    faults = published.faults()
    refuse_other_types(faults, published.columns)
    for attribute in published.attributes:
        if attribute.levels is not None and sorted(map(str, attribute.levels)) not in (["0", "1"], ["false", "true"]):
            faults.add(f"item column {quoted(attribute.name)} was randomized over other levels than 0 and 1.")
    if len(published.columns) < 2:
        faults.add("rules need at least two items.")
    faults.raise_if_any()


def gathered(statement: sql.Statement, name: str, source: str, columns: Sequence[str]) -> None:
    """A step with one row: the patterns that occur as words of bits, their counts, and rows that are no baskets."""
    # A value that is no number becomes NULL, and is counted; a failing cast would print it.
    items = [f"TRY_CAST({sql.render(sql.column(column))} AS BIGINT)" for column in columns]
    good = " AND ".join(f"coalesce({item} IN (0, 1), false)" for item in items)
    words = [items[first : first + BITS] for first in range(0, len(items), BITS)]
    packed = [
        f"CASE WHEN {good} THEN {' + '.join(f'({item} << {bit})' for bit, item in enumerate(word))} END AS _pp_w{i}"
        for i, word in enumerate(words)
    ]
    names = ", ".join(f"_pp_w{i}" for i in range(len(words)))
    counted = f"SELECT {names}, count(*) AS _pp_n FROM (SELECT {', '.join(packed)} FROM {source}) GROUP BY {names}"
    lists = ", ".join(f"list(_pp_w{i} ORDER BY {names})" for i in range(len(words)))
    statement.step(
        name,
        f"SELECT [{lists}] AS words, list(_pp_n ORDER BY {names}) AS counts FROM ({counted})",
        materialized=True,
    )


def published_baskets(statement: sql.Statement, published: Release) -> None:
    """The baskets of a view or table, and a look whether the view is still what its design was read from."""
    statement.step("_pp_views", same_views(published), materialized=True)
    gathered(statement, "_pp_gathered", published.source.sql, [column.name for column in published.columns])
    statement.step(
        "_pp_baskets",
        f'SELECT words, CASE WHEN "{SAME_VIEWS}" = 0 THEN counts END AS counts FROM "_pp_gathered" '
        'CROSS JOIN "_pp_views"',
        materialized=True,
    )


def arguments_of(name: str) -> list[sql.Expr]:
    return [sql.column("words", name), sql.column("counts", name)]


def read(spec: dict[str, Any], table: str, words: Sequence[Sequence[int | None]], counts: Sequence[int]) -> Baskets:
    """Baskets from what ``gathered`` has gathered, without their inverses."""
    faults = Faults(spec["function"], table)
    if not counts:
        raise faults.refuse("there are no rows, so there are no rules.")
    spoilt = sum(count for count, word in zip(counts, words[0], strict=True) if word is None)
    if spoilt:
        raise faults.refuse(
            f"{spoilt} of {sum(counts)} rows hold NULL or another number than 0 and 1 in an item column; baskets must "
            "be 0 or 1 throughout."
        )
    if len(counts) > MOST_PATTERNS:
        raise faults.refuse(f"{len(counts):,} different baskets are more than {MOST_PATTERNS:,}; use fewer items.")
    packed = np.array(words, dtype=np.int64)
    size = len(spec["columns"])
    present = np.stack([(packed[item // BITS] >> (item % BITS)) & 1 for item in range(size)], axis=1).astype(bool)
    return Baskets(present, np.array(counts, dtype=float), [np.eye(2)] * size)


def randomized(spec: dict[str, Any], baskets: Baskets) -> Baskets:
    """The same baskets, seen through the inverses of the matrices that published them."""
    faults = Faults(spec["function"], spec["table"])
    matrices = [np.array(matrix) for matrix in spec["matrices"]]
    for name, p, matrix in zip(spec["columns"], spec["p"], matrices, strict=True):
        is_invertible(name, matrix, p, faults)
    faults.raise_if_any()
    return Baskets(baskets.present, baskets.counts, [np.linalg.inv(matrix) for matrix in matrices])


def limits(spec: dict[str, Any]) -> Limits:
    return Limits(
        spec["min_support"],
        spec["min_confidence"],
        spec.get("confidence", 0.95),
        spec.get("range", "chebyshev"),
        spec.get("max_items"),
    )


def rules_of(spec: dict[str, Any], baskets: Baskets, by: By = "estimate") -> list[Rule]:
    wanted = limits(spec)
    try:
        return find_rules(baskets, wanted, by)
    except TooManyError as error:
        raise Faults(spec["function"], spec["table"]).refuse(
            f"{error} could be frequent, with up to {error.size} items; raise min_support, or say max_items := "
            f"{error.size - 1}."
        ) from None


def specification(published: Release, given: dict[str, Any]) -> dict[str, Any]:
    return {
        "function": published.function,
        "table": published.source.label,
        "columns": [column.name for column in published.columns],
        "p": [attribute.p for attribute in published.attributes],
        "matrices": [_two_by_two(attribute).tolist() for attribute in published.attributes],
        **{p.name: given[p.name] for p in (*LEAST, *RANGES) if p.name in given},
    }


def _two_by_two(attribute: Attribute) -> Array:
    matrix = attribute.matrix(2)
    first = str(attribute.levels[0]) if attribute.levels else "0"
    return matrix if first in ("0", "false") else matrix[::-1, ::-1]
