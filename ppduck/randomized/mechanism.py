"""The statement of a randomizing mask: every value is kept or replaced by a draw that belongs to its row.

A draw is a function of the secret, the row's key, the column, its value and the design, and of
nothing else: a row keeps its published value while other rows and columns change. (Noise of the
linear masks must change with the table, because shared noise can be subtracted; a kept answer
cannot.) Two designs have independent draws. Were they shared, then of two binary answers with
p = 0.9 and p = 0.6 that differ, the first would be the true one for certain. A matrix that is made
invariant is the exception: its draws go by the matrix that it was made from, so that shares which
move a little move few answers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.errors import Faults, quoted
from ppduck.kernels.noise import tweak_of
from ppduck.kernels.randomized import invariant
from ppduck.plan import arguments, statistics
from ppduck.plan import sqlbuild as sql
from ppduck.plan.arguments import Parameter
from ppduck.plan.catalog import Catalog, Source
from ppduck.plan.registry import Function
from ppduck.plan.roles import refuse_overlap, refuse_reserved, resolve_columns
from ppduck.randomized.design import (
    LEVELS,
    MOST_MATRIX_LEVELS,
    Attribute,
    Design,
    DesignReader,
    chosen_columns,
    normalised,
    probabilities,
    record,
)
from ppduck.values import folded

CHECK = "ppduck_rr_check"
CHECK_TYPES = (["VARCHAR", "BIGINT", "BIGINT", "BIGINT", "BIGINT", "BIGINT[]"], "UBIGINT")
_DRAWS = 2**32
_HALVES = 2
_KEYS_TO_LOOK_AT = 1_000_000

CONF = Parameter("conf", arguments.columns, "the columns to randomize; by default those that p and matrix name", "NULL")
# Other functions can do without, where a view over a mask tells them.
PROBABILITIES = probabilities("each column needs p or matrix, one of them", f", of {MOST_MATRIX_LEVELS} levels at most")
SHARED = (
    LEVELS,
    Parameter("key", arguments.columns, "the columns that identify a row for its draws", "NULL"),
    Parameter("seed", arguments.integer, "repeatable, unprotected draws for tests", "NULL"),
    Parameter(
        "on_null", arguments.choice("keep", "level"), "whether NULL stays NULL or is a level like others", "'keep'"
    ),
    Parameter("drop", arguments.columns, "columns to leave out of the output", "NULL"),
)


def draw_function(*, seeded: bool) -> str:
    return f"ppduck_{'seeded' if seeded else 'keyed'}_draws"


@dataclass(frozen=True)
class RandomizingMask(Function):
    """A mask that publishes categories by a design."""


@dataclass(frozen=True)
class Call:
    """A masking call with everything resolved."""

    function: str
    source: Source
    table: str  # schema and name, for row numbers
    asked: tuple[Attribute, ...]  # as the call says
    attributes: tuple[Attribute, ...]  # the same, matrices made invariant where that was asked for
    counts: dict[str, list[int]]  # of the levels that an invariant matrix was built for
    key: tuple[str, ...]
    drop: tuple[str, ...]
    given: dict[str, Any]
    one_key_in: int  # so many is looked at for being unique


def resolve(function: str, catalog: Catalog, given: dict[str, Any]) -> Call:
    """Checks a call against the catalogue and reads its design."""
    source = catalog.source(function, given["tbl"])
    faults = Faults(function, source.label)
    names = chosen_columns(given, faults)
    if source.columns is None and "levels" not in given:
        raise faults.refuse(catalog.unseen(source, "give levels, and key."))
    refuse_reserved(faults, source)
    columns = resolve_columns(faults, source, "conf" if "conf" in given else "p or matrix", names)
    key = resolve_columns(faults, source, "key", given.get("key", []))
    drop = resolve_columns(faults, source, "drop", given.get("drop", []))
    refuse_overlap(faults, {"key": key, "conf": columns}, "key")
    refuse_overlap(faults, {"conf": columns, "drop": drop}, "conf")
    reader = DesignReader(catalog, source, given, faults)
    reader.refuse_strangers(names)
    attributes = [attribute for column in columns if (attribute := reader.attribute(column)) is not None]
    faults.raise_if_any()
    counts = {}
    asked = tuple(attributes)
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
    record(Design(function, source.sql, tuple(attributes), shown))
    home = catalog.homes(source.sql)[:1] if source.has_rowid else []
    table = folded(f"{home[0].schema}.{home[0].name}" if home else source.label)  # a file is known by its name
    own = tuple(column.name for column in key)
    one_key_in = max((catalog.about_how_many_rows(source) or 0) // _KEYS_TO_LOOK_AT, 1) if home else 1
    return Call(function, source, table, asked, tuple(attributes), counts, own, dropped, given, one_key_in)


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
        codes = [sql.named(self._code(a), name) for a, name in zip(self.randomized, self.codes, strict=True)]
        columns = [sql.star("_pp_row"), sql.named(self._key(), "_pp_key"), *codes]
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
            for value in (self._key(), sql.call("hash", sql.column("rowid")))
        ]
        return exp.or_(*parts)

    def _key(self) -> sql.Expr:
        """What identifies a row: its key, its number in its table, or its content and which of equal rows it is."""
        if self.call.key:
            return sql.call("hash", *(sql.column(name) for name in self.call.key))
        if self.call.source.has_rowid:
            return sql.call("hash", sql.column("rowid"), sql.text(self.call.table))
        content = sql.call("hash", sql.column("_pp_row"))
        nth = exp.Window(this=sql.call("row_number"), partition_by=[content.copy()])
        return sql.call("hash", content, nth)

    def _code(self, attribute: Attribute) -> sql.Expr:
        """The position of a value among the levels; NULL for a value that is none of them."""
        value = sql.column(attribute.name)
        levels = [level for level in attribute.levels or () if level is not None]
        kind = "ENUM(" + ", ".join(sql.render(sql.text(level)) for level in levels) + ")"
        if attribute.is_own_enum:
            code = sql.call("enum_code", value.copy())
        else:
            code = sql.call("enum_code", sql.raw(f"TRY_CAST(CAST({sql.render(value.copy())} AS VARCHAR) AS {kind})"))
        code = sql.cast(code, "INTEGER")
        if not self.null_is_level:
            return code
        return exp.Case().when(value.is_(exp.null()), sql.number(len(levels))).else_(code)

    def _first_look(self) -> str:
        """Checks the keys, and that the shares of levels are those for which a matrix was made invariant."""
        keys = [sql.column(name) for name in self.call.key]
        present = sql.present(keys)
        keyless = sql.number(0)
        if present is not None:
            keyless = sql.cast(sql.call("count_if", exp.Not(this=exp.paren(present))), "BIGINT")
        # Rows that share a key would share their draws, and ranges that count them apart would be too narrow.
        looked, distinct = statistics.rows(), statistics.rows()
        if keys:
            key = sql.column("_pp_key")
            if self._looks_at_some:
                key = exp.Case().when(sql.column("_pp_looked"), key)
            looked, distinct = sql.call("count", key), sql.call("count", exp.Distinct(expressions=[key.copy()]))
        counts = [
            sql.cast(sql.call("count_if", exp.EQ(this=sql.column(code), expression=sql.number(j))), "BIGINT")
            for attribute, code in zip(self.randomized, self.codes, strict=True)
            for j in range(len(self.call.counts.get(attribute.name, ())))
        ]
        spec = {
            "function": self.call.function,
            "table": self.call.source.label,
            "key": list(self.call.key),
            "counts": [count for attribute in self.randomized for count in self.call.counts.get(attribute.name, ())],
        }
        check = sql.call(
            CHECK,
            sql.text(json.dumps(spec)),
            statistics.rows(),
            keyless,
            looked,
            distinct,
            sql.array(counts, "BIGINT"),
        )
        return sql.select([sql.named(check, "_pp_ok")], '"_pp_source"')

    def _drawn(self, checked: bool) -> str:
        """The source with a draw for every randomized column, two of them to a word."""
        function = draw_function(seeded="seed" in self.call.given)
        base = sql.column("_pp_key")
        if checked:
            base = exp.Add(this=base, expression=sql.column("_pp_ok"))
        keys = [
            sql.call("hash", base.copy(), sql.column(code), sql.number(self._tweak(attribute)))
            for attribute, code in zip(self.randomized, self.codes, strict=True)
        ]
        if len(keys) % _HALVES:
            keys.append(sql.cast(sql.number(0), "UBIGINT"))
        words = [
            sql.named(sql.call(function, keys[_HALVES * i], keys[_HALVES * i + 1]), name)
            for i, name in enumerate(self.draws)
        ]
        table = '"_pp_source" CROSS JOIN "_pp_first"' if checked else '"_pp_source"'
        return sql.select([sql.star("_pp_source"), *words], table)

    def _tweak(self, attribute: Attribute) -> int:
        """Two designs never share draws, and one design has the same draws beside whatever other columns."""
        context = {
            **self.asked[attribute.name].described(),
            "seed": self.call.given.get("seed"),
            "null": self.null_is_level,
        }
        return tweak_of(json.dumps({"randomized": context}, sort_keys=True), 0)

    def _projection(self) -> str:
        replace = {}
        for i, (attribute, code) in enumerate(zip(self.randomized, self.codes, strict=True)):
            word = sql.column(self.draws[i // _HALVES])
            replace[attribute.name] = self._published(attribute, sql.column(code), _half(word, i % _HALVES))
        looked = ["_pp_looked"] if self._looks_at_some else []
        added = ["_pp_key", *looked, *self.codes, *self.draws, *self.call.drop]
        return sql.select([sql.star("_pp_drawn", added, replace)], '"_pp_drawn"')

    def _published(self, attribute: Attribute, code: sql.Expr, draw: sql.Expr) -> sql.Expr:
        value = sql.column(attribute.name)
        result = exp.Case()
        if not self.null_is_level:
            result = result.when(value.is_(exp.null()), exp.null())
        result = result.when(code.is_(exp.null()), sql.call("error", sql.text(self._stranger(attribute))))
        result = result.when(exp.LT(this=draw.copy(), expression=self._kept_below(attribute, code)), value.copy())
        place = self._another(attribute, code, draw) if attribute.p is not None else _by_matrix(attribute, code, draw)
        levels = [_literal(level) for level in attribute.levels or ()]
        if attribute.type:
            return result.else_(_typed(attribute, sql.call("list_extract", sql.call("list_value", *levels), place)))
        # Of a column whose type is not known, literals take the type only where they stand beside it.
        for i, level in enumerate(levels, start=1):
            result = result.when(exp.EQ(this=place.copy(), expression=sql.number(i)), level)
        return result

    @staticmethod
    def _kept_below(attribute: Attribute, code: sql.Expr) -> sql.Expr:
        """The draw below which a value is kept: the same for all levels, or each level's own."""
        if attribute.p is not None:
            return sql.number(_threshold(attribute.p))
        kept = [_threshold(float(share)) for share in np.diag(attribute.matrix(len(attribute.levels or ())))]
        return sql.raw(f"list_extract({kept}, {sql.render(code.copy())} + 1)")

    def _stranger(self, attribute: Attribute) -> str:
        return str(
            Faults(self.call.function, self.call.source.label).refuse(
                f"column {quoted(attribute.name)} holds a value that is none of its {len(attribute.levels or ())} "
                "levels. Give the whole domain in levels, or, if the level is new since the call was planned, run it "
                "again, after a commit if it is part of an open transaction."
            )
        )

    @staticmethod
    def _another(attribute: Attribute, code: sql.Expr, draw: sql.Expr) -> sql.Expr:
        """The place of one of the other levels, each with the same probability: the draw's low digits say which."""
        size = len(attribute.levels or ())
        step = sql.cast(exp.Mod(this=exp.paren(draw.copy()), expression=sql.number(size - 1)), "INTEGER")
        there = exp.Mod(this=exp.paren(sql.total([code.copy(), sql.number(1), step])), expression=sql.number(size))
        return sql.cast(exp.Add(this=sql.number(1), expression=exp.paren(there)), "BIGINT")


def _by_matrix(attribute: Attribute, code: sql.Expr, draw: sql.Expr) -> sql.Expr:
    """The place of level i with probability matrix[i][j], for a draw that is not below matrix[j][j].

    Every level j has a list of thresholds, its own share first and then the others in order; its own
    place in the list adds nothing, so that it is never the first to lie above the draw.
    """
    matrix = attribute.matrix(len(attribute.levels or ()))
    lists = []
    for j, column in enumerate(matrix.T):
        others = np.where(np.arange(len(column)) == j, 0.0, column)
        reached = [_threshold(share) for share in (column[j] + np.cumsum(others)).tolist()]
        last = int(np.flatnonzero(others)[-1]) if others.any() else len(column) - 1
        lists.append(reached[:last] + [_DRAWS] * (len(column) - last))
    own = f"list_extract({lists}, {sql.render(code.copy())} + 1)"
    return sql.raw(f"list_position(list_transform({own}, lambda t: {sql.render(draw.copy())} < t), true)")


def _half(word: sql.Expr, which: int) -> sql.Expr:
    if which == 0:
        return exp.paren(exp.BitwiseAnd(this=word, expression=sql.number(_DRAWS - 1)))
    return exp.paren(exp.BitwiseRightShift(this=word, expression=sql.number(32)))


def _threshold(share: float) -> int:
    return round(min(share, 1.0) * _DRAWS)


def _literal(level: str | None) -> sql.Expr:
    return exp.null() if level is None else sql.text(level)


def _typed(attribute: Attribute, value: sql.Expr) -> sql.Expr:
    """A level back in the type of its column."""
    if attribute.type == "VARCHAR":
        return value
    return sql.raw(f"CAST({sql.render(value)} AS {attribute.type})")


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
