"""Sums of products of many columns: in the form, and so many at a time, as DuckDB plans quickly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ppduck.pairs.rows import PIECE, PIECES, Pairs, of_pieces
from ppduck.query import aggregates
from ppduck.query import tree as sql

# Products of more columns than these are summed in several steps, so many rows of the triangle in each.
MOST_AT_ONCE, BAND = 80, 10
PRODUCTS = "_pp_products"
OTHERS = "_pp_pieces_without_products"
T = TypeVar("T")


def in_other_order(columns: Iterable[T]) -> list[T]:
    """Centres stand in another order than the columns that they are of, for DuckDB's sake.

    It looks for equal terms by hashes, and x - c has one hash in all columns where x and c have the same places in
    their tables: to plan the products of 120 columns took 80 seconds in place of 3.
    """
    return [*columns][::-1]


def aggregate_pieces(
    pairs: Pairs, statement: sql.Statement, parts: Mapping[str, sql.Expr], size: int, rows: sql.Rows
) -> None:
    """The pieces, with the products of ``_pp_d0…`` in steps of their own where there are many columns.

    With all products of 200 columns in one step, the gate's statement ended DuckDB 2.0.0, and the process with it, by
    a floating point exception; in steps of a few thousand sums it is planned in seconds.
    """
    if size <= MOST_AT_ONCE:
        pairs.aggregate(statement, parts, rows)
        return
    others = {name: part for name, part in parts.items() if name != PRODUCTS}
    pairs.aggregate(statement, others, rows, step=OTHERS)
    pieces, lists = sql.table(OTHERS), list[sql.Expr]()
    values = [f'"_pp_d{i}"' for i in range(size)]
    for first in range(0, size, BAND):
        band = range(first, min(first + BAND, size))
        terms = ((values[i], values[j]) for i in band for j in range(i + 1))
        name = f"{PRODUCTS}{first}"
        found = of_pieces({name: aggregates.sums_of_products(terms)}, rows)
        statement.step(name, found, materialized=True)
        pieces = pieces.using(sql.table(name), [PIECE], outer=True)
        lists.append(sql.column(name))
    triangle = sql.named(sql.call("flatten", sql.array(lists, "DOUBLE[]")), PRODUCTS)
    statement.step(PIECES, sql.query([sql.star(OTHERS), triangle], pieces), materialized=True)
