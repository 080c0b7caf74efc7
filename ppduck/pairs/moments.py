"""The moments of matched rows, and samples of them: what the measures of a release are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from sqlglot import exp

from ppduck.errors import UnreadError
from ppduck.pairs.bands import MOST_AT_ONCE, PRODUCTS, aggregate_pieces, in_other_order
from ppduck.pairs.one_to_one import KEY_LOOK, LOOK, MASKED, ORIGINAL, ROWS, OnlyIf
from ppduck.pairs.rows import (
    ALIGNED,
    ALL,
    COUNT,
    HASH,
    PAIRS,
    PIECE,
    PIECES,
    SAMPLE,
    SAMPLED,
    UNLESS_ALIGNED,
    Pairs,
    of_pieces,
)
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

SAMPLE_SIZE = 20_000  # rows that models other than linear ones see
LARGEST_HASH = 2**64 - 1
# Squared distance of a centre from the mean, in variances, from which on sums about it would lose too many digits.
FAR = 1e4
SUMS, CENTRES = "_pp_sums", "_pp_centres"
CENTRE = "_pp_centre"  # the step with a centre of each column

Parts = dict[str, sql.Expr]


def of_each(value: sql.Expr) -> sql.Expr:
    """A number of each piece, in their order."""
    return sql.in_order("list", sql.double(value), [sql.column(PIECE)])


def one_after_the_other(name: str) -> sql.Expr:
    """The lists of all pieces, in their order, as one."""
    return sql.call("flatten", sql.in_order("list", sql.column(name), [sql.column(PIECE)]))


def apart(values: Array, pieces: int) -> list[Array]:
    """What was told ``one_after_the_other``, piece by piece, where each piece has as many figures."""
    return list(values.reshape(pieces, -1))


def apart_by(values: Array, lengths: Array) -> list[Array]:
    """The same where a piece has as many as ``lengths`` says; NaN for none."""
    return np.split(values, np.cumsum(np.nan_to_num(lengths)).astype(int)[:-1])


def told_counts() -> dict[str, sql.Expr]:
    return {"counts": of_each(sql.column(COUNT))}


def told_sums() -> dict[str, sql.Expr]:
    return {"sums": one_after_the_other(SUMS), "products": one_after_the_other(PRODUCTS)}


def any_of(name: str) -> sql.Expr:
    """What the only piece has."""
    return sql.call("any_value", sql.column(name))


def centre(pairs: Pairs, statement: sql.Statement) -> None:
    """A value near each column's mean, about which sums lose no digits: any row's is within √n deviations of it."""
    looks = []
    for side, kinds in ((ORIGINAL, ("_pp_s", "_pp_x")), (MASKED, ("_pp_y",))):
        names = in_other_order(name for name in pairs.value_names if name.startswith(kinds))
        # A plain LIMIT has DuckDB 1.4 sort these rows by their place, and its plan then tells the least value.
        first = sql.query(
            [exp.Star()],
            sql.table(side),
            where=sql.present(map(sql.column, names)),
            limit=sql.scalar(sql.query([sql.number(LOOK)])),
        )
        averages = [
            sql.named(
                sql.call("coalesce", sql.call("avg", sql.column(name)), sql.number(0.0)),
                f"{name}_c",
            )
            for name in names
        ] or [sql.number(1)]
        looks.append(
            sql.derived(sql.query(averages, sql.derived(first, f"{side}_first")), f"{side}_look")
        )
    statement.step(CENTRE, sql.query([exp.Star()], looks[0].cross(looks[1])), materialized=True)


def centre_columns(names: Iterable[str]) -> list[sql.Expr]:
    return [sql.column(f"{name}_c") for name in names]


def _looked_up(pairs: Pairs) -> list[float] | None:
    """The centre as the planner finds it, in tables that it can look at: any value near the mean will do, and numbers
    that stand in the statement are subtracted faster than those of a joined row.
    """
    statement = sql.Statement()
    pairs.sides(statement)
    centre(pairs, statement)
    columns = sql.array(centre_columns(pairs.value_names), "DOUBLE")
    asked = sql.render(statement.query(sql.query([columns], sql.table(CENTRE))))
    try:
        found = pairs.columns.catalog.reader.execute(asked).fetchone()[0]
    except UnreadError as error:
        if not error.unseen:
            raise
        return None  # an open transaction may have what the planner cannot see
    return [value if math.isfinite(value) else 0.0 for value in found]


def moments(pairs: Pairs, more: Parts | None = None, *, sampled: bool = False) -> sql.Statement:
    """Steps up to the pieces: for each the moments of [S, X, Y] about the centre, and ``more``.

    The pairs are kept where they are to be ``sampled`` too, or are too wide to be summed at once.
    """
    statement, names, more = sql.Statement(), pairs.value_names, more or {}
    alone, kept = pairs.within is None, sampled or len(names) > MOST_AT_ONCE
    centres = _looked_up(pairs) if alone and _may_be_aligned(pairs) and not kept else None
    if centres is not None:
        pairs.sides(statement)
        pairs.looks_aligned = True
        constants = [sql.double(sql.number(value)) for value in centres]
        _align(pairs, statement, names, constants, more)
        pairs.join(statement, only_if=UNLESS_ALIGNED)
        own = exp.Column(this=exp.Star(except_=[sql.name(ALL)]), table=sql.name(ALIGNED))
        beside = sql.query([own], sql.table(ALIGNED), where=sql.column(ALL))
        about_centre(pairs, statement, names, constants, more, sql.table(PAIRS), beside=beside)
        return statement
    pairs.match(statement, materialized=kept)
    if kept or not alone:
        about_means(pairs, statement, names, more, PAIRS)
        return statement
    centre(pairs, statement)
    rows = sql.table(PAIRS).cross(sql.table(CENTRE))
    about_centre(pairs, statement, names, centre_columns(names), more, rows)
    return statement


def about_means(
    pairs: Pairs, statement: sql.Statement, names: Sequence[str], more: Parts, kept: str
) -> None:
    """The pieces, with moments of some columns about their means, of pairs that are kept and can be read twice."""
    means = {f"{name}_c": sql.call("avg", sql.column(name)) for name in in_other_order(names)}
    known = sql.present([sql.column(PIECE)])
    found = sql.query(
        [sql.column(PIECE), *sql.columns(means)],
        sql.table(kept),
        where=known,
        group=[sql.column(PIECE)],
    )
    statement.step("_pp_means", found, materialized=True)
    rows = sql.table(kept).using(sql.table("_pp_means"), [PIECE], outer=True)
    centres = centre_columns(names)
    about = _beside_deviations(rows, names, centres)
    aggregate_pieces(pairs, statement, _moments_about(centres) | more, len(names), about)


def about_centre(
    pairs: Pairs,
    statement: sql.Statement,
    names: Sequence[str],
    centres: Sequence[sql.Expr],
    more: Parts,
    rows: sql.Rows,
    *,
    beside: sql.Expr | None = None,
) -> None:
    """The pieces, with moments of some columns about centres that were found before there were pairs.

    Rows that have no partner, or NULL, may lie elsewhere, and so may those of another piece, or of an open transaction.
    Where a mean turns out to be far from its centre, the piece is summed again about its mean: pairs that are not kept
    are then matched again.
    """
    about = _beside_deviations(rows, names, centres)
    pairs.aggregate(
        statement, _moments_about(centres) | more, about, beside=beside, step="_pp_rough"
    )
    means = {
        f"{name}_c": sql.total(
            [
                sql.item(sql.column(CENTRES), i),
                exp.Div(this=sql.item(sql.column(SUMS), i), expression=sql.column(COUNT)),
            ]
        )
        for i, name in in_other_order(enumerate(names, 1))
    }
    far = exp.or_(*far_off(len(names)), copy=False) if names else exp.false()
    off = sql.query(
        [sql.column(PIECE), *sql.columns(means)],
        sql.table("_pp_rough"),
        where=exp.and_(sql.column(PIECE).is_(exp.null()).not_(), far, copy=False),
    )
    statement.step("_pp_off", off, materialized=True)
    any_far = sql.query(
        [sql.named(sql.number(1), "_pp_one")], sql.table("_pp_off"), limit=sql.number(1)
    )
    statement.step("_pp_far", any_far, materialized=True)
    again = "_pp_pairs_again"
    statement.step(again, pairs.joined(OnlyIf("_pp_far")), materialized=False)
    means_found = centre_columns(names)
    parts = {COUNT: aggregates.rows()} | _moments_about(means_found) | more
    rows_off = sql.table(again).using(sql.table("_pp_off"), [PIECE])
    summed = of_pieces(parts, _beside_deviations(rows_off, names, means_found))
    near = sql.query(
        [exp.Star()], sql.table("_pp_rough").using(sql.table("_pp_off"), [PIECE], anti=True)
    )
    statement.step(PIECES, sql.union_all([near, summed]), materialized=True)


def far_off(size: int) -> list[sql.Expr]:
    """For each column whether its mean is far from its centre."""

    def squared(i: int) -> sql.Expr:
        square = exp.Mul(
            this=sql.item(sql.column(SUMS), i), expression=sql.item(sql.column(SUMS), i)
        )
        return exp.Div(this=square, expression=sql.column(COUNT))

    found: list[sql.Expr] = []
    for i in range(1, size + 1):
        spread = sql.minus(sql.item(sql.column(PRODUCTS), i * (i + 1) // 2), squared(i))
        found.append(
            exp.GT(this=squared(i), expression=exp.Mul(this=sql.number(FAR), expression=spread))
        )
    return found


def _may_be_aligned(pairs: Pairs) -> bool:
    """Whether the two may lie side by side, as a release does that was written in the order of its original."""
    of = pairs.columns
    tables = of.original.has_rowid and of.masked.has_rowid
    return tables and len(of.key) == 1 and not of.pieces and not of.categories


def _align(
    pairs: Pairs,
    statement: sql.Statement,
    names: Sequence[str],
    centres: Sequence[sql.Expr],
    more: Parts,
) -> None:
    """The same of rows side by side, and whether their keys are equal and rise throughout.

    Joining 10 million keys takes several times as long as the sums do. Where keys rise they are unique, and rows side
    by side are the pairs; else, or where a value is NULL, this counts for nothing. DuckDB reads two tables side by side
    in one thread: products of one table alone are left to others.
    """
    size = len(pairs.numbers)
    values, parts = _deviations(names, centres), _moments_about(centres) | more
    own, other = values[: len(values) - size], values[len(values) - size :]
    # Written out, as trees of so many terms take longer to plan than to run.
    texts, other_texts = ([f"({sql.render(value)})" for value in side] for side in (own, other))
    products = aggregates.sums_of_products((y, z) for y in other_texts for z in texts)
    crossed: dict[str, sql.Expr] = {"_pp_products_across": products, ALL: _fits(pairs)}
    crossed |= {name: part for name, part in parts.items() if name not in (COUNT, SUMS, PRODUCTS)}
    rows = sql.derived(
        sql.query(sql.columns(crossed), sql.derived(_side_by_side(pairs), "_pp_rows")), "_pp_across"
    )
    for side, of_side in ((ORIGINAL, own), (MASKED, other)):
        counted = {COUNT: aggregates.rows()} if side == ORIGINAL else {}
        sums = {
            f"{SUMS}{side[3:]}": aggregates.sums(of_side),
            f"{PRODUCTS}{side[3:]}": aggregates.products(of_side),
        }
        rows = rows.cross(
            sql.derived(
                sql.query(sql.columns(counted | sums), sql.table(side)), f"_pp_sums_of{side[3:]}"
            )
        )
    made = {
        SUMS: sql.call(
            "list_concat", sql.column("_pp_sums_original"), sql.column("_pp_sums_masked")
        ),
        PRODUCTS: _triangle(size, len(own)),
    }
    columns: dict[str, sql.Expr] = {PIECE: sql.number(0), COUNT: sql.column(COUNT)}
    columns |= {name: made.get(name, sql.column(name)) for name in [*parts, ALL]}
    near = [
        sql.call("coalesce", exp.paren(each).not_(), exp.true()) for each in far_off(len(values))
    ]
    whole = exp.and_(sql.column(ALL), *near, copy=False)
    found = sql.derived(sql.query(sql.columns(columns), rows), "_pp_found")
    only_near = sql.query([exp.Star(replace=[sql.named(whole, ALL)])], found)
    statement.step(ALIGNED, only_near, materialized=True)


def _triangle(size: int, own: int) -> sql.Expr:
    """The lower triangle row by row: that of [S, X], then for each Y its products with them and with Y up to itself."""
    across, masked = sql.column("_pp_products_across"), sql.column("_pp_products_masked")
    parts: list[sql.Expr] = [sql.column("_pp_products_original")]
    for j in range(size):
        parts.append(_slice(across, j * own + 1, (j + 1) * own))
        parts.append(_slice(masked, j * (j + 1) // 2 + 1, (j + 1) * (j + 2) // 2))
    return sql.flat(parts)


def _slice(values: sql.Expr, first: int, last: int) -> sql.Expr:
    return sql.call("list_slice", values.copy(), sql.number(first), sql.number(last))


def _side_by_side(pairs: Pairs) -> sql.Expr:
    original, masked = pairs.columns.original, pairs.columns.masked
    (key,), (masked_key,) = pairs.keys(original), pairs.keys(masked)
    own = [
        _of_table(each, "_pp_o") for each in [sql.named(key, "_pp_key"), *pairs.original_values()]
    ]
    other = [
        _of_table(each, "_pp_m")
        for each in [sql.named(masked_key, "_pp_masked_key"), *pairs.masked_values()]
    ]
    before = sql.named(sql.over(sql.call("lag", _of_table(key, "_pp_o"))), "_pp_key_before")
    tables = sql.source(original.sql, "_pp_o").beside(sql.source(masked.sql, "_pp_m"))
    return sql.query([*own, *other, before], tables)


def _fits(pairs: Pairs) -> sql.Expr:
    """Whether every row's key is its neighbour's and above the one before, and no value is NULL."""
    key, before = sql.column("_pp_key"), sql.column("_pp_key_before")
    conditions = [key.eq(sql.column("_pp_masked_key")), before.is_(exp.null()) | (key > before)]
    present = sql.present(sql.column(name) for name in pairs.value_names)
    where = exp.and_(*conditions, *([] if present is None else [present]))
    return sql.only(aggregates.rows(), where).eq(aggregates.rows())


def sample(
    pairs: Pairs, statement: sql.Statement, values: Sequence[sql.Expr], size: int = SAMPLE_SIZE
) -> None:
    """The pieces, and some rows of each, always the same, one after the other."""
    pairs.aggregate(statement, {})
    draw(statement, values, size)


def draw(statement: sql.Statement, values: Sequence[sql.Expr], size: int = SAMPLE_SIZE) -> None:
    """The sample, to be told beside the pieces."""
    rows = sql.table(PAIRS).cross(sql.table(KEY_LOOK))
    share = sql.number(float(size)) / sql.call("greatest", sql.column(ROWS), sql.number(1))
    most = sql.call("least", sql.double(sql.number(1.0)), share) * sql.number(LARGEST_HASH)
    row = sql.array((sql.double(value.copy()) for value in values), "DOUBLE")
    drawn = sql.call("flatten", sql.in_order("list", row, [sql.column(HASH)]))
    where = (sql.column(HASH) <= sql.cast(most, "UHUGEINT")) & sql.column(PIECE).is_(
        exp.null()
    ).not_()
    sampled = sql.query(
        [sql.column(PIECE), sql.named(drawn, SAMPLE)], rows, where=where, group=[sql.column(PIECE)]
    )
    statement.step(SAMPLED, sampled, materialized=True)


def _deviations(names: Iterable[str], centres: Iterable[sql.Expr]) -> list[sql.Expr]:
    return [
        sql.minus(sql.column(name), centre.copy())
        for name, centre in zip(names, centres, strict=True)
    ]


def _beside_deviations(
    rows: sql.Rows, names: Sequence[str], centres: Sequence[sql.Expr]
) -> sql.Rows:
    """The same rows with how far each of some columns is from its centre: ``_pp_d0…``"""
    values = {f"_pp_d{i}": value for i, value in enumerate(_deviations(names, centres))}
    return sql.derived(sql.query([exp.Star(), *sql.columns(values)], rows), "_pp_about")


def _moments_about(centres: Sequence[sql.Expr]) -> Parts:
    """Sums and products of deviations, and what they are about."""
    values = [sql.column(f"_pp_d{i}") for i in range(len(centres))]
    told = (sql.call("any_value", centre.copy()) for centre in centres)
    return {
        SUMS: aggregates.sums(values),
        PRODUCTS: aggregates.products(values),
        CENTRES: sql.array(told, "DOUBLE"),
    }


def _of_table(value: sql.Expr, table: str) -> sql.Expr:
    """An expression with every column said to be of a table."""

    def qualified(node: sql.Expr) -> sql.Expr:
        return sql.column(node.name, table) if isinstance(node, exp.Column) else node

    return value.copy().transform(qualified)
