"""Which columns of a table and of its release are compared, checked against the catalogue."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from typing import Protocol

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.roles import (
    Feature,
    categories_among,
    choose_nonconf,
    features_of,
    refuse_overlap,
    refuse_reserved,
)
from ppduck.call.roles import resolve_columns as resolve
from ppduck.catalogue.rehearsal import may_fail, rehearse
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.query import tree as sql
from ppduck.query.whole_names import theirs
from ppduck.values import folded

ORIGINAL = parameter(arguments.words, "the table before masking")
RELEASE = parameter(arguments.words, "the table after masking")
CONF = parameter(arguments.columns, "the confidential columns, numeric, which both tables have")
NONCONF = parameter(
    arguments.columns,
    "what else an intruder sees; by default what both tables have beside conf and key",
    None,
)
KEY = parameter(
    arguments.columns,
    "the columns that identify a row in both tables: rows are matched by them only",
)
COMPARED = parameter(
    arguments.columns, "which columns to compare; by default all that both have, but the key", None
)


@parameters
class ReleaseCall(Call):
    """A table and what was released of it."""

    original: str = ORIGINAL
    release: str = RELEASE


@parameters
class ConfCall(ReleaseCall):
    """Of some confidential columns."""

    conf: Sequence[str] = CONF
    key: Sequence[str] = KEY


@parameters
class ComparedCall(ReleaseCall):
    """Of some columns, or of all that both tables have."""

    key: Sequence[str] = KEY
    conf: Sequence[str] | None = COMPARED


class Keyed(Protocol):
    """What a call says of two tables that are matched row by row."""

    @property
    def original(self) -> str: ...
    @property
    def release(self) -> str: ...
    @property
    def key(self) -> Sequence[str]: ...


class Compared:
    """The two tables of one call, their key, and the columns that are compared."""

    def __init__(self, function: str, catalog: Catalog, call: Keyed) -> None:
        self.function, self.catalog = function, catalog
        self.original, self.masked = (self._seen(each) for each in (call.original, call.release))
        self.faults = Faults(function, self.original.label)
        refuse_reserved(self.faults, self.original)
        refuse_reserved(self.faults, self.masked)
        self.key = self.in_both("key", call.key)
        if not call.key:
            self.faults.add(
                "key is empty; name the columns that identify a row, such as key := 'id'."
            )
        self.faults.raise_if_any()
        self.numbers: list[Column] = []
        self.categories: list[Column] = []
        self.features: list[Feature] = []
        self.inputs: list[tuple[Feature, Feature]] = []
        # Columns that come along beside those that are compared: in the original, and in the release.
        self.carried: list[tuple[Column, Column]] = []
        # Released columns that are neither compared nor part of the key, each with the original's of the same name.
        self.others: list[tuple[Column | None, Column]] = []
        # Columns of the original that the release lacks, or has in another form.
        self.unseen: list[Column] = []
        # Names of released columns that have other values than the original's of that name, and are no inputs.
        self.replaced: list[str] = []
        self.numbered = False  # whether the place of each row in the release comes along
        self.levels: dict[str, list[str]] = {}
        self.pieces: list[sql.Expr] = []
        self._piece_texts: list[str] = []

    def part(
        self,
        function: str,
        *,
        numbers: Sequence[Column],
        categories: Sequence[Column],
        features: Sequence[Feature],
    ) -> Compared:
        """The same tables for another function, with some of the columns that were chosen here."""
        found = copy(self)
        found.function, found.faults = function, Faults(function, self.original.label)
        found.numbers, found.categories, found.features = (
            list(numbers),
            list(categories),
            list(features),
        )
        return found

    def _seen(self, given: str) -> Source:
        source = self.catalog.source(self.function, given)
        if source.columns is None:
            raise Faults(self.function).refuse(
                self.catalog.unseen(source, "make it a table and commit.")
            )
        return source

    def in_both(self, parameter: str, names: Sequence[str]) -> list[Column]:
        """Named columns of the original, which the release must have too."""
        found = resolve(self.faults, self.original, parameter, names)
        kept = []
        for column in found:
            if self.masked.find(column.name) is not None:
                kept.append(column)
                continue
            known = [each.name for each in self.masked.columns or ()]
            remedy = (
                " Rows are matched by it: a mask leaves it where it is not dropped, anatomy_mask by keep := […]."
                if parameter == "key"
                else ""
            )
            self.faults.add(
                f"{parameter} names column {quoted(column.name)}, which {quoted(self.masked.label)} does not have."
                f"{near_miss(column.name, known)} Its columns: {listed(known)}.{remedy}"
            )
        return kept

    def use_numbers(self, parameter: str, names: Sequence[str]) -> None:
        """The columns that a parameter names, which must be numbers in both tables."""
        if not names:
            self.faults.add(
                f"{parameter} is empty; name at least one column, such as {parameter} := ['x1']."
            )
        self.numbers = self.in_both(parameter, names)
        for column in self.numbers:
            for source in (self.original, self.masked):
                other = source.find(column.name)
                if other is not None and not other.is_numeric:
                    self.faults.add(
                        f"{parameter} names column {quoted(column.name)}, which is of type {other.type} in "
                        f"{quoted(source.label)}; only numeric columns can be measured so."
                    )
        refuse_overlap(self.faults, {"key": self.key, parameter: self.numbers}, "key")

    def use_conf(self, names: Sequence[str]) -> None:
        """The confidential columns: those that are numbers in both tables, and those that are categories in both."""
        if not names:
            self.faults.add("conf is empty; name at least one column, such as conf := ['x1'].")
        found = self.in_both("conf", names)
        self._sort_out(found, categories=True)
        refuse_overlap(self.faults, {"key": self.key, "conf": found}, "key")

    def use_columns(self, named: Sequence[str] | None, *, categories: bool) -> None:
        """The columns to compare, named or all that both tables have; ``categories`` says whether texts count too."""
        if named is not None and not categories:
            self.use_numbers("conf", named)
            return
        keys = {folded(column.name) for column in self.key}
        if named is None:
            both = [
                c
                for c in self.original.columns or ()
                if folded(c.name) not in keys and self.masked.find(c.name)
            ]
        else:
            both = self.in_both("conf", named)
            refuse_overlap(self.faults, {"key": self.key, "conf": both}, "key")
        self._sort_out(both, categories=categories)
        if not self.numbers and not self.categories:
            self.faults.raise_if_any()
            kind = "no column" if categories else "no numeric column"
            self.faults.add(f"there is {kind} to compare that both tables have, beside the key.")

    def _sort_out(self, columns: Sequence[Column], *, categories: bool) -> None:
        """Columns that both tables have into numbers and, if they are wanted, categories."""
        for column in columns:
            other = self.masked.find(column.name)
            if other is None:
                continue
            if column.is_numeric and other.is_numeric:
                self.numbers.append(column)
            elif column.is_numeric != other.is_numeric:
                self.faults.add(
                    f"column {quoted(column.name)} is of type {column.type} in {quoted(self.original.label)} and of "
                    f"type {other.type} in {quoted(self.masked.label)}; they cannot be compared."
                )
            elif categories:
                self.categories.append(column)

    def use_nonconf(self, names: Sequence[str] | None, randomized: Collection[str] = ()) -> None:
        """What an intruder sees beside the masked columns, as features of a regression.

        Categories that are ``randomized`` may be named too: numbers are masked given the true ones, so that what these
        explain is no gain.
        """
        named = None if names is None else resolve(self.faults, self.original, "nonconf", names)
        conf = [*self.numbers, *self.categories]
        drawn = {*map(folded, randomized)}
        alone = [column for column in conf if folded(column.name) not in drawn]
        refuse_overlap(self.faults, {"conf": alone, "nonconf": named or []}, "conf")
        taken = {folded(column.name) for column in [*conf, *self.unseen, *self.key]}
        taken |= {*map(folded, self.replaced)}
        free = [
            c
            for c in self.original.columns or ()
            if folded(c.name) not in taken and self.masked.find(c.name)
        ]
        chosen, self.levels = choose_nonconf(self.faults, self.catalog, self.original, named, free)
        # An intruder sees where a category is NULL: to him that is a level, as it is to a mask by on_null := 'level'.
        null_levels = self.catalog.with_null(self.original, categories_among(chosen, self.levels))
        self.features = [
            feature
            for column in chosen
            for feature in features_of(column, self.levels, null_levels)
        ]

    def use_inputs(self, parameter: str, names: Sequence[str] | None, beside: str) -> None:
        """What a model of either table reads: numbers, booleans, and the original's levels of categories.

        ``beside`` is the parameter that the numbers come from, which cannot be inputs too.
        """
        named, free = None, list[Column]()
        if names is not None:
            named = self.in_both(parameter, names)
            refuse_overlap(self.faults, {beside: self.numbers, parameter: named}, beside)
        else:
            taken = {folded(column.name) for column in [*self.numbers, *self.key]}
            free = [
                c
                for c in self.original.columns or ()
                if folded(c.name) not in taken and self._alike(c)
            ]
        chosen, self.levels = choose_nonconf(
            self.faults, self.catalog, self.original, named, free, parameter
        )
        for column in chosen:
            other = self.masked.find(column.name)
            assert other is not None
            if self._alike(column):
                levels = (
                    {other.name: self.levels[column.name]} if column.name in self.levels else {}
                )
                of_masked = [_known(feature, levels) for feature in features_of(other, levels)]
                self.inputs += zip(features_of(column, self.levels), of_masked, strict=True)
            else:
                self.faults.add(
                    f"{parameter} names column {quoted(column.name)}, which is of type {column.type} in "
                    f"{quoted(self.original.label)} and of type {other.type} in {quoted(self.masked.label)}; they "
                    "cannot be compared."
                )

    def _alike(self, column: Column) -> bool:
        """Whether the release has the column, and as a number or as a category just as the original does."""
        other = self.masked.find(column.name)
        if other is None:
            return False
        numbers, categories = (
            [flag(c) for c in (column, other)] for flag in (_is_number, _is_category)
        )
        return all(numbers) or all(categories) or (not any(numbers) and not any(categories))

    def carry(self, before: Column, after: Column) -> int:
        """A column of each table that stands beside what is compared, as text; its place among them."""
        self.carried.append((before, after))
        return len(self.carried) - 1

    def use_pieces(self, conditions: Sequence[str]) -> None:
        """Conditions that part the rows; the first that holds counts, and what is left is a piece of its own."""
        for text in conditions:
            try:
                parsed = sqlglot.parse_one(f"SELECT 1 WHERE ({text}\n)", dialect="duckdb")
                where = parsed.args["where"].this if isinstance(parsed, exp.Select) else None
            except SqlglotError:
                where = None
            if where is None:
                self.faults.add(f"pieces takes conditions such as 's1 < 40', and {text!r} is none.")
                continue
            known = [column.name for column in self.original.columns or ()]
            for column in where.find_all(exp.Column):
                if self.original.find(column.name) is None:
                    self.faults.add(
                        f"pieces names column {quoted(column.name)}, which does not exist."
                        f"{near_miss(column.name, known)}"
                    )
            # Text that the user wrote stays as it is.
            self.pieces.append(exp.paren(theirs(sql.render(where)), copy=False))
            self._piece_texts.append(text.strip())
        if may_fail(self.pieces):
            self.faults.raise_if_any()
            parted = sql.query([sql.call("max", self.piece())], sql.source(self.original.sql))
            rehearse(self.catalog.reader, self.faults, "pieces", sql.render(parted))

    def piece(self) -> sql.Expr:
        """The number of a row's piece."""
        numbered = [(condition.copy(), sql.number(i)) for i, condition in enumerate(self.pieces)]
        return sql.cases(*numbered, otherwise=sql.number(len(self.pieces)))

    @property
    def piece_labels(self) -> list[str | None]:
        """How each piece is called; one without a name where nothing is parted."""
        return [*self._piece_texts, "otherwise"] if self.pieces else [None]


def _is_number(column: Column) -> bool:
    return column.is_numeric or column.is_boolean


def _is_category(column: Column) -> bool:
    return column.is_category


def _known(feature: Feature, levels: dict[str, list[str]]) -> Feature:
    """A feature that is NULL for a level that the original lacks: its model has no place for it."""
    if feature.level is None:
        return feature
    value = sql.cast(sql.column(feature.column), "VARCHAR")
    known = exp.In(this=value, expressions=[sql.text(level) for level in levels[feature.column]])
    return replace(feature, value=sql.cases((known, feature.value)))


def same_value(before: Column, after: Column, place: int) -> sql.Expr:
    """Whether an other column of a pair is what the original has under that name."""
    values = [sql.column(f"_pp_was{place}"), sql.column(f"_pp_other{place}")]
    numbers = before.is_numeric and after.is_numeric
    if before.type != after.type or before.type == "INTERVAL":
        # 1 and 1.0 are one number and two texts; a month and 30 days are one interval and two texts.
        values = [sql.cast(value, "DOUBLE" if numbers else "VARCHAR") for value in values]
    same = exp.NullSafeEQ(this=values[0], expression=values[1])
    if numbers and {before.type, after.type} & {"DOUBLE", "FLOAT"}:
        # 0 and -0 are equal, and tell a secret bit.
        signs = [sql.call("signbit", sql.double(value.copy())) for value in values]
        return same & exp.NullSafeEQ(this=signs[0], expression=signs[1])
    return same
