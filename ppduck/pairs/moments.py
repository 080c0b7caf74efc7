"""The moments of matched rows, and samples of them: what the measures of a release are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sqlglot import exp

from ppduck.errors import UnreadError
from ppduck.pairs.columns import COMPARED, CONF, KEY, NONCONF, ORIGINAL, RELEASE
from ppduck.pairs.rows import LOOK, SAMPLED, UNLESS_ALIGNED, Matching, aggregated, named
from ppduck.query import aggregates
from ppduck.query import tree as sql

__all__ = ["COMPARED", "CONF", "KEY", "NONCONF", "ORIGINAL", "RELEASE", "SAMPLED", "Pairs"]

SAMPLE = 20_000  # rows that models other than linear ones see
LARGEST_HASH = 2**64 - 1
# Squared distance of a centre from the mean, in variances, from which on sums about it would lose too many digits.
FAR = 1e4
# What a UDF can be told of the pieces, in their order.
PIECE, COUNT = ('list("_pp_piece"::DOUBLE ORDER BY "_pp_piece")', 'list("_pp_n"::DOUBLE ORDER BY "_pp_piece")')
SUMS, PRODUCTS, CENTRES = (
    f'flatten(list("{name}" ORDER BY "_pp_piece"))' for name in ("_pp_sums", "_pp_products", "_pp_centres")
)
SAMPLED_SIZES = 'list(len("_pp_sample")::DOUBLE ORDER BY "_pp_piece")'


class Pairs(Matching):
    """The pairs of one call, and the steps of its statement that sum them up."""

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
            # A plain LIMIT has DuckDB 1.4 sort these rows by their place, and its plan then tells the least value.
            looks.append(f"({sql.select(averages, f'(SELECT * FROM {side}{where} LIMIT (SELECT {LOOK}))')})")
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
        except UnreadError as error:
            if not error.unseen:
                raise
            return None  # an open transaction may have what the planner cannot see
        return [value if math.isfinite(value) else 0.0 for value in found]

    def moments(self, more: dict[str, sql.Expr] | None = None, *, sampled: bool = False) -> sql.Statement:
        """Steps up to ``_pp_told``: for each piece the moments of [S, X, Y] about the centre, and ``more``.

        The pairs are kept where they are to be ``sampled`` too.
        """
        statement = sql.Statement()
        self._sides(statement)
        centres = self._looked_up() if self._may_be_aligned() and not sampled else None
        names, more = self.value_names, more or {}
        if centres is None:
            self.centre(statement)
            self._match(statement, materialized=sampled)
            self.about_centre(statement, names, centre_columns(names), more, '"_pp_pairs" CROSS JOIN "_pp_centre"')
        else:
            self._looks_aligned = True
            constants = [sql.double(sql.number(value)) for value in centres]
            self._aligned(statement, names, constants, more)
            self._match(statement, unless=UNLESS_ALIGNED)
            beside = ' UNION ALL SELECT "_pp_aligned".* EXCLUDE ("_pp_all") FROM "_pp_aligned" WHERE "_pp_all"'
            self.about_centre(statement, names, constants, more, '"_pp_pairs"', beside)
        return statement

    def about_centre(
        self,
        statement: sql.Statement,
        names: Sequence[str],
        centres: Sequence[sql.Expr],
        more: dict[str, sql.Expr],
        source: str,
        beside: str = "",
        again: str | None = None,
    ) -> None:
        """``_pp_told`` with moments of some columns about centres that were found before there were pairs.

        Rows that have no partner, or NULL, may lie elsewhere, and so may those of another piece, or of an open
        transaction. Where a mean turns out to be far from its centre, the piece is summed again about its mean.
        ``again`` has the pairs; by default they are matched again, if there is anything to sum.
        """
        self.told(statement, _moments_about(names, centres) | more, source, beside, step="_pp_rough")
        columns = ['"_pp_piece"']
        columns += [f'"_pp_centres"[{i}] + "_pp_sums"[{i}] / "_pp_n" AS "{name}_c"' for i, name in enumerate(names, 1)]
        far = " OR ".join(far_off(len(names))) or "false"
        off = f'SELECT {", ".join(columns)} FROM "_pp_rough" WHERE "_pp_piece" IS NOT NULL AND ({far})'
        statement.step("_pp_off", off, materialized=True)
        if again is None:
            statement.step("_pp_far", 'SELECT 1 AS "_pp_one" FROM "_pp_off" LIMIT 1', materialized=True)
            again = "_pp_again_pairs"
            statement.step(again, self._matched(' CROSS JOIN "_pp_far"'), materialized=False)
        parts = {"_pp_n": aggregates.rows()} | _moments_about(names, centre_columns(names)) | more
        summed = aggregated(parts, f'"{again}" JOIN "_pp_off" USING ("_pp_piece")')
        kept = 'SELECT * FROM "_pp_rough" ANTI JOIN "_pp_off" USING ("_pp_piece")'
        statement.step("_pp_told", f"{kept} UNION ALL {summed}", materialized=True)

    def _may_be_aligned(self) -> bool:
        """Whether the two may lie side by side, as a release does that was written in the order of its original."""
        tables = self.original.has_rowid and self.masked.has_rowid
        return tables and len(self.key) == 1 and not self.pieces and not self.categories

    def _aligned(
        self,
        statement: sql.Statement,
        names: Sequence[str],
        centres: Sequence[sql.Expr],
        more: dict[str, sql.Expr],
    ) -> None:
        """``_pp_aligned``: the same of rows side by side, and whether their keys are equal and rise throughout.

        Joining 10 million keys takes several times as long as the sums do. Where keys rise they are unique, and rows
        side by side are the pairs; else, or where a value is NULL, this counts for nothing. DuckDB reads two tables
        side by side in one thread: products of one table alone are left to others.
        """
        size = len(self.numbers) + len(self.inputs)
        values, parts = _deviations(names, centres), _moments_about(names, centres) | more
        own, other = values[: len(values) - size], values[len(values) - size :]
        texts, other_texts = ([f"({sql.render(value)})" for value in side] for side in (own, other))
        products = aggregates.sums_of_products((y, z) for y in other_texts for z in texts)
        crossed: dict[str, sql.Expr] = {"_pp_zy": products, "_pp_all": sql.raw(self._fits())}
        moments = {"_pp_n", "_pp_sums", "_pp_products"}
        crossed |= {name: part for name, part in parts.items() if name not in moments}
        tables = [f"({sql.select(named(crossed), f'({self._side_by_side()})')})"]
        for side, of_side, names in (("original", own, "z"), ("masked", other, "y")):
            counted = {"_pp_n": aggregates.rows()} if side == "original" else {}
            sums = {f"_pp_{names}": aggregates.sums(of_side), f"_pp_{names * 2}": aggregates.products(of_side)}
            tables.append(f"({sql.select(named(counted | sums), f'_pp_{side}')})")
        # The lower triangle row by row: that of [S, X], then for each Y its products with them and with Y up to itself.
        triangle = ["_pp_zz"]
        for j in range(size):
            triangle.append(f"_pp_zy[{j * len(own) + 1} : {(j + 1) * len(own)}]")
            triangle.append(f"_pp_yy[{j * (j + 1) // 2 + 1} : {(j + 1) * (j + 2) // 2}]")
        made = {"_pp_sums": sql.raw("_pp_z || _pp_y"), "_pp_products": sql.raw(" || ".join(triangle))}
        columns: dict[str, sql.Expr] = {"_pp_piece": sql.number(0), "_pp_n": sql.column("_pp_n")}
        columns |= {name: made.get(name, sql.column(name)) for name in [*parts, "_pp_all"]}
        rows = sql.select(named(columns), " CROSS JOIN ".join(tables))
        near = " AND ".join(f"coalesce(NOT ({each}), true)" for each in far_off(len(values))) or "true"
        only_near = f'SELECT * REPLACE ("_pp_all" AND {near} AS "_pp_all") FROM ({rows})'
        statement.step("_pp_aligned", only_near, materialized=True)

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


def centre_columns(names: Iterable[str]) -> list[sql.Expr]:
    return [sql.column(f"{name}_c") for name in names]


def far_off(size: int) -> list[str]:
    """For each column whether its mean is far from its centre, by ``_pp_sums``, ``_pp_products`` and ``_pp_n``."""
    found = []
    for i in range(1, size + 1):
        squared = f'"_pp_sums"[{i}] * "_pp_sums"[{i}] / "_pp_n"'
        found.append(f'{squared} > {FAR!r} * ("_pp_products"[{i * (i + 1) // 2}] - {squared})')
    return found


def _deviations(names: Iterable[str], centres: Iterable[sql.Expr]) -> list[sql.Expr]:
    return [sql.minus(sql.column(name), centre.copy()) for name, centre in zip(names, centres, strict=True)]


def _moments_about(names: Sequence[str], centres: Sequence[sql.Expr]) -> dict[str, sql.Expr]:
    values = _deviations(names, centres)
    told = (sql.call("any_value", centre.copy()) for centre in centres)
    return {
        "_pp_sums": aggregates.sums(values),
        "_pp_products": aggregates.products(values),
        "_pp_centres": sql.array(told, "DOUBLE"),
    }


def _of_table(value: sql.Expr, table: str) -> sql.Expr:
    """An expression with every column said to be of a table."""

    def qualified(node: sql.Expr) -> sql.Expr:
        return sql.column(node.name, table) if isinstance(node, exp.Column) else node

    return value.copy().transform(qualified)
