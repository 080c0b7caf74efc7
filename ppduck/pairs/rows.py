"""Two tables matched row by row: the original and its release, joined by key within one statement.

Whatever is measured reads the rows of ``_pp_pairs``: the key ``_pp_k0…`` and its hash ``_pp_hash``, features of nonconf
``_pp_s0…``, numbers before and after ``_pp_x0…``, ``_pp_y0…``, categories before and after ``_pp_a0…``, ``_pp_b0…``.
``_pp_piece`` is the part of the data that a pair belongs to, NULL where one of its values is. Released columns that are
not compared are ``_pp_other0…`` in the rows of the release, and ``_pp_same0…`` says whether the original has the same
value under that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from ppduck.call.registry import Result
from ppduck.call.roles import Feature, numeric
from ppduck.call.udf import Udf
from ppduck.catalogue.source import Column, Source
from ppduck.frozen import frozen
from ppduck.pairs.columns import Compared, same_value
from ppduck.pairs.one_to_one import (
    CHECK,
    KEY_LOOK,
    MASKED,
    MATCHED,
    ORIGINAL,
    PAIRED,
    REPEATED,
    MatchSpec,
    OnlyIf,
    check,
    look_at_keys,
)
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.stages.keys import told_apart
from ppduck.values import Array

PAIRS, SHARED = "_pp_pairs", "_pp_shared_pairs"
PIECE, HASH = "_pp_piece", "_pp_hash"
PIECES = "_pp_pieces"  # the step with aggregates of each piece
COUNT = "_pp_count"  # the pairs of a piece
POSITION = "_pp_position"  # the place of a row in the release, where columns that are not compared are looked at
SAMPLED, SAMPLE = "_pp_sampled", "_pp_sample"  # some pairs of each piece


@frozen
class PairSpec(MatchSpec):
    """The names of what is compared."""

    columns: list[str]
    categories: list[str]
    features: list[str]
    pieces: list[str | None]

    def rows(self, values: Array) -> Array:
        """Rows of ``Pairs.value_names``, of a measure without inputs, from their values one row after the other."""
        return values.reshape(-1, len(self.features) + 2 * len(self.columns))

    def parts(self, rows: Array) -> tuple[Array, Array, Array]:
        """Features, numbers before and numbers after of such rows."""
        p, q = len(self.features), len(self.columns)
        s, x, y = np.split(rows, [p, p + q], axis=1)
        return s, x, y


@frozen
class Told:
    """What every measure is told of the pairs: their number, once they were found to match."""

    pairs: int


AnySpec = TypeVar("AnySpec", bound=PairSpec)


# The step that sums up rows that stand at the same place in both tables, without a join; and its column
# that says whether their keys agree everywhere, so that these are the pairs.
ALIGNED, ALL = "_pp_aligned", "_pp_all"
UNLESS_ALIGNED = OnlyIf(ALIGNED, sql.column(ALL).not_())


class Pairs:
    """The rows of one call, and the steps of its statement that match them.

    Those ``within`` another statement were matched and checked by that one, and read its pairs.
    """

    def __init__(self, columns: Compared, within: sql.Statement | None = None) -> None:
        self.columns = columns
        self.within = within
        # Set by moments(), where rows may be summed without a join: see ALIGNED.
        self.looks_aligned = False

    def statement(self, *, materialized: bool = False) -> sql.Statement:
        """Steps up to the pairs; they are kept where they are ``materialized``, as for readers that come twice."""
        statement = sql.Statement()
        self.match(statement, materialized=materialized)
        return statement

    def match(self, statement: sql.Statement, *, materialized: bool = False) -> None:
        if self.within is not None:
            statement.step(PAIRS, self._of_shared(), materialized=False)
            return
        self.sides(statement)
        self.join(statement, materialized=materialized)

    def share(self, statement: sql.Statement) -> None:
        """Steps up to the check, for the statements within this one, which read these pairs."""
        self.sides(statement)
        self.join(statement, step=SHARED, materialized=True)
        self.aggregate(statement, {}, sql.table(SHARED))
        self.check(statement)

    def _of_shared(self) -> sql.Expr:
        own = [*self.key_names, *self.value_names, *self.category_names, HASH]
        return sql.query(
            [*map(sql.column, own), sql.named(self._piece(), PIECE)], sql.table(SHARED)
        )

    def join(
        self,
        statement: sql.Statement,
        *,
        step: str = PAIRS,
        materialized: bool = False,
        only_if: OnlyIf | None = None,
    ) -> None:
        """The pairs; a key of few values would make more of them than can be counted, and makes none."""
        look_at_keys(statement, self.key_names, only_if)
        statement.step(step, self.joined(only_if), materialized=materialized)

    def joined(self, only_if: OnlyIf | None) -> sql.Expr:
        """A SELECT of the pairs, if what is joined to both sides lets them."""
        sides = []
        for side in (ORIGINAL, MASKED):
            rows, where = only_if.of(side) if only_if else (sql.table(side), [])
            if side == ORIGINAL:
                rows = rows.cross(sql.table(KEY_LOOK))
                where.append(sql.column(REPEATED).not_())
            read = sql.query([sql.star(side)], rows, where=sql.every(where))
            sides.append(sql.derived(read, side))
        names = [*self.value_names, *self.category_names]
        keys = [sql.column(name, ORIGINAL) for name in self.key_names]
        piece = sql.named(self._piece(), PIECE)
        carried = map(sql.column, [*self._carried(), *self._carried("_masked")])
        columns = [
            *keys,
            *map(sql.column, names),
            *carried,
            *self._same(),
            piece,
            sql.named(told_apart(keys), HASH),
        ]
        return sql.query(columns, sides[0].using(sides[1], self.key_names))

    def _piece(self) -> sql.Expr:
        complete = sql.present(
            sql.column(name) for name in [*self.value_names, *self.category_names]
        )
        part = sql.column("_pp_part") if self.columns.pieces else sql.number(0)
        return part if complete is None else sql.cases((complete, part))

    def sides(self, statement: sql.Statement) -> None:
        own = self.columns
        for name, source, values in (
            (ORIGINAL, own.original, self.original_values()),
            (MASKED, own.masked, self.masked_values()),
        ):
            keys = [
                sql.named(key, each)
                for key, each in zip(self.keys(source), self.key_names, strict=True)
            ]
            read = sql.query([*keys, *values], sql.source(source.sql))
            statement.step(name, read, materialized=not source.repeatable)

    def original_values(self) -> list[sql.Expr]:
        of = self.columns
        own = [
            sql.named(sql.double(feature.value.copy()), f"_pp_s{i}")
            for i, feature in enumerate(of.features)
        ]
        own += [sql.named(_number(column), f"_pp_x{j}") for j, column in enumerate(of.numbers)]
        own += _inputs([feature for feature, _ in of.inputs], "_pp_x", len(of.numbers))
        own += [sql.named(_text(column), f"_pp_a{j}") for j, column in enumerate(of.categories)]
        own += [
            sql.named(_text(before), name)
            for (before, _), name in zip(of.carried, self._carried(), strict=True)
        ]
        own += [
            sql.named(sql.column(before.name), f"_pp_was{i}")
            for i, (before, _) in enumerate(of.others)
            if before is not None
        ]
        own += [sql.named(_text(column), f"_pp_t{i}") for i, column in enumerate(of.unseen)]
        return [*own, sql.named(of.piece(), "_pp_part")] if of.pieces else own

    def masked_values(self) -> list[sql.Expr]:
        of = self.columns
        numbers, categories = (
            [self._of_masked(c) for c in columns] for columns in (of.numbers, of.categories)
        )
        other = [sql.named(_number(column), f"_pp_y{j}") for j, column in enumerate(numbers)]
        other += _inputs([feature for _, feature in of.inputs], "_pp_y", len(numbers))
        other += [sql.named(_text(column), f"_pp_b{j}") for j, column in enumerate(categories)]
        carried = zip(of.carried, self._carried("_masked"), strict=True)
        other += [sql.named(_text(after), name) for (_, after), name in carried]
        beside = [
            sql.named(sql.column(after.name), f"_pp_other{i}")
            for i, (_, after) in enumerate(of.others)
        ]
        return [*other, *beside, *([sql.named(self._position(), POSITION)] if of.numbered else [])]

    def _position(self) -> sql.Expr:
        by_table = self.columns.masked.has_rowid
        return sql.column("rowid") if by_table else sql.over(sql.call("row_number"))

    def _same(self) -> list[sql.Expr]:
        """Whether each other column is as it was, of those that the original has too."""
        return [
            sql.named(same_value(before, after, i), f"_pp_same{i}")
            for i, (before, after) in enumerate(self.columns.others)
            if before is not None
        ]

    def _of_masked(self, column: Column) -> Column:
        found = self.columns.masked.find(column.name)
        assert found is not None
        return found

    def keys(self, source: Source) -> list[sql.Expr]:
        """The key's columns; in a type of both where the two tables have them in different ones."""
        found = []
        for column in self.columns.key:
            tables = (self.columns.original, self.columns.masked)
            both = [each for side in tables if (each := side.find(column.name))]
            own = source.find(column.name)
            assert own is not None
            value = sql.column(own.name)
            if len({each.type for each in both}) > 1:
                # 1 and 1.0 are one number and two texts.
                fractions = all(each.is_numeric for each in both) and not all(
                    each.is_integer for each in both
                )
                value = sql.cast(value, "DOUBLE" if fractions else "VARCHAR")
            found.append(value)
        return found

    @property
    def key_names(self) -> list[str]:
        return [f"_pp_k{i}" for i in range(len(self.columns.key))]

    @property
    def numbers(self) -> range:
        """The places of the numbers, inputs behind them."""
        return range(len(self.columns.numbers) + len(self.columns.inputs))

    @property
    def value_names(self) -> list[str]:
        """Features, numbers and inputs before, the same after."""
        features = [f"_pp_s{i}" for i in range(len(self.columns.features))]
        return [
            *features,
            *(f"_pp_x{j}" for j in self.numbers),
            *(f"_pp_y{j}" for j in self.numbers),
        ]

    @property
    def category_names(self) -> list[str]:
        places = range(len(self.columns.categories))
        return [*(f"_pp_a{j}" for j in places), *(f"_pp_b{j}" for j in places)]

    def _carried(self, side: str = "") -> list[str]:
        return [f"_pp_carried{i}{side}" for i in range(len(self.columns.carried))]

    def aggregate(
        self,
        statement: sql.Statement,
        parts: Mapping[str, sql.Expr],
        rows: sql.Rows | None = None,
        *,
        beside: sql.Expr | None = None,
        step: str = PIECES,
    ) -> None:
        """A step with aggregates of each piece, the count of its pairs among them; other rows may stand ``beside``."""
        own = of_pieces({COUNT: aggregates.rows(), **parts}, rows or sql.table(PAIRS))
        statement.step(
            step, own if beside is None else sql.union_all([own, beside]), materialized=True
        )

    def check(self, statement: sql.Statement) -> None:
        """Raises where keys do not match one to one."""
        if self.within is not None:
            return
        own = self.columns
        keys = [column.name for column in own.key]
        spec = MatchSpec(own.function, own.original.label, own.masked.label, keys)
        total = sql.call("coalesce", sql.call("sum", sql.column(COUNT)), sql.number(0))
        pairs = sql.query([sql.named(sql.cast(total, "BIGINT"), PAIRED)], sql.table(PIECES))
        if not self.looks_aligned:
            check(statement, spec, self.key_names, pairs)
            return
        # Where both tables have their rows in one order, moments() has counted the pairs without a join.
        beside = sql.cases((sql.column(ALL), sql.column(COUNT)), otherwise=sql.number(0))
        counted = sql.scalar(sql.query([beside], sql.table(ALIGNED)))
        check(statement, spec, self.key_names, pairs, UNLESS_ALIGNED, counted)

    def spec(self, of: type[AnySpec], **more: Any) -> AnySpec:
        own = self.columns
        return of(
            function=own.function,
            table=own.original.label,
            release=own.masked.label,
            key=[column.name for column in own.key],
            columns=[column.name for column in own.numbers],
            categories=[column.name for column in own.categories],
            features=[feature.label for feature in own.features],
            pieces=own.piece_labels,
            **more,
        )

    def answer(
        self,
        statement: sql.Statement,
        udf: Udf,
        spec: PairSpec,
        told: Mapping[str, sql.Expr],
        results: Iterable[Result],
        *,
        beside: Mapping[str, sql.Expr] | None = None,
    ) -> sql.Expr:
        """The rows that a UDF makes of its specification and of ``told``: aggregates over the pieces.

        SELECTs of one row, by their names, may stand ``beside`` each piece.
        """
        self.check(statement)
        whole = sql.derived(whole_of(statement, told, beside or {}), "_pp_whole")
        return statement.query(unnested(udf, spec, told, whole, results))


def whole_of(
    statement: sql.Statement, told: Mapping[str, sql.Expr], beside: Mapping[str, sql.Expr]
) -> sql.Expr:
    """One row of what is told of all pieces together, as ``_pp_told_…``."""
    rows = sql.table(PIECES)
    if statement.has(SAMPLED):
        rows = rows.using(sql.table(SAMPLED), [PIECE], outer=True)
    for name, query in beside.items():
        rows = rows.cross(sql.derived(query, f"{name}_of_all"))
    parts = {f"_pp_told_{name}": value for name, value in told.items()}
    return sql.query(sql.columns(parts), rows, where=sql.present([sql.column(PIECE)]))


def unnested(
    udf: Udf, spec: PairSpec, told: Iterable[str], rows: sql.Rows, results: Iterable[Result]
) -> sql.Expr:
    """The rows that a UDF makes of the columns ``_pp_told_…``."""
    # What nothing reads DuckDB does not run: the result hangs on the check.
    fields = {"pairs": sql.column(MATCHED)} | {
        name: sql.column(f"_pp_told_{name}") for name in told
    }
    asked = sql.named(sql.call("unnest", udf.in_sql(spec, fields)), "_pp_row")
    made = sql.query([asked], sql.table(CHECK).cross(rows))
    own = [
        sql.named(sql.part(sql.column("_pp_row"), result.name), result.name) for result in results
    ]
    return sql.query(own, sql.derived(made, "_pp_made"))


def _number(column: Column) -> sql.Expr:
    return sql.double(sql.hidden(column.name) if column.is_integer else numeric(column))


def _text(column: Column) -> sql.Expr:
    name = sql.column(column.name)
    return name if column.type == "VARCHAR" else sql.cast(name, "VARCHAR")


def _inputs(features: Iterable[Feature], kind: str, first: int) -> list[sql.Expr]:
    return [
        sql.named(sql.double(each.value.copy()), f"{kind}{j}")
        for j, each in enumerate(features, first)
    ]


def of_pieces(parts: Mapping[str, sql.Expr], rows: sql.Rows) -> sql.Expr:
    """Aggregates of each piece."""
    return sql.query([sql.column(PIECE), *sql.columns(parts)], rows, group=[sql.column(PIECE)])
