"""Two tables matched row by row: the original and its release, joined by key within one statement.

Whatever is measured reads the rows of ``_pp_pairs``: features of nonconf ``_pp_s0…``, numbers before and after
``_pp_x0…``, ``_pp_y0…``, categories before and after ``_pp_a0…``, ``_pp_b0…``. ``_pp_piece`` is the part of the data
that a pair belongs to, NULL where one of its values is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlglot import exp

from ppduck import interrupts
from ppduck.call.roles import Feature, numeric
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Column, Source
from ppduck.errors import Faults, listed, quoted
from ppduck.pairs.columns import Compared
from ppduck.query import aggregates
from ppduck.query import tree as sql

MATCH = "ppduck_matched"
LOOK = 1_000  # rows that a first look is at
UNLESS_ALIGNED = ' CROSS JOIN "_pp_aligned" WHERE NOT "_pp_all"'
SAMPLED = 'flatten(list("_pp_sample" ORDER BY "_pp_piece"))'


class Matching(Compared):
    """The rows of one call, and the steps of its statement that match them."""

    _looks_aligned = False

    def statement(self, *, materialized: bool = False) -> sql.Statement:
        """Steps up to the pairs; they are kept where they are ``materialized``, as for readers that come twice."""
        statement = sql.Statement()
        self._sides(statement)
        self._match(statement, materialized=materialized)
        return statement

    def _match(self, statement: sql.Statement, *, materialized: bool = False, unless: str = "") -> None:
        """``_pp_pairs``; a key of few values would make more of them than can be counted, and makes none."""
        digest = sql.render(_hash([sql.column(name) for name in self.key_names]))
        rows = f'"_pp_original"{unless}'
        few = f"count(*) > {LOOK} AND approx_count_distinct({digest}) < 0.5 * count(*)"
        statement.step("_pp_keyed", f'SELECT {few} AS "_pp_repeated" FROM {rows}', materialized=True)
        statement.step("_pp_pairs", self._matched(unless), materialized=materialized)

    def _matched(self, only_if: str) -> str:
        """The pairs, if a condition that is joined to both sides holds."""
        condition = f'{" AND " if " WHERE " in only_if else " WHERE "}NOT (SELECT "_pp_repeated" FROM "_pp_keyed")'
        original = f'(SELECT "_pp_original".* FROM "_pp_original"{only_if}{condition}) AS "_pp_original"'
        masked = f'(SELECT "_pp_masked".* FROM "_pp_masked"{only_if}) AS "_pp_masked"'
        return self._pairs(original, masked)

    def _sides(self, statement: sql.Statement) -> None:
        for name, source, values in (
            ("_pp_original", self.original, self._original_values()),
            ("_pp_masked", self.masked, self._masked_values()),
        ):
            keys = [sql.named(value, each) for value, each in zip(self._keys(source), self.key_names, strict=True)]
            statement.step(name, sql.select([*keys, *values], source.sql), materialized=not source.repeatable)

    def _original_values(self) -> list[sql.Expr]:
        own = [sql.named(sql.double(feature.value.copy()), f"_pp_s{i}") for i, feature in enumerate(self.features)]
        own += [sql.named(_number(column), f"_pp_x{j}") for j, column in enumerate(self.numbers)]
        own += _inputs([feature for feature, _ in self.inputs], "_pp_x", len(self.numbers))
        own += [sql.named(_text(column), f"_pp_a{j}") for j, column in enumerate(self.categories)]
        if self.pieces:
            own.append(sql.named(self.part(), "_pp_part"))
        return own

    def _masked_values(self) -> list[sql.Expr]:
        numbers, categories = ([self._of_masked(c) for c in columns] for columns in (self.numbers, self.categories))
        other = [sql.named(_number(column), f"_pp_y{j}") for j, column in enumerate(numbers)]
        other += _inputs([feature for _, feature in self.inputs], "_pp_y", len(numbers))
        return [*other, *(sql.named(_text(column), f"_pp_b{j}") for j, column in enumerate(categories))]

    def _of_masked(self, column: Column) -> Column:
        found = self.masked.find(column.name)
        assert found is not None
        return found

    def _keys(self, source: Source) -> list[sql.Expr]:
        """The key's columns; in a type of both where the two tables have them in different ones."""
        found = []
        for column in self.key:
            both = [each for side in (self.original, self.masked) if (each := side.find(column.name))]
            own = source.find(column.name)
            assert own is not None
            value = sql.column(own.name)
            if len({each.type for each in both}) > 1:
                # 1 and 1.0 are one number and two texts.
                fractions = all(each.is_numeric for each in both) and not all(each.is_integer for each in both)
                value = sql.cast(value, "DOUBLE" if fractions else "VARCHAR")
            found.append(value)
        return found

    @property
    def key_names(self) -> list[str]:
        return [f"_pp_k{i}" for i in range(len(self.key))]

    @property
    def value_names(self) -> list[str]:
        """Features, numbers and inputs before, the same after."""
        q = range(len(self.numbers) + len(self.inputs))
        return [*(f"_pp_s{i}" for i in range(len(self.features))), *(f"_pp_x{j}" for j in q), *(f"_pp_y{j}" for j in q)]

    @property
    def category_names(self) -> list[str]:
        c = range(len(self.categories))
        return [*(f"_pp_a{j}" for j in c), *(f"_pp_b{j}" for j in c)]

    def _pairs(self, original: str, masked: str) -> str:
        names = [*self.value_names, *self.category_names]
        complete = sql.present(sql.column(name) for name in names)
        part = sql.column("_pp_part") if self.pieces else sql.number(0)
        piece = exp.Case().when(complete, part) if complete is not None else part
        keys = [sql.column(name, "_pp_original") for name in self.key_names]
        columns = [*keys, *map(sql.column, names), sql.named(piece, "_pp_piece"), sql.named(_hash(keys), "_pp_key")]
        return sql.select(columns, f"{original} JOIN {masked} USING ({', '.join(self.key_names)})")

    def told(
        self,
        statement: sql.Statement,
        parts: dict[str, sql.Expr],
        source: str = '"_pp_pairs"',
        beside: str = "",
        step: str = "_pp_told",
    ) -> None:
        """``_pp_told``: aggregates of each piece, the count of its pairs among them."""
        statement.step(step, aggregated({"_pp_n": aggregates.rows()} | parts, source) + beside, materialized=True)

    def check(self, statement: sql.Statement) -> None:
        """``_pp_check``: raises where keys do not match one to one; which is counted in detail only then.

        Keys that agree as multisets (their hashes sum to the same) and make as many pairs as rows are unique.
        """
        keys = ", ".join(self.key_names)
        digest = sql.render(_hash([sql.column(name) for name in self.key_names]))
        # Rows that lie side by side are counted already.
        unless, beside = "", ""
        if self._looks_aligned:
            unless, beside = (
                UNLESS_ALIGNED,
                ' + (SELECT CASE WHEN "_pp_all" THEN "_pp_n" ELSE 0 END FROM "_pp_aligned")',
            )
        counted = " CROSS JOIN ".join(
            f'(SELECT count(*){beside} AS "_pp_n_{side}", sum({digest}) AS "_pp_d_{side}" FROM "_pp_{side}"{unless})'
            for side in ("original", "masked")
        )
        pairs = 'SELECT coalesce(sum("_pp_n"), 0)::BIGINT AS "_pp_n_pairs" FROM "_pp_told"'
        same = '"_pp_d_original" IS NOT DISTINCT FROM "_pp_d_masked"'
        bad = f'NOT ("_pp_n_original" = "_pp_n_masked" AND "_pp_n_pairs" = "_pp_n_original" AND {same})'
        statement.step(
            "_pp_counts",
            f'SELECT *, {same} AS "_pp_same", {bad} AS "_pp_bad" FROM {counted} CROSS JOIN ({pairs})',
            materialized=True,
        )
        gated = {
            side: f'(SELECT {keys} FROM "_pp_{side}" CROSS JOIN "_pp_counts" WHERE "_pp_bad")'
            for side in ("original", "masked")
        }
        troubles = []
        for side, other in (("original", "masked"), ("masked", "original")):
            troubles.append(f"(SELECT count(*) FROM {gated[side]} ANTI JOIN {gated[other]} USING ({keys}))")
        for side in ("original", "masked"):
            present = " AND ".join(f"{name} IS NOT NULL" for name in self.key_names)
            twice = f"SELECT 1 FROM {gated[side]} WHERE {present} GROUP BY {keys} HAVING count(*) > 1"
            troubles.append(f"(SELECT count(*) FROM ({twice}))")
        counts = ", ".join(f'"_pp_{name}"' for name in ("n_original", "n_masked", "n_pairs", "same"))
        told = sql.render(sql.text(self.specification()))
        matched = f'SELECT {MATCH}({told}, {counts}, {", ".join(troubles)}) AS "_pp_matched" FROM "_pp_counts"'
        statement.step("_pp_check", matched, materialized=True)

    def specification(self, **more: Any) -> str:
        told = {
            interrupts.ASKING: interrupts.asking(),
            "function": self.function,
            "table": self.original.label,
            "masked": self.masked.label,
            "key": [column.name for column in self.key],
            "columns": [column.name for column in self.numbers],
            "categories": [column.name for column in self.categories],
            "features": [feature.label for feature in self.features],
            "pieces": self.piece_labels,
        }
        return json.dumps(told | more, sort_keys=True)

    def rows(self, statement: sql.Statement, udf: str, told: Sequence[str], columns: Iterable[str], **more: Any) -> str:
        """The rows that a UDF makes of its specification and of ``told``: aggregates over the pieces."""
        self.check(statement)
        source = '"_pp_told"' + (' LEFT JOIN "_pp_sampled" USING ("_pp_piece")' if SAMPLED in told else "")
        parts = ", ".join(f'{part} AS "_pp_t{i}"' for i, part in enumerate(told))
        pieces = f'(SELECT {parts} FROM {source} WHERE "_pp_piece" IS NOT NULL)'
        # What nothing reads DuckDB does not run: the result hangs on the check.
        names = [sql.column(f"_pp_t{i}") for i in range(len(told))]
        asked = sql.call(udf, sql.text(self.specification(**more)), sql.column("_pp_matched"), *names)
        rows = sql.select([sql.named(sql.call("unnest", asked), "_pp_row")], f'"_pp_check" CROSS JOIN {pieces}')
        fields = [sql.named(sql.raw(f'"_pp_row".{sql.render(sql.name(name))}'), name) for name in columns]
        return statement.finish(sql.select(fields, f"({rows})"))


def matched(
    specification: str, n: int, masked_n: int, pairs: int, same: bool,
    alone: int, masked_alone: int, twice: int, masked_twice: int,
) -> int:  # fmt: skip
    """The number of pairs, if every row has exactly one partner."""
    if n == masked_n == pairs and same:
        return pairs
    spec = json.loads(specification)
    original, masked = quoted(spec["table"]), quoted(spec["masked"])
    found = []
    if alone:
        found.append(f"{alone} of the {n} rows of {original} have no partner in {masked}")
    if masked_alone:
        found.append(f"{masked_alone} of the {masked_n} rows of {masked} have no partner in {original}")
    for count, name in ((twice, original), (masked_twice, masked)):
        if count:
            found.append(f"{count} keys occur more than once in {name}")
    if not found:
        found.append("keys that count as equal are spelt in different ways")
    raise Faults(spec["function"], spec["table"]).refuse(
        f"rows are matched by key ({listed(spec['key'])}), and they do not match one to one: {'; '.join(found)}. "
        "Name a key that is unique and never NULL, and compare tables of the same rows, such as '(SELECT … WHERE …)'."
    )


def _number(column: Column) -> sql.Expr:
    return sql.double(sql.hidden(column.name) if column.is_integer else numeric(column))


def _text(column: Column) -> sql.Expr:
    name = sql.column(column.name)
    return name if column.type == "VARCHAR" else sql.cast(name, "VARCHAR")


def _inputs(features: Iterable[Feature], kind: str, first: int) -> list[sql.Expr]:
    return [sql.named(sql.double(each.value.copy()), f"{kind}{j}") for j, each in enumerate(features, first)]


def _hash(keys: Sequence[sql.Expr]) -> sql.Expr:
    return sql.call("hash", *(key.copy() for key in keys))


def named(columns: dict[str, sql.Expr]) -> list[sql.Expr]:
    return [sql.named(value.copy(), name) for name, value in columns.items()]


def aggregated(parts: dict[str, sql.Expr], source: str) -> str:
    """Aggregates of each piece."""
    return sql.select([sql.column("_pp_piece"), *named(parts)], source, group=[sql.column("_pp_piece")])


UDF = Udf(MATCH, matched, ("VARCHAR", *("BIGINT",) * 3, "BOOLEAN", *("BIGINT",) * 4), "BIGINT")
