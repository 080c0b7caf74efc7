"""Ranks of a table that lies in partitions: cut at values into ranges, rank each range, add what lies below it.

Rows of one range lie in one partition, so that a rank is that within the range and the rows of all ranges below, which
a count has told. Ties share a range, as ranges are cut by values: ranks come out as if all rows were sorted at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from ppduck.frozen import frozen
from ppduck.query import aggregates, ranks
from ppduck.query import tree as sql

RANGE = "_pp_range"
FIGURE = "_pp_figure"  # which of several figures a count is of
COUNT, LEAST, MOST = "_pp_count", "_pp_least", "_pp_most"
OFFSET = "_pp_offset"  # rows of the ranges below
OF_RANGE = "_pp_of_range"  # of which range an offset is


@frozen
class Ranked:
    """A figure by whose order rows are ranked, in the groups of ``by``; ``cuts`` is a table of one row."""

    figure: sql.Expr
    by: Sequence[str]
    cuts: str
    ranges: int

    def range(self) -> sql.Expr:
        """The number of a row's range, beside the cuts: a search by halves; NULL of what is NULL."""
        return sql.cases(
            (self.figure.is_(exp.null()).not_(), self._between(0, self.ranges - 1)),
            otherwise=sql.cast(exp.null(), "INTEGER"),
        )

    def _between(self, low: int, high: int) -> sql.Expr:
        if low == high:
            return sql.number(low)
        middle = (low + high) // 2
        beyond = exp.GTE(this=self.figure.copy(), expression=sql.column(cut(middle), self.cuts))
        return sql.cases(
            (beyond, self._between(middle + 1, high)), otherwise=self._between(low, middle)
        )

    @property
    def groups(self) -> list[sql.Expr]:
        return [*map(sql.column, [*self.by, RANGE])]

    def place(self, ties: Sequence[sql.Expr] = ()) -> sql.Expr:
        """The place of a row among all; NULL of what is NULL."""
        within = sql.over(sql.call("row_number"), self.groups, [self.figure, *ties])
        place = exp.Add(this=sql.column(OFFSET), expression=within)
        return sql.cases((self.figure.is_(exp.null()).not_(), place))

    def below_and_upto(self, rows: sql.Expr) -> dict[str, sql.Expr]:
        """What ``ranks.share`` reads: how many values lie below, and the share of the rows up to a value."""
        offset, groups = sql.column(OFFSET), self.groups
        rank = sql.over(sql.call("rank"), groups, [self.figure])
        below = sql.total([offset, sql.minus(rank, sql.number(1))])
        peers = sql.over(aggregates.rows(), groups, [self.figure])
        upto = exp.Div(
            this=sql.double(sql.paren(sql.total([offset.copy(), peers]))),
            expression=sql.double(rows),
        )
        return {ranks.BELOW: below, ranks.UPTO: upto}


def group_name(place: int) -> str:
    """What a table of offsets calls a column of its groups, so that it does not meet the user's."""
    return f"_pp_of_group{place}"


def cut(number: int) -> str:
    """The column of a table of cuts at which a range begins."""
    return f"_pp_cut{number}"


def counts(figures: Sequence[Ranked], numbers: Sequence[sql.Expr], rows: sql.Rows) -> sql.Expr:
    """How many rows each range of each figure has, in each group, and between which numbers they lie."""
    by = figures[0].by
    told = [
        sql.struct({FIGURE: sql.number(i), RANGE: figure.range(), "_pp_number": sql.double(number)})
        for i, (figure, number) in enumerate(zip(figures, numbers, strict=True))
    ]
    listed = sql.named(sql.call("unnest", sql.call("list_value", *told)), "_pp_told")
    each = sql.derived(sql.query([*map(sql.column, by), listed], rows), "_pp_each")
    number = sql.part(sql.column("_pp_told"), "_pp_number")
    groups = [*map(sql.column, by)]
    groups += [sql.part(sql.column("_pp_told"), name) for name in (FIGURE, RANGE)]
    named = [
        sql.named(value, name) for value, name in zip(groups, [*by, FIGURE, RANGE], strict=True)
    ]
    found = {
        COUNT: aggregates.rows(),
        LEAST: sql.call("min", number),
        MOST: sql.call("max", number.copy()),
    }
    return sql.query([*named, *sql.columns(found)], each, group=[each.copy() for each in groups])


def offsets(found: Sequence[pa.Table], figure: int, by: Sequence[str]) -> pa.Table:
    """Of each group and range of a figure the rows below it, the largest number below, and the least above.

    From what ``counts`` gives of each partition. NULLs come last.
    """
    every = pa.concat_tables(found)
    merged: dict[tuple[object, ...], dict[int | None, list[float | None]]] = {}
    columns = [every.column(name).to_pylist() for name in (*by, FIGURE, RANGE, COUNT, LEAST, MOST)]
    for *own_group, of, number, count, least, most in zip(*columns, strict=True):
        if of == figure:
            own = merged.setdefault(tuple(own_group), {}).setdefault(number, [0, None, None])
            own[0] += count
            own[1] = _of(min, own[1], least)
            own[2] = _of(max, own[2], most)
    rows: list[tuple[object, ...]] = []
    for group, ranges in merged.items():
        order = sorted(ranges, key=lambda number: (number is None, number or 0))
        below = 0
        for place, number in enumerate(order):
            before = [ranges[each][2] for each in order[:place] if each is not None]
            after = [ranges[each][1] for each in order[place + 1 :] if each is not None]
            rows.append(
                (*group, number, below, before[-1] if before else None, after[0] if after else None)
            )
            below += int(ranges[number][0] or 0)
    types: Mapping[str, pa.DataType] = {
        **{group_name(i): every.schema.field(name).type for i, name in enumerate(by)},
        OF_RANGE: pa.int32(),
        OFFSET: pa.int64(),
        ranks.BEFORE: pa.float64(),
        ranks.NEXT: pa.float64(),
    }
    data = zip(*rows, strict=True) if rows else ([] for _ in types)
    return pa.table(dict(zip(types, map(list, data), strict=True)), schema=pa.schema(types.items()))


def _of(choose: object, one: float | None, other: float | None) -> float | None:
    there = [each for each in (one, other) if each is not None]
    return choose(there) if there else None  # type: ignore[operator]
