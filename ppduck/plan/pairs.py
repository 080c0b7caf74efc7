"""Two tables matched row by row: the original and its release, joined by key within one statement.

Whatever is measured reads the rows of ``_pp_pairs``: features of nonconf ``_pp_s0…``, numbers before and after
``_pp_x0…``, ``_pp_y0…``, categories before and after ``_pp_a0…``, ``_pp_b0…``. ``_pp_piece`` is the part of the data
that a pair belongs to, NULL where one of its values is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from sqlglot import exp

from ppduck.errors import Faults, listed, quoted
from ppduck.plan import sqlbuild as sql
from ppduck.plan import statistics
from ppduck.plan.catalog import Column, Source
from ppduck.plan.compared import COLUMNS, CONF, KEY, MASKED, NONCONF, ORIGINAL, Compared
from ppduck.plan.roles import Feature, numeric

__all__ = ["COLUMNS", "CONF", "KEY", "MASKED", "NONCONF", "ORIGINAL", "Pairs"]

MATCH = "ppduck_matched"
MATCH_TYPES = (["VARCHAR", *["BIGINT"] * 3, "BOOLEAN", *["BIGINT"] * 4], "BIGINT")
LOOK = 1_000  # rows that a provisional centre is taken from
SAMPLE = 20_000  # rows that models other than linear ones see
LARGEST_HASH = 2**64 - 1
UNLESS_ALIGNED = ' CROSS JOIN "_pp_aligned" WHERE NOT "_pp_all"'
# What a UDF can be told of the pieces, in their order.
PIECE, COUNT = ('list("_pp_piece"::DOUBLE ORDER BY "_pp_piece")', 'list("_pp_n"::DOUBLE ORDER BY "_pp_piece")')
SUMS, PRODUCTS, CENTRES, SAMPLED = (
    f'flatten(list("{name}" ORDER BY "_pp_piece"))'
    for name in ("_pp_sums", "_pp_products", "_pp_centres", "_pp_sample")
)
SAMPLED_SIZES = 'list(len("_pp_sample")::DOUBLE ORDER BY "_pp_piece")'


class Pairs(Compared):
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
        condition = f'{" AND " if unless else " WHERE "}NOT (SELECT "_pp_repeated" FROM "_pp_keyed")'
        original = f'(SELECT "_pp_original".* FROM {rows}{condition}) AS "_pp_original"'
        masked = f'(SELECT "_pp_masked".* FROM "_pp_masked"{unless}) AS "_pp_masked"'
        statement.step("_pp_pairs", self._pairs(original, masked), materialized=materialized)

    def _sides(self, statement: sql.Statement) -> None:
        for name, source, values in (
            ("_pp_original", self.original, self._original_values()),
            ("_pp_masked", self.masked, self._masked_values()),
        ):
            keys = [sql.named(value, each) for value, each in zip(self._keys(source), self.key_names, strict=True)]
            statement.step(name, sql.select([*keys, *values], source.sql), materialized=not source.repeatable)

    def _original_values(self) -> list[sql.Expr]:
        own = [sql.named(sql.double(feature.value.copy()), f"_pp_s{i}") for i, feature in enumerate(self.features)]
        own += [sql.named(sql.double(numeric(column)), f"_pp_x{j}") for j, column in enumerate(self.numbers)]
        own += _inputs([feature for feature, _ in self.inputs], "_pp_x", len(self.numbers))
        own += [sql.named(_text(column), f"_pp_a{j}") for j, column in enumerate(self.categories)]
        if self.pieces:
            part = exp.Case()
            for i, condition in enumerate(self.pieces):
                part = part.when(condition.copy(), sql.number(i))
            own.append(sql.named(part.else_(sql.number(len(self.pieces))), "_pp_part"))
        return own

    def _masked_values(self) -> list[sql.Expr]:
        numbers, categories = ([self._of_masked(c) for c in columns] for columns in (self.numbers, self.categories))
        other = [sql.named(sql.double(numeric(column)), f"_pp_y{j}") for j, column in enumerate(numbers)]
        other += _inputs([feature for _, feature in self.inputs], "_pp_y", len(numbers))
        return [*other, *(sql.named(_text(column), f"_pp_b{j}") for j, column in enumerate(categories))]

    def _of_masked(self, column: Column) -> Column:
        found = self.masked.find(column.name)
        assert found is not None
        return found

    def _keys(self, source: Source) -> list[sql.Expr]:
        """The key's columns; as text where the two tables have them in types of different kinds."""
        found = []
        for column in self.key:
            types = {each.type for side in (self.original, self.masked) if (each := side.find(column.name))}
            own = source.find(column.name)
            assert own is not None
            found.append(sql.column(own.name) if len(types) == 1 else sql.cast(sql.column(own.name), "VARCHAR"))
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

    def centre(self, statement: sql.Statement) -> None:
        """A value near each column's mean, about which sums lose no digits: any row's is within √n deviations of it."""
        looks = []
        sides = (("_pp_original", ("_pp_s", "_pp_x")), ("_pp_masked", ("_pp_y",)))
        for side, kinds in sides:
            names = [name for name in self.value_names if name.startswith(kinds)]
            present = sql.present(map(sql.column, names))
            where = f" WHERE {sql.render(present)}" if present is not None else ""
            averages = [
                sql.named(sql.call("coalesce", sql.call("avg", sql.column(name)), sql.number(0.0)), f"{name}_c")
                for name in names
            ] or [sql.number(1)]
            looks.append(f"({sql.select(averages, f'(SELECT * FROM {side}{where} LIMIT {LOOK})')})")
        statement.step("_pp_centre", f"SELECT * FROM {' CROSS JOIN '.join(looks)}", materialized=True)

    def _looked_up(self) -> list[float] | None:
        """The centre as the planner finds it, in tables that it can look at: any value near the mean will do, and
        numbers that stand in the statement are subtracted faster than those of a joined row.
        """
        statement = sql.Statement()
        self._sides(statement)
        self.centre(statement)
        columns = sql.array((sql.column(f"{name}_c") for name in self.value_names), "DOUBLE")
        try:
            found = self.catalog.reader.execute(statement.finish(sql.select([columns], '"_pp_centre"'))).fetchone()[0]
        except Exception:  # what is wrong with the data, the statement itself will tell
            return None
        return [value if math.isfinite(value) else 0.0 for value in found]

    def deviations(self, centres: Sequence[float] | None = None) -> list[sql.Expr]:
        names = self.value_names
        if centres is None:
            return [sql.minus(sql.column(name), sql.column(f"{name}_c")) for name in names]
        numbers = [sql.double(sql.number(value)) for value in centres]
        return [sql.minus(sql.column(name), value) for name, value in zip(names, numbers, strict=True)]

    def moments(self, more: dict[str, sql.Expr] | None = None, *, sampled: bool = False) -> sql.Statement:
        """Steps up to ``_pp_told``: for each piece the moments of [S, X, Y] about the centre, and ``more``.

        The pairs are kept where they are to be ``sampled`` too.
        """
        statement = sql.Statement()
        self._sides(statement)
        centres = self._looked_up() if self._may_be_aligned() and not sampled else None
        if centres is None:
            self.centre(statement)
        values = self.deviations(centres)
        told = (sql.call("any_value", sql.column(f"{name}_c")) for name in self.value_names)
        parts = {
            "_pp_sums": statistics.sums(values),
            "_pp_products": statistics.products(values),
            "_pp_centres": sql.array(told if centres is None else map(sql.number, centres), "DOUBLE"),
            **(more or {}),
        }
        if centres is None:
            self._match(statement, materialized=sampled)
            self.told(statement, parts, '"_pp_pairs" CROSS JOIN "_pp_centre"')
        else:
            self._looks_aligned = True
            self._aligned(statement, values, parts)
            self._match(statement, unless=UNLESS_ALIGNED)
            beside = ' UNION ALL SELECT "_pp_aligned".* EXCLUDE ("_pp_all") FROM "_pp_aligned" WHERE "_pp_all"'
            self.told(statement, parts, beside=beside)
        return statement

    def _may_be_aligned(self) -> bool:
        """Whether the two may lie side by side, as a release does that was written in the order of its original."""
        tables = self.original.has_rowid and self.masked.has_rowid
        return tables and len(self.key) == 1 and not self.pieces and not self.categories

    def _aligned(self, statement: sql.Statement, values: list[sql.Expr], parts: dict[str, sql.Expr]) -> None:
        """``_pp_aligned``: the same of rows side by side, and whether their keys are equal and rise throughout.

        Joining 10 million keys takes several times as long as the sums do. Where keys rise they are unique, and rows
        side by side are the pairs; else, or where a value is NULL, this counts for nothing. DuckDB reads two tables
        side by side in one thread: products of one table alone are left to others.
        """
        size = len(self.numbers) + len(self.inputs)
        own, other = values[: len(values) - size], values[len(values) - size :]
        pairs = [sql.call("sum", sql.product(y, z)) for y in other for z in own]
        crossed: dict[str, sql.Expr] = {"_pp_zy": sql.array(pairs, "DOUBLE"), "_pp_all": sql.raw(self._fits())}
        moments = {"_pp_n", "_pp_sums", "_pp_products"}
        crossed |= {name: part for name, part in parts.items() if name not in moments}
        tables = [f"({sql.select(_named(crossed), f'({self._side_by_side()})')})"]
        for side, of_side, names in (("original", own, "z"), ("masked", other, "y")):
            counted = {"_pp_n": statistics.rows()} if side == "original" else {}
            sums = {f"_pp_{names}": statistics.sums(of_side), f"_pp_{names * 2}": statistics.products(of_side)}
            tables.append(f"({sql.select(_named(counted | sums), f'_pp_{side}')})")
        # The lower triangle row by row: that of [S, X], then for each Y its products with them and with Y up to itself.
        triangle = ["_pp_zz"]
        for j in range(size):
            triangle.append(f"_pp_zy[{j * len(own) + 1} : {(j + 1) * len(own)}]")
            triangle.append(f"_pp_yy[{j * (j + 1) // 2 + 1} : {(j + 1) * (j + 2) // 2}]")
        made = {"_pp_sums": sql.raw("_pp_z || _pp_y"), "_pp_products": sql.raw(" || ".join(triangle))}
        columns: dict[str, sql.Expr] = {"_pp_piece": sql.number(0), "_pp_n": sql.column("_pp_n")}
        columns |= {name: made.get(name, sql.column(name)) for name in [*parts, "_pp_all"]}
        statement.step("_pp_aligned", sql.select(_named(columns), " CROSS JOIN ".join(tables)), materialized=True)

    def _side_by_side(self) -> str:
        (key,), (masked_key,) = self._keys(self.original), self._keys(self.masked)
        own = [_of_table(each, "_pp_o") for each in [sql.named(key, "_pp_k"), *self._original_values()]]
        other = [_of_table(each, "_pp_m") for each in [sql.named(masked_key, "_pp_mk"), *self._masked_values()]]
        before = sql.named(sql.raw(f"lag({sql.render(_of_table(key, '_pp_o'))}) OVER ()"), "_pp_before")
        tables = f'{self.original.sql} AS "_pp_o" POSITIONAL JOIN {self.masked.sql} AS "_pp_m"'
        return sql.select([*own, *other, before], tables)

    def _fits(self) -> str:
        """Whether every row's key is its neighbour's and above the one before, and no value is NULL."""
        present = sql.present(sql.column(name) for name in self.value_names)
        complete = f" AND {sql.render(present)}" if present is not None else ""
        rising = '("_pp_before" IS NULL OR "_pp_k" > "_pp_before")'
        return f'count(*) FILTER (WHERE "_pp_k" = "_pp_mk" AND {rising}{complete}) = count(*)'

    def told(
        self, statement: sql.Statement, parts: dict[str, sql.Expr], source: str = '"_pp_pairs"', beside: str = ""
    ) -> None:
        """``_pp_told``: aggregates of each piece, the count of its pairs among them."""
        asked = {"_pp_n": statistics.rows()} | parts
        columns = [sql.column("_pp_piece"), *(sql.named(value, name) for name, value in asked.items())]
        rows = sql.select(columns, source, group=[sql.column("_pp_piece")])
        statement.step("_pp_told", rows + beside, materialized=True)

    def sample(self, statement: sql.Statement, values: Sequence[sql.Expr], size: int = SAMPLE) -> None:
        """``_pp_told`` with ``_pp_sample``: some rows of each piece, always the same, one after the other."""
        self.told(statement, {})
        self.draw(statement, values, size)

    def draw(self, statement: sql.Statement, values: Sequence[sql.Expr], size: int = SAMPLE) -> None:
        """``_pp_sampled``, to be told beside ``_pp_told``."""
        rows = "(SELECT count(*) AS _pp_rows FROM _pp_original)"
        most = f"least(1.0::DOUBLE, {float(size)!r} / greatest(_pp_rows, 1))"
        row = sql.render(sql.array((sql.double(value.copy()) for value in values), "DOUBLE"))
        drawn = f'flatten(list({row} ORDER BY "_pp_key"))'
        condition = f'"_pp_key" <= ({most} * {LARGEST_HASH})::UHUGEINT AND "_pp_piece" IS NOT NULL'
        sampled = (
            f'SELECT "_pp_piece", {drawn} AS "_pp_sample" FROM "_pp_pairs" CROSS JOIN {rows} '
            f'WHERE {condition} GROUP BY "_pp_piece"'
        )
        statement.step("_pp_sampled", sampled, materialized=True)

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
    raise Faults(spec["function"], spec["table"]).refuse(
        f"rows are matched by key ({listed(spec['key'])}), and they do not match one to one: {'; '.join(found)}. "
        "Name a key that is unique and never NULL, and compare tables of the same rows, such as '(SELECT … WHERE …)'."
    )


def _text(column: Column) -> sql.Expr:
    name = sql.column(column.name)
    return name if column.type == "VARCHAR" else sql.cast(name, "VARCHAR")


def _inputs(features: Iterable[Feature], kind: str, first: int) -> list[sql.Expr]:
    return [sql.named(sql.double(each.value.copy()), f"{kind}{j}") for j, each in enumerate(features, first)]


def _named(columns: dict[str, sql.Expr]) -> list[sql.Expr]:
    return [sql.named(value.copy(), name) for name, value in columns.items()]


def _of_table(value: sql.Expr, table: str) -> sql.Expr:
    """An expression with every column said to be of a table."""

    def qualified(node: sql.Expr) -> sql.Expr:
        return sql.column(node.name, table) if isinstance(node, exp.Column) else node

    return value.copy().transform(qualified)


def _hash(keys: Sequence[sql.Expr]) -> sql.Expr:
    return sql.call("hash", *(key.copy() for key in keys))
