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
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function
from ppduck.call.roles import refuse_overlap, refuse_reserved, resolve_columns
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog, Column, Source
from ppduck.designs import drawing
from ppduck.designs.design import (
    LEVELS,
    MOST_MATRIX_LEVELS,
    Attribute,
    Design,
    DesignReader,
    DesignWords,
    columns_to_randomize,
    normalised,
    probabilities,
    record,
)
from ppduck.errors import Faults, quoted
from ppduck.kernels.noise import tweak_of
from ppduck.kernels.randomized import invariant
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.runtime.noise import DRAWS, draw_function
from ppduck.stages import keys
from ppduck.values import folded

CHECK = "ppduck_rr_check"
_HALVES = 2
_ROOM = 2  # bits above a tweak, so that the place of a level can be added to it
_KEYS_TO_LOOK_AT = 1_000_000

CONF = Parameter("conf", arguments.columns, "the columns to randomize; by default those that p and matrix name", "NULL")
# Other functions can do without, where a view over a mask tells them.
PROBABILITIES = probabilities("each column needs p or matrix, one of them", f", of {MOST_MATRIX_LEVELS} levels at most")
SHARED = (
    LEVELS,
    Parameter("key", arguments.columns, "the columns that identify a row for its draws", "NULL"),
    Parameter("seed", arguments.integer, "repeatable, unprotected draws for tests", "NULL"),
    Parameter(
        "on_null",
        arguments.choice("keep", "level"),
        "whether NULL stays NULL or is a level like others; it stays by default, because where nothing was answered "
        "there is no answer to randomize",
        "'keep'",
    ),
    Parameter("drop", arguments.columns, "columns to leave out of the output", "NULL"),
)


@dataclass(frozen=True)
class RandomizingMask(Function):
    """A mask that publishes categories by a design."""


@dataclass(frozen=True)
class Call:
    """A masking call with everything resolved."""

    function: str
    source: Source
    table: str  # schema and name, for row numbers
    asked: tuple[Attribute, ...]  # as the call says, in canonical form
    attributes: tuple[Attribute, ...]  # the same, matrices made invariant where that was asked for
    counts: dict[str, list[int]]  # of the levels that an invariant matrix was built for
    key: tuple[Column, ...]
    drop: tuple[str, ...]
    given: dict[str, Any]
    one_key_in: int  # so many is looked at for being unique


def resolve(function: str, catalog: Catalog, given: dict[str, Any]) -> Call:
    """Checks a call against the catalogue and reads its design."""
    source = catalog.source(function, given["tbl"])
    faults = Faults(function, source.label)
    words = DesignWords.of(given)
    names = columns_to_randomize(given.get("conf"), words, faults)
    if source.columns is None and "levels" not in given:
        raise faults.refuse(catalog.unseen(source, "give levels, and key."))
    refuse_reserved(faults, source)
    columns = resolve_columns(faults, source, "conf" if "conf" in given else "p or matrix", names)
    key = resolve_columns(faults, source, "key", given.get("key", []))
    drop = resolve_columns(faults, source, "drop", given.get("drop", []))
    refuse_overlap(faults, {"key": key, "conf": columns}, "key")
    refuse_overlap(faults, {"conf": columns, "drop": drop}, "conf")
    reader = DesignReader(catalog, source, words, faults)
    reader.refuse_strangers(names)
    spelt = [attribute for column in columns if (attribute := reader.attribute(column)) is not None]
    faults.raise_if_any()
    counts = {}
    asked = tuple(attribute.canonical() for attribute in spelt)
    attributes = list(asked)
    if given.get("invariant"):
        if source.columns is None:
            raise faults.refuse(
                f"invariant needs the shares of the levels, and the planner cannot see {quoted(source.label)}."
            )
        for i, attribute in enumerate(attributes):
            counts[attribute.name], attributes[i] = _made_invariant(catalog, source, attribute, faults)
    faults.raise_if_any()
    dropped = tuple(column.name for column in drop)
    shown = None if source.columns is None else tuple(c.name for c in source.columns if c.name not in dropped)
    recorded = [new.reordered(old.levels or ()) for new, old in zip(attributes, spelt, strict=True)]
    record(Design(function, source.sql, tuple(recorded), shown))
    home = catalog.homes(source.sql)[:1] if source.has_rowid else []
    table = folded(f"{home[0].schema}.{home[0].name}" if home else source.label)  # a file is known by its name
    one_key_in = max((catalog.about_how_many_rows(source) or 0) // _KEYS_TO_LOOK_AT, 1) if home else 1
    return Call(function, source, table, asked, tuple(attributes), counts, tuple(key), dropped, given, one_key_in)


def _made_invariant(
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
        faults.add(f"column {quoted(attribute.name)} has no values, so that nothing can stay invariant.")
        return counts, attribute
    matrix = invariant(attribute.matrix(len(counts)), np.array(counts) / sum(counts))
    rows = normalised(matrix.tolist())
    return counts, replace(attribute, p=None, rows=rows)


class Mechanism:
    """Writes the statement of one call."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.null_is_level = call.given.get("on_null") == "level"
        self.randomized = [attribute for attribute in call.attributes if not attribute.is_identity]
        self.asked = {attribute.name: attribute for attribute in call.asked}
        self.codes = [f"_pp_c{i}" for i in range(len(self.randomized))]
        self.draws = [f"_pp_d{i}" for i in range(-(-len(self.randomized) // _HALVES))]

    def statement(self) -> str:
        statement = sql.Statement()
        statement.step("_pp_source", self._source(), materialized=not self.call.source.repeatable)
        checked = bool(self.call.key or self.call.counts)
        if checked:
            statement.step("_pp_first", self._first_look(), materialized=True)
        statement.step("_pp_drawn", self._drawn(checked), materialized=False)
        return statement.finish(self._projection())

    def _source(self) -> str:
        codes = [
            sql.named(drawing.place(a, null_is_level=self.null_is_level), name)
            for a, name in zip(self.randomized, self.codes, strict=True)
        ]
        columns = [sql.star("_pp_row"), sql.named(self._key(), "_pp_key"), *codes]
        if self.call.key:
            columns.append(sql.named(self._told_apart_by(), "_pp_own"))
        if self._looks_at_some:
            columns.append(sql.named(self._looked_at(), "_pp_looked"))
        return sql.select(columns, f'{self.call.source.sql} AS "_pp_row"')

    @property
    def _looks_at_some(self) -> bool:
        return bool(self.call.key) and self.call.one_key_in > 1

    def _looked_at(self) -> sql.Expr:
        """Of a large table, whether a row is looked at: some keys with all of their rows, and some rows."""
        parts = [
            exp.EQ(this=exp.Mod(this=value, expression=sql.number(self.call.one_key_in)), expression=sql.number(0))
            for value in (self._told_apart_by(), sql.call("hash", sql.column("rowid")))
        ]
        return exp.or_(*parts)

    def _told_apart_by(self) -> sql.Expr:
        """What the first look tells keys apart by; it decides no draw."""
        return sql.call("hash", *(sql.column(column.name) for column in self.call.key))

    def _key(self) -> sql.Expr:
        """What identifies a row: its key, its number in its table, or its content and which of equal rows it is."""
        if self.call.key:
            return keys.key(self.call.key)
        if self.call.source.has_rowid:
            return sql.column("rowid")
        content = keys.content(self.call.source.columns)
        nth = exp.Window(this=sql.call("row_number"), partition_by=[content.copy()])
        return sql.call("xor", content, nth)

    def _first_look(self) -> str:
        """Checks the keys, and that the shares of levels are those for which a matrix was made invariant."""
        key = [sql.column(column.name) for column in self.call.key]
        present = sql.present(key)
        keyless = sql.number(0)
        if present is not None:
            keyless = sql.cast(sql.call("count_if", exp.Not(this=exp.paren(present))), "BIGINT")
        # Rows that share a key would share their draws, and ranges that count them apart would be too narrow.
        looked, distinct = aggregates.rows(), aggregates.rows()
        if key:
            own = sql.column("_pp_own")
            if self._looks_at_some:
                own = exp.Case().when(sql.column("_pp_looked"), own)
            looked, distinct = sql.call("count", own), sql.call("count", exp.Distinct(expressions=[own.copy()]))
        counts = [
            sql.cast(sql.call("count_if", exp.EQ(this=sql.column(code), expression=sql.number(j))), "BIGINT")
            for attribute, code in zip(self.randomized, self.codes, strict=True)
            for j in range(len(self.call.counts.get(attribute.name, ())))
        ]
        spec = {
            "function": self.call.function,
            "table": self.call.source.label,
            "key": [column.name for column in self.call.key],
            "counts": [count for attribute in self.randomized for count in self.call.counts.get(attribute.name, ())],
        }
        check = sql.call(
            CHECK,
            sql.text(json.dumps(spec)),
            aggregates.rows(),
            keyless,
            looked,
            distinct,
            sql.array(counts, "BIGINT"),
        )
        return sql.select([sql.named(check, "_pp_ok")], '"_pp_source"')

    def _drawn(self, checked: bool) -> str:
        """The source with a draw for every randomized column, two of them to a word."""
        function = draw_function(seeded="seed" in self.call.given)
        zero = sql.number(0)
        base = sql.column("_pp_key")
        if checked:
            base = exp.Add(this=base, expression=sql.column("_pp_ok"))
        tweaks: list[sql.Expr] = [
            # Of a row without value any draw will do.
            exp.Add(this=sql.number(self._tweak(attribute)), expression=sql.call("coalesce", sql.column(code), zero))
            for attribute, code in zip(self.randomized, self.codes, strict=True)
        ]
        if len(tweaks) % _HALVES:
            tweaks.append(sql.cast(zero, "BIGINT"))
        words = [
            sql.named(sql.call(function, base.copy(), *tweaks[_HALVES * i : _HALVES * (i + 1)]), name)
            for i, name in enumerate(self.draws)
        ]
        table = '"_pp_source" CROSS JOIN "_pp_first"' if checked else '"_pp_source"'
        return sql.select([sql.star("_pp_source"), *words], table)

    def _tweak(self, attribute: Attribute) -> int:
        """Two designs never share draws, and one design has the same draws beside whatever other columns."""
        asked = self.asked[attribute.name]
        by_number = self.call.source.has_rowid and not self.call.key
        context = {
            "column": folded(asked.name),
            "levels": asked.levels,
            "p": asked.p,
            "matrix": asked.rows,
            "invariant": bool(self.call.given.get("invariant")),
            "seed": self.call.given.get("seed"),
            "rows of": self.call.table if by_number else None,
        }
        return tweak_of(json.dumps({"randomized": context}, sort_keys=True), 0) >> _ROOM

    def _projection(self) -> str:
        replace = {}
        for i, (attribute, code) in enumerate(zip(self.randomized, self.codes, strict=True)):
            draw = drawing.half(sql.column(self.draws[i // _HALVES]), i % _HALVES)
            stranger = sql.text(self._stranger(attribute))
            replace[attribute.name] = drawing.published(
                attribute, sql.column(code), draw, stranger, null_is_level=self.null_is_level
            )
        looked = ["_pp_looked"] if self._looks_at_some else []
        looked += ["_pp_own"] if self.call.key else []
        added = ["_pp_key", *looked, *self.codes, *self.draws, *self.call.drop]
        return sql.select([sql.star("_pp_drawn", added, replace)], '"_pp_drawn"')

    def _stranger(self, attribute: Attribute) -> str:
        return str(
            Faults(self.call.function, self.call.source.label).refuse(
                f"column {quoted(attribute.name)} holds a value that is none of its {len(attribute.levels or ())} "
                "levels. Give the whole domain in levels, or, if the level is new since the call was planned, run it "
                "again, after a commit if it is part of an open transaction."
            )
        )


def check(specification: str, rows: int, keyless: int, looked: int, distinct: int, counts: Sequence[int]) -> int:
    """0 where keys and shares of levels are what the call was planned for; raises otherwise."""
    spec = json.loads(specification)
    faults = Faults(spec["function"], spec["table"])
    key = quoted(", ".join(spec["key"]))
    if keyless:
        faults.add(f"key {key} is NULL in {keyless} of {rows} rows; every row needs a key.")
    elif distinct < looked:
        faults.add(
            f"key {key} has only {distinct} values for {looked} rows looked at; rows that share it would share their "
            "draws. Name columns that identify a row."
        )
    if list(counts) != spec["counts"]:
        faults.add(
            "the shares of the levels are not those that the matrix was made invariant for; run the call again, after "
            "a commit if the rows are part of an open transaction."
        )
    faults.raise_if_any()
    return 0


UDFS = (Udf(CHECK, check, ("VARCHAR", *("BIGINT",) * 4, "BIGINT[]"), "BIGINT", by="values"), *DRAWS)
