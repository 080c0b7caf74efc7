"""Baskets of 0/1 columns, counted as patterns of bits: one GROUP BY serves every itemset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.spec import Spec
from ppduck.catalogue.source import Column
from ppduck.designs.conditioning import is_invertible
from ppduck.designs.design import MATRIX, Attribute, DesignWords, Matrix, P, Probability
from ppduck.errors import Faults, quoted
from ppduck.estimators import cells
from ppduck.estimators.design_source import SAME_VIEWS, Release, same_views
from ppduck.frozen import frozen
from ppduck.kernels.distortion import Spread
from ppduck.kernels.rules import Baskets, By, Limits, Rule, TooManyError, find_rules
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

BITS = 52  # items to a word, which a double holds exactly
MOST_PATTERNS = 5_000_000
PATTERNS, COUNTS = "_pp_patterns", "_pp_pattern_counts"  # the columns of a step of baskets

_SHARE = arguments.number(Range(0, 1))


@parameters
class RulesCall(Call):
    """What makes a rule; a function's tables stand before it."""

    columns: Sequence[str] = parameter(
        arguments.columns, "the items: columns of 0 and 1, or of booleans", last=True
    )
    min_support: float = parameter(
        _SHARE, "the least share of baskets that hold all items of a rule", last=True
    )
    min_confidence: float = parameter(
        _SHARE, "the least share of the antecedent's baskets that hold the consequent", last=True
    )
    p: Probability | None = replace(P, last=True)
    matrix: Mapping[str, Matrix] | None = replace(MATRIX, last=True)
    confidence: float = replace(cells.CONFIDENCE, last=True)
    range: Spread = parameter(
        arguments.choice("chebyshev", "normal"),
        "how the range of the confidence is taken; by Chebyshev by default, because the confidence of a rare rule is a "
        "quotient that is far from normal",
        "chebyshev",
        last=True,
    )
    max_items: int | None = parameter(
        arguments.whole(2, 1000), "the most items in a rule", None, last=True
    )

    @property
    def words(self) -> DesignWords:
        return DesignWords(self.p, self.matrix)

    @property
    def limits(self) -> Limits:
        return Limits(
            self.min_support, self.min_confidence, self.confidence, self.range, self.max_items
        )


@frozen
class Item:
    """A column of baskets: the matrix that published it, absence before presence."""

    name: str
    p: float | None
    matrix: tuple[tuple[float, ...], ...]


@frozen
class RulesSpec(Spec):
    items: tuple[Item, ...]
    limits: Limits


@frozen
class BasketPatterns:
    """The patterns of bits that occur: the first words of all of them, then the second ones.

    NaN of rows that are no baskets; None where there are no rows.
    """

    bits: Array | None
    counts: Array | None


def items_of(release: Release) -> tuple[Item, ...]:
    return tuple(
        Item(attribute.name, attribute.p, tuple(map(tuple, _two_by_two(attribute).tolist())))
        for attribute in release.attributes
    )


def _two_by_two(attribute: Attribute) -> Array:
    matrix = attribute.matrix(2)
    first = str(attribute.levels[0]) if attribute.levels else "0"
    return matrix if first in ("0", "false") else matrix[::-1, ::-1]


def refuse_other_types(faults: Faults, columns: Sequence[Column]) -> None:
    """Items must be able to be 0 or 1."""
    for column in columns:
        if column.type and not (column.is_boolean or column.is_integer):
            faults.add(
                f"item column {quoted(column.name)} is of type {column.type}; items must be columns of 0 and 1, or "
                f"booleans, such as '(SELECT {column.name} = … AS {column.name} FROM …)'."
            )


def refuse_other_than_bits(release: Release) -> None:
    faults = release.faults()
    refuse_other_types(faults, release.columns)
    for attribute in release.attributes:
        if attribute.levels is not None and sorted(map(str, attribute.levels)) not in (
            ["0", "1"],
            ["false", "true"],
        ):
            faults.add(
                f"item column {quoted(attribute.name)} was randomized over other levels than 0 and 1."
            )
    if len(release.columns) < 2:
        faults.add("rules need at least two items.")
    faults.raise_if_any()


def patterns(source: str, columns: Sequence[str]) -> sql.Expr:
    """SELECT of one row: the patterns that occur as words of bits, and their counts.

    The words of a pattern are NULL where a row holds something else than 0 and 1.
    """
    # A value that is no number becomes NULL, and is counted; a failing cast would print it.
    bits = [
        exp.TryCast(this=sql.column(column), to=exp.DataType.build("BIGINT")) for column in columns
    ]
    zero_or_one = [exp.In(this=bit, expressions=[sql.number(0), sql.number(1)]) for bit in bits]
    basket = exp.and_(*(sql.call("coalesce", each, exp.false()) for each in zero_or_one))
    words = [sql.column(f"_pp_word{i}") for i in range(-(-len(columns) // BITS))]
    packed = [
        sql.named(sql.cases((basket.copy(), _word(bits[i * BITS : (i + 1) * BITS]))), word.name)
        for i, word in enumerate(words)
    ]
    rows = sql.derived(sql.query(packed, sql.source(source)), "_pp_packed")
    counted = sql.query([*words, sql.named(aggregates.rows(), "_pp_count")], rows, group=words)
    lists = [sql.in_order("list", word, words) for word in words]
    return sql.query(
        [
            sql.named(sql.call("flatten", sql.call("list_value", *lists)), PATTERNS),
            sql.named(sql.in_order("list", sql.column("_pp_count"), words), COUNTS),
        ],
        sql.derived(counted, "_pp_counted"),
    )


def _word(bits: Sequence[sql.Expr]) -> sql.Expr:
    shifted = [
        exp.BitwiseLeftShift(this=bit, expression=sql.number(i)) for i, bit in enumerate(bits)
    ]
    return sql.total([exp.paren(each, copy=False) for each in shifted])


def release_steps(statement: sql.Statement, release: Release, step: str) -> None:
    """A step of the baskets of a release, if its view is still what its design was read from."""
    columns = [column.name for column in release.columns]
    statement.step("_pp_views", same_views(release), materialized=True)
    statement.step("_pp_read", patterns(release.source.sql, columns), materialized=True)
    same = sql.equal(sql.column(SAME_VIEWS), sql.number(0))
    read = sql.query(
        [sql.column(PATTERNS), sql.named(sql.cases((same, sql.column(COUNTS))), COUNTS)],
        sql.table("_pp_read").cross(sql.table("_pp_views")),
    )
    statement.step(step, read, materialized=True)


def read(spec: RulesSpec, table: str, told: BasketPatterns) -> Baskets:
    """Baskets from the patterns of a table, without the inverses of their matrices."""
    faults = Faults(spec.function, table)
    if told.bits is None or told.counts is None:
        raise faults.refuse("there are no rows, so there are no rules.")
    counts, words = told.counts, told.bits.reshape(-1, len(told.counts))
    spoilt = np.isnan(words[0])
    if spoilt.any():
        raise faults.refuse(
            f"{counts[spoilt].sum():.0f} of {counts.sum():.0f} rows hold NULL or another number than 0 and 1 "
            "in an item column; baskets must be 0 or 1 throughout."
        )
    if len(counts) > MOST_PATTERNS:
        raise faults.refuse(
            f"{len(counts):,} different baskets are more than {MOST_PATTERNS:,}; use fewer items."
        )
    packed = words.astype(np.int64)
    items = range(len(spec.items))
    present = np.stack(
        [(packed[item // BITS] >> (item % BITS)) & 1 for item in items], axis=1
    ).astype(bool)
    return Baskets(present, counts, [np.eye(2)] * len(spec.items))


def before_randomization(spec: RulesSpec, baskets: Baskets) -> Baskets:
    """The same baskets, seen through the inverses of the matrices that published them."""
    faults = spec.faults()
    matrices = [np.array(item.matrix) for item in spec.items]
    for item, matrix in zip(spec.items, matrices, strict=True):
        is_invertible(item.name, matrix, item.p, faults)
    faults.raise_if_any()
    return Baskets(baskets.present, baskets.counts, [np.linalg.inv(matrix) for matrix in matrices])


def rules_of(spec: RulesSpec, baskets: Baskets, by: By) -> list[Rule]:
    try:
        return find_rules(baskets, spec.limits, by)
    except TooManyError as error:
        raise spec.refuse(
            f"{error} could be frequent, with up to {error.size} items; raise min_support, or say max_items := "
            f"{error.size - 1}."
        ) from None


def told_of(step: str) -> dict[str, sql.Expr]:
    """What a UDF is told of a step of baskets."""
    return {"bits": sql.column(PATTERNS, step), "counts": sql.column(COUNTS, step)}
