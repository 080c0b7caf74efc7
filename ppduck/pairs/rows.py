"""Two tables matched row by row: the original and its release, joined by key within one statement.

Whatever is measured reads the rows of ``_pp_pairs``: the key ``_pp_k0…`` and its hash ``_pp_hash``, features of nonconf
``_pp_s0…``, numbers before and after ``_pp_x0…``, ``_pp_y0…``, categories before and after ``_pp_a0…``, ``_pp_b0…``.
``_pp_piece`` is the part of the data that a pair belongs to, NULL where one of its values is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlglot import exp

from ppduck.call.registry import Result
from ppduck.call.roles import Feature, numeric
from ppduck.call.spec import Spec
from ppduck.call.udf import Udf, told_udf
from ppduck.catalogue.tables import Column, Source
from ppduck.errors import listed, quoted
from ppduck.pairs.columns import Compared
from ppduck.query import aggregates
from ppduck.query import tree as sql

LOOK = 1_000  # rows that a first look is at
SIDES = ORIGINAL, MASKED = "_pp_original", "_pp_masked"
PAIRS, SHARED = "_pp_pairs", "_pp_shared_pairs"
PIECE, HASH = "_pp_piece", "_pp_hash"
PIECES = "_pp_pieces"  # the step with aggregates of each piece
COUNT = "_pp_count"  # the pairs of a piece
CHECK, MATCHED = (
    "_pp_check",
    "_pp_matched",
)  # the step that refuses pairs, and their number where it does not
SAMPLED, SAMPLE = "_pp_sampled", "_pp_sample"  # some pairs of each piece


@dataclass(frozen=True)
class PairSpec(Spec):
    """The names of what is compared."""

    release: str
    key: list[str]
    columns: list[str]
    categories: list[str]
    features: list[str]
    pieces: list[str | None]


@dataclass(frozen=True)
class Counts:
    """How many rows and pairs there are; where they do not fit, how many rows are alone and how many keys twice."""

    original: int
    release: int
    pairs: int
    same: bool
    original_alone: int
    release_alone: int
    original_twice: int
    release_twice: int


@dataclass(frozen=True)
class Told:
    """What every measure is told of the pairs: their number, once they were found to match."""

    pairs: int


AnySpec = TypeVar("AnySpec", bound=PairSpec)


@dataclass(frozen=True)
class OnlyIf:
    """Rows are read only if a step of one row, or none, lets them: ``where`` is a condition on it."""

    step: str
    where: sql.Expr | None = None

    def of(self, side: str) -> tuple[sql.Rows, list[sql.Expr]]:
        rows = sql.table(side).cross(sql.table(self.step))
        return rows, [] if self.where is None else [self.where.copy()]


ALIGNED, ALL = (
    "_pp_aligned",
    "_pp_all",
)  # the sums of rows side by side, and whether they are the pairs
UNLESS_ALIGNED = OnlyIf(ALIGNED, sql.column(ALL).not_())


class Pairs:
    """The rows of one call, and the steps of its statement that match them.

    Those ``within`` another statement were matched and checked by that one, and read its pairs.
    """

    def __init__(self, columns: Compared, within: sql.Statement | None = None) -> None:
        self.columns = columns
        self.within = within
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
        """Steps up to the check, for statements within this one; the pairs have this one's piece too."""
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
        unless: OnlyIf | None = None,
    ) -> None:
        """The pairs; a key of few values would make more of them than can be counted, and makes none."""
        digest = _hash([sql.column(name) for name in self.key_names])
        rows, where = unless.of(ORIGINAL) if unless else (sql.table(ORIGINAL), [])
        distinct = sql.call("approx_count_distinct", digest)
        few = (aggregates.rows() > LOOK) & (distinct < sql.number(0.5) * aggregates.rows())
        look = sql.query([sql.named(few, "_pp_repeated")], rows, where=sql.every(where))
        statement.step("_pp_key_look", look, materialized=True)
        statement.step(step, self.joined(unless), materialized=materialized)

    def joined(self, only_if: OnlyIf | None) -> sql.Expr:
        """A SELECT of the pairs, if what is joined to both sides lets them."""
        repeated = sql.scalar(sql.query([sql.column("_pp_repeated")], sql.table("_pp_key_look")))
        sides = []
        for side, more in ((ORIGINAL, [repeated.not_()]), (MASKED, [])):
            rows, where = only_if.of(side) if only_if else (sql.table(side), [])
            read = sql.query([sql.star(side)], rows, where=sql.every([*where, *more]))
            sides.append(sql.derived(read, side))
        names = [*self.value_names, *self.category_names]
        keys = [sql.column(name, ORIGINAL) for name in self.key_names]
        piece = sql.named(self._piece(), PIECE)
        carried = map(sql.column, [*self._carried(), *self._carried("_masked")])
        columns = [*keys, *map(sql.column, names), *carried, piece, sql.named(_hash(keys), HASH)]
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
        return [*other, *(sql.named(_text(after), name) for (_, after), name in carried)]

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
        """Raises where keys do not match one to one; which is counted in detail only then.

        Keys that agree as multisets (their hashes sum to the same) and make as many pairs as rows are unique.
        """
        if self.within is not None:
            return
        counted = self._side_counts(ORIGINAL).cross(self._side_counts(MASKED))
        pairs = sql.call("coalesce", sql.call("sum", sql.column(COUNT)), sql.number(0))
        read = sql.query(
            [sql.named(sql.cast(pairs, "BIGINT"), "_pp_pairs_counted")], sql.table(PIECES)
        )
        n_original, n_masked, n_pairs, digest, masked_digest = map(
            sql.column,
            (
                "_pp_rows_original",
                "_pp_rows_masked",
                "_pp_pairs_counted",
                "_pp_digest_original",
                "_pp_digest_masked",
            ),
        )
        same = exp.NullSafeEQ(this=digest, expression=masked_digest)
        fits = n_original.eq(n_masked) & n_pairs.eq(n_original) & same
        columns = [
            exp.Star(),
            sql.named(same.copy(), "_pp_same"),
            sql.named(exp.paren(fits).not_(), "_pp_bad"),
        ]
        counts = sql.query(columns, counted.cross(sql.derived(read, "_pp_counted")))
        statement.step("_pp_counts", counts, materialized=True)
        told = {
            "original": n_original,
            "release": n_masked,
            "pairs": n_pairs,
            "same": sql.column("_pp_same"),
        }
        told |= {
            "original_alone": self._alone(ORIGINAL, MASKED),
            "release_alone": self._alone(MASKED, ORIGINAL),
        }
        told |= {"original_twice": self._twice(ORIGINAL), "release_twice": self._twice(MASKED)}
        asked = MATCH.asked(self.spec(PairSpec), told)
        statement.step(
            CHECK,
            sql.query([sql.named(asked, MATCHED)], sql.table("_pp_counts")),
            materialized=True,
        )

    def _side_counts(self, side: str) -> sql.Rows:
        """Rows and a digest of the keys of one table; rows that lie side by side are counted already."""
        n, rows, where = aggregates.rows(), sql.table(side), list[sql.Expr]()
        if self.looks_aligned:
            rows, where = UNLESS_ALIGNED.of(side)
            beside = sql.cases((sql.column(ALL), sql.column(COUNT)), otherwise=sql.number(0))
            n = n + sql.scalar(sql.query([beside], sql.table(ALIGNED)))
        digest = sql.call("sum", _hash([sql.column(name) for name in self.key_names]))
        columns = {f"_pp_rows{side[3:]}": n, f"_pp_digest{side[3:]}": digest}
        return sql.derived(
            sql.query(named(columns), rows, where=sql.every(where)), f"_pp_counts{side[3:]}"
        )

    def _if_bad(self, side: str) -> sql.Rows:
        rows, where = OnlyIf("_pp_counts", sql.column("_pp_bad")).of(side)
        keys = [sql.column(name) for name in self.key_names]
        return sql.derived(sql.query(keys, rows, where=sql.every(where)), side)

    def _alone(self, side: str, other: str) -> sql.Expr:
        """The rows of a table whose key the other does not have."""
        rows = self._if_bad(side).using(self._if_bad(other), self.key_names, anti=True)
        return sql.scalar(sql.query([aggregates.rows()], rows))

    def _twice(self, side: str) -> sql.Expr:
        """The keys that a table has more than once."""
        keys = [sql.column(name) for name in self.key_names]
        count = sql.named(aggregates.rows(), "_pp_times")
        each = sql.query([count], self._if_bad(side), where=sql.present(keys), group=keys)
        return sql.scalar(
            sql.query(
                [aggregates.rows()],
                sql.derived(each, "_pp_keys"),
                where=sql.column("_pp_times") > 1,
            )
        )

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
    ) -> sql.Expr:
        """The rows that a UDF makes of its specification and of ``told``: aggregates over the pieces."""
        self.check(statement)
        whole = sql.derived(whole_of(statement, told), "_pp_whole")
        return statement.query(unnested(udf, spec, told, whole, results))


def whole_of(statement: sql.Statement, told: Mapping[str, sql.Expr]) -> sql.Expr:
    """One row of what is told of all pieces together, as ``_pp_told_…``."""
    rows = sql.table(PIECES)
    if statement.has(SAMPLED):
        rows = rows.using(sql.table(SAMPLED), [PIECE], outer=True)
    parts = {f"_pp_told_{name}": value for name, value in told.items()}
    return sql.query(named(parts), rows, where=sql.present([sql.column(PIECE)]))


def unnested(
    udf: Udf, spec: PairSpec, told: Iterable[str], rows: sql.Rows, results: Iterable[Result]
) -> sql.Expr:
    """The rows that a UDF makes of the columns ``_pp_told_…``."""
    # What nothing reads DuckDB does not run: the result hangs on the check.
    fields = {"pairs": sql.column(MATCHED)} | {
        name: sql.column(f"_pp_told_{name}") for name in told
    }
    asked = sql.named(sql.call("unnest", udf.asked(spec, fields)), "_pp_row")
    made = sql.query([asked], sql.table(CHECK).cross(rows))
    own = [
        sql.named(sql.part(sql.column("_pp_row"), result.name), result.name) for result in results
    ]
    return sql.query(own, sql.derived(made, "_pp_made"))


def matched(spec: PairSpec, counts: Counts) -> int:
    """The number of pairs, if every row has exactly one partner."""
    if counts.original == counts.release == counts.pairs and counts.same:
        return counts.pairs
    original, release = quoted(spec.table), quoted(spec.release)
    found = []
    if counts.original_alone:
        found.append(
            f"{counts.original_alone} of the {counts.original} rows of {original} have no partner in {release}"
        )
    if counts.release_alone:
        found.append(
            f"{counts.release_alone} of the {counts.release} rows of {release} have no partner in {original}"
        )
    for count, name in ((counts.original_twice, original), (counts.release_twice, release)):
        if count:
            found.append(f"{count} keys occur more than once in {name}")
    if not found:
        found.append("keys that count as equal are spelt in different ways")
    raise spec.refuse(
        f"rows are matched by key ({listed(spec.key)}), and they do not match one to one: {'; '.join(found)}. "
        "Name a key that is unique and never NULL, and compare tables of the same rows, such as '(SELECT … WHERE …)'."
    )


MATCH = told_udf("ppduck_matched", matched, PairSpec, Counts, "BIGINT")


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


def _hash(keys: Sequence[sql.Expr]) -> sql.Expr:
    return sql.call("hash", *(key.copy() for key in keys))


def named(columns: Mapping[str, sql.Expr]) -> list[sql.Expr]:
    return [sql.named(value, name) for name, value in columns.items()]


def of_pieces(parts: Mapping[str, sql.Expr], rows: sql.Rows) -> sql.Expr:
    """Aggregates of each piece."""
    return sql.query([sql.column(PIECE), *named(parts)], rows, group=[sql.column(PIECE)])
