"""The statement of a randomizing mask: every value is kept or replaced by a draw that belongs to its row.

A draw is a function of the secret, the row's key, the column, its value and the design, and of
nothing else: a row keeps its published value while other rows and columns change, and after an
upgrade of DuckDB. (Noise of the linear masks must change with the table, because shared noise can
be subtracted; a kept answer cannot.) Two designs have independent draws. Were they shared, then of
two binary answers with p = 0.9 and p = 0.6 that differ, the first would be the true one for certain.
But one design has one draw, however it is spelt, since a vote over several would tell the answer:
names count as DuckDB compares them, levels as a set, probabilities as numbers (``Attribute.canonical``),
keys as values (``ppduck.stages.keys``). A matrix that is made invariant has draws that go by the matrix
that it was made from, so that shares which move a little move few answers.

The draw is the first 32 bits of AES-128(k, key ‖ t + j) as a little-endian number, with k the first
16 bytes of SHA-256("ppduck draws 2\\0" ‖ secret), key and t + j little-endian numbers of 64 bits, t
the first 62 bits of the SHA-256 of the design's text, and j the place of the value among the levels.
A draw below p·2³² keeps the value.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.guarantees import Guarantee, Loss
from ppduck.call.parameters import parameter
from ppduck.call.registry import Function
from ppduck.call.roles import refuse_overlap, refuse_reserved, resolve_columns
from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.catalogue.tables import Catalog, Column, Source
from ppduck.designs import drawing
from ppduck.designs.design import (
    MOST_MATRIX_LEVELS,
    Attribute,
    Design,
    DesignCall,
    DesignReader,
    columns_to_randomize,
    normalised,
    probabilities,
)
from ppduck.errors import Faults, quoted
from ppduck.kernels.noise import tweak_of
from ppduck.kernels.randomized import invariant
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.runtime.noise import DRAWS, draw_function
from ppduck.stages import keys
from ppduck.values import folded

_HALVES = 2
_ROOM = 2  # bits above a tweak, so that the place of a level can be added to it
_KEYS_TO_LOOK_AT = 1_000_000
_CHECKED = "_pp_checked"  # what the first look gives: 0, or an error

CONF: Any = parameter(
    arguments.columns, "the columns to randomize; by default those that p and matrix name", None
)
# Other functions can do without, where a view over a mask tells them.
P, MATRIX = probabilities(
    "each column needs p or matrix, one of them", f", of {MOST_MATRIX_LEVELS} levels at most"
)
KEY: Any = parameter(arguments.columns, "the columns that identify a row for its draws", ())
SEED: Any = parameter(arguments.integer, "repeatable, unprotected draws for tests", None)
ON_NULL: Any = parameter(
    arguments.choice("keep", "level"),
    "whether NULL stays NULL or is a level like others; it stays by default, because where nothing was answered there "
    "is no answer to randomize",
    "keep",
)
DROP: Any = parameter(arguments.columns, "columns to leave out of the output", ())


class RandomizingCall(DesignCall):
    """What the masks that randomize are told; each declares it in an order of its own."""

    tbl: str
    conf: Sequence[str] | None
    key: Sequence[str]
    seed: int | None
    drop: Sequence[str]
    invariant: bool


@dataclass(frozen=True)
class RandomizingMask(Function):
    """A mask that publishes categories by a design."""

    def promised(self) -> tuple[list[str], list[str]]:
        """Of a call that gives no more than it must: the sentences do not say for which calls they hold."""
        plainest: Any = self.takes(
            **{each.name: None for each in self.parameters if each.default is None}
        )
        kept = [
            str(each) for each in self.keeps if isinstance(each, Guarantee) and each.when(plainest)
        ]
        return kept, [
            str(each) for each in self.loses if isinstance(each, Loss) and each.when(plainest)
        ]


@dataclass(frozen=True)
class Randomization:
    """A masking call with everything resolved."""

    function: str
    call: RandomizingCall
    source: Source
    table: str  # schema and name, for row numbers
    draw_designs: tuple[Attribute, ...]  # as the call says, in canonical form: draws go by them
    attributes: tuple[Attribute, ...]  # the same, matrices made invariant where that was asked for
    counts: dict[str, list[int]]  # of the levels that an invariant matrix was built for
    key: tuple[Column, ...]
    drop: tuple[str, ...]
    one_key_in: int  # so many is looked at for being unique


def resolve(function: str, catalog: Catalog, call: RandomizingCall) -> Randomization:
    """Checks a call against the catalogue and reads its design."""
    source = catalog.source(function, call.tbl)
    faults = Faults(function, source.label)
    names = columns_to_randomize(call.conf, call.words, faults)
    if source.columns is None and call.levels is None:
        raise faults.refuse(catalog.unseen(source, "give levels, and key."))
    refuse_reserved(faults, source)
    columns = resolve_columns(faults, source, "p or matrix" if call.conf is None else "conf", names)
    key = resolve_columns(faults, source, "key", call.key)
    drop = resolve_columns(faults, source, "drop", call.drop)
    refuse_overlap(faults, {"key": key, "conf": columns}, "key")
    refuse_overlap(faults, {"conf": columns, "drop": drop}, "conf")
    reader = DesignReader(catalog, source, call.words, faults)
    reader.refuse_strangers(names)
    spelt = [attribute for column in columns if (attribute := reader.attribute(column)) is not None]
    faults.raise_if_any()
    counts = {}
    draw_designs = tuple(attribute.canonical() for attribute in spelt)
    attributes = list(draw_designs)
    if call.invariant:
        if source.columns is None:
            raise faults.refuse(
                f"invariant needs the shares of the levels, and the planner cannot see {quoted(source.label)}."
            )
        for i, attribute in enumerate(attributes):
            counts[attribute.name], attributes[i] = _make_invariant(
                catalog, source, attribute, faults
            )
    faults.raise_if_any()
    dropped = tuple(column.name for column in drop)
    shown = (
        None
        if source.columns is None
        else tuple(c.name for c in source.columns if c.name not in dropped)
    )
    as_spelt = [new.reordered(old.levels or ()) for new, old in zip(attributes, spelt, strict=True)]
    catalog.trip.record(Design(function, source.sql, tuple(as_spelt), shown))
    home = catalog.homes(source.sql)[:1] if source.has_rowid else []
    table = folded(
        f"{home[0].schema}.{home[0].name}" if home else source.label
    )  # a file is known by its name
    one_key_in = (
        max((catalog.about_how_many_rows(source) or 0) // _KEYS_TO_LOOK_AT, 1) if home else 1
    )
    return Randomization(
        function,
        call,
        source,
        table,
        draw_designs,
        tuple(attributes),
        counts,
        tuple(key),
        dropped,
        one_key_in,
    )


def _make_invariant(
    catalog: Catalog, source: Source, attribute: Attribute, faults: Faults
) -> tuple[list[int], Attribute]:
    column = source.find(attribute.name)
    assert column is not None
    assert attribute.levels is not None
    if len(attribute.levels) > MOST_MATRIX_LEVELS:
        faults.add(
            f"invariant makes a matrix of all levels of a column, at most {MOST_MATRIX_LEVELS:,} of them, and column "
            f"{quoted(attribute.name)} has {len(attribute.levels):,}; group them in tbl, or leave invariant out."
        )
        return [], attribute
    counts = catalog.counts(source, column, attribute.levels)
    if sum(counts) == 0:
        faults.add(
            f"column {quoted(attribute.name)} has no values, so that nothing can stay invariant."
        )
        return counts, attribute
    matrix = invariant(attribute.matrix(len(counts)), np.array(counts) / sum(counts))
    rows = normalised(matrix.tolist())
    return counts, replace(attribute, p=None, rows=rows)


@dataclass(frozen=True)
class LookSpec(Spec):
    """What the first look must find."""

    key: tuple[str, ...]
    counts: tuple[int, ...]  # of the levels that matrices were made invariant for


@dataclass(frozen=True)
class Look:
    """What it finds."""

    rows: int
    keyless: int  # rows without a key
    looked: int  # rows whose key was looked at
    distinct: int  # keys among them
    counts: list[int]


class Mechanism:
    """Writes the statement of one call."""

    def __init__(self, randomization: Randomization) -> None:
        self.of = randomization
        self.call, self.key, self.source = (
            randomization.call,
            randomization.key,
            randomization.source,
        )
        self.null_is_level = self.call.words.null_is_level
        self.randomized = [
            attribute for attribute in randomization.attributes if not attribute.is_identity
        ]
        self.draw_designs = {attribute.name: attribute for attribute in randomization.draw_designs}
        self.places = [
            f"_pp_place{i}" for i in range(len(self.randomized))
        ]  # of a value among its levels
        self.draws = [
            f"_pp_draws{i}" for i in range(-(-len(self.randomized) // _HALVES))
        ]  # two to a word

    def statement(self) -> sql.Expr:
        statement = sql.Statement()
        statement.step("_pp_source", self._source(), materialized=not self.source.repeatable)
        checked = bool(self.key or self.of.counts)
        if checked:
            statement.step("_pp_first_look", self._first_look(), materialized=True)
        statement.step("_pp_drawn", self._drawn(checked), materialized=False)
        return statement.query(self._projection())

    def _source(self) -> sql.Expr:
        places = [
            sql.named(drawing.place(a, null_is_level=self.null_is_level), name)
            for a, name in zip(self.randomized, self.places, strict=True)
        ]
        columns = [sql.star("_pp_row"), sql.named(self._key(), "_pp_key"), *places]
        if self.key:
            columns.append(sql.named(self._key_hash(), "_pp_key_hash"))
        if self._looks_at_some:
            columns.append(sql.named(self._looked_at(), "_pp_looked_at"))
        return sql.query(columns, sql.source(self.source.sql, "_pp_row"))

    @property
    def _looks_at_some(self) -> bool:
        return bool(self.key) and self.of.one_key_in > 1

    def _looked_at(self) -> sql.Expr:
        """Of a large table, whether a row is looked at: some keys with all of their rows, and some rows."""
        parts = [
            sql.equal(exp.Mod(this=value, expression=sql.number(self.of.one_key_in)), sql.number(0))
            for value in (self._key_hash(), sql.call("hash", sql.column("rowid")))
        ]
        return exp.or_(*parts)

    def _key_hash(self) -> sql.Expr:
        """What the first look tells keys apart by; it decides no draw."""
        return sql.call("hash", *(sql.column(column.name) for column in self.key))

    def _key(self) -> sql.Expr:
        """What identifies a row: its key, its number in its table, or its content and which of equal rows it is."""
        if self.key:
            return keys.key(self.key)
        if self.source.has_rowid:
            return sql.column("rowid")
        content = keys.content(self.source.columns)
        return sql.call("xor", content, sql.over(sql.call("row_number"), by=[content]))

    def _first_look(self) -> sql.Expr:
        """Checks the keys, and that the shares of levels are those for which a matrix was made invariant."""
        key = [sql.column(column.name) for column in self.key]
        present = sql.present(key)
        # Rows that share a key would share their draws, and ranges that count them apart would be too narrow.
        looked, distinct = aggregates.rows(), aggregates.rows()
        if key:
            own = sql.column("_pp_key_hash")
            if self._looks_at_some:
                own = sql.cases((sql.column("_pp_looked_at"), own))
            looked, distinct = (
                sql.call("count", own),
                sql.call("count", exp.Distinct(expressions=[own.copy()])),
            )
        counts = [
            sql.call("count_if", sql.equal(sql.column(place), sql.number(j)))
            for attribute, place in zip(self.randomized, self.places, strict=True)
            for j in range(len(self.of.counts.get(attribute.name, ())))
        ]
        spec = LookSpec(
            self.of.function,
            self.source.label,
            tuple(column.name for column in self.key),
            tuple(
                count
                for attribute in self.randomized
                for count in self.of.counts.get(attribute.name, ())
            ),
        )
        look = {
            "rows": aggregates.rows(),
            "keyless": sql.number(0)
            if present is None
            else sql.call("count_if", exp.Not(this=exp.paren(present))),
            "looked": looked,
            "distinct": distinct,
            "counts": sql.array(counts, "BIGINT"),
        }
        return sql.query([sql.named(CHECK.asked(spec, look), _CHECKED)], sql.table("_pp_source"))

    def _drawn(self, checked: bool) -> sql.Expr:
        """The source with a draw for every randomized column, two of them to a word."""
        function = draw_function(seeded=self.call.seed is not None)
        zero = sql.number(0)
        key = sql.column("_pp_key")
        if checked:
            key = exp.Add(this=key, expression=sql.column(_CHECKED))
        tweaks: list[sql.Expr] = [
            # Of a row without value any draw will do.
            exp.Add(
                this=sql.number(self._tweak(attribute)),
                expression=sql.call("coalesce", sql.column(place), zero),
            )
            for attribute, place in zip(self.randomized, self.places, strict=True)
        ]
        if len(tweaks) % _HALVES:
            tweaks.append(sql.cast(zero, "BIGINT"))
        words = [
            sql.named(
                sql.call(function, key.copy(), *tweaks[_HALVES * i : _HALVES * (i + 1)]), name
            )
            for i, name in enumerate(self.draws)
        ]
        rows = sql.table("_pp_source")
        return sql.query(
            [sql.star("_pp_source"), *words],
            rows.cross(sql.table("_pp_first_look")) if checked else rows,
        )

    def _tweak(self, attribute: Attribute) -> int:
        """Two designs never share draws, and one design has the same draws beside whatever other columns."""
        own = self.draw_designs[attribute.name]
        by_number = self.source.has_rowid and not self.key
        context = {
            "column": folded(own.name),
            "levels": own.levels,
            "p": own.p,
            "matrix": own.rows,
            "invariant": self.call.invariant,
            "seed": self.call.seed,
            "rows of": self.of.table if by_number else None,
        }
        return tweak_of(json.dumps({"randomized": context}, sort_keys=True), 0) >> _ROOM

    def _projection(self) -> sql.Expr:
        replace = {}
        for i, (attribute, place) in enumerate(zip(self.randomized, self.places, strict=True)):
            draw = drawing.half(sql.column(self.draws[i // _HALVES]), i % _HALVES)
            stranger = sql.text(self._stranger(attribute))
            replace[attribute.name] = drawing.published(
                attribute, sql.column(place), draw, stranger, null_is_level=self.null_is_level
            )
        looked = ["_pp_looked_at"] if self._looks_at_some else []
        looked += ["_pp_key_hash"] if self.key else []
        added = ["_pp_key", *looked, *self.places, *self.draws, *self.of.drop]
        return sql.query([sql.star("_pp_drawn", added, replace)], sql.table("_pp_drawn"))

    def _stranger(self, attribute: Attribute) -> str:
        return str(
            Faults(self.of.function, self.source.label).refuse(
                f"column {quoted(attribute.name)} holds a value that is none of its {len(attribute.levels or ())} "
                "levels. Give the whole domain in levels, or, if the level is new since the call was planned, run it "
                "again, after a commit if it is part of an open transaction."
            )
        )


def check(spec: LookSpec, look: Look) -> int:
    """0 where keys and shares of levels are what the call was planned for; raises otherwise."""
    faults = spec.faults()
    key = quoted(", ".join(spec.key))
    if look.keyless:
        faults.add(
            f"key {key} is NULL in {look.keyless} of {look.rows} rows; every row needs a key."
        )
    elif look.distinct < look.looked:
        faults.add(
            f"key {key} has only {look.distinct} values for {look.looked} rows looked at; rows that share it would "
            "share their draws. Name columns that identify a row."
        )
    if tuple(look.counts) != spec.counts:
        faults.add(
            "the shares of the levels are not those that the matrix was made invariant for; run the call again, after "
            "a commit if the rows are part of an open transaction."
        )
    faults.raise_if_any()
    return 0


CHECK = told_udf("ppduck_rr_check", check, LookSpec, Look, "BIGINT")
UDFS = (CHECK, *DRAWS)
