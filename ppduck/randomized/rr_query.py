"""rr_query(): what a query would have answered before randomization: unbiased, with standard error and range.

A published row with levels v stands for the combination u of levels with the weight W(u, v) = Π P_i⁻¹[u_i, v_i], whose
expectation is 1 for the true combination and 0 for all others. With w(v) = Σ_u f(u) W(u, v), f a count's condition,

    T = Σ_rows w(v),   var T = Σ_rows w(v)² - T                                             (target 'table')
                             = (Σ_rows w(v)² - T²/N) · N/(N - 1)                            (target 'population')

are unbiased for the count before randomization and for its variance: that of randomization alone, or that of drawing
the N rows too. (Guo 2010, equations 2.2 and 3.3; the same as rr_reconstruct sums up to.) A share is the quotient of two
such counts, its error by the delta method. Everything is summed by DuckDB, over the combinations that occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.errors import Faults, near_miss, quoted
from ppduck.kernels.randomized import half_width
from ppduck.plan import arguments
from ppduck.plan import sqlbuild as sql
from ppduck.plan.arguments import Parameter
from ppduck.plan.catalog import Catalog, Source
from ppduck.plan.registry import Function, register
from ppduck.randomized import cells
from ppduck.randomized.answers import outputs
from ppduck.randomized.asked import Asked, read_query
from ppduck.randomized.conditioning import is_invertible
from ppduck.randomized.design import LEVELS, MATRIX, MOST_LEVELS, Attribute, P, by_folded_name
from ppduck.randomized.published import Published, read_published, unchanged
from ppduck.values import Array, folded

NAME = "rr_query"
MOST_COMBINATIONS = 2_000


@dataclass(frozen=True)
class Randomized:
    """A randomized column of the query: its levels with NULL after them, and how published ones weigh."""

    attribute: Attribute
    number: int

    @property
    def levels(self) -> tuple[str | None, ...]:
        return self.attribute.levels or ()

    @property
    def texts(self) -> str:
        return "[" + ", ".join("NULL" if t is None else sql.render(sql.text(t)) for t in self.levels) + "]"

    @property
    def stays_null(self) -> bool:
        """Whether NULL is published as it is: then it is a level that nothing turns into, or is turned into."""
        return None not in self.levels

    def code(self, fault: str) -> str:
        """The number of a row's published level."""
        value = f'"_pp_r{self.number}"'
        null = len(self.levels) + 1 if self.stays_null else len(self.levels)
        found = f"list_position({self.texts}, CAST({value} AS VARCHAR))"
        return f"CASE WHEN {value} IS NULL THEN {null} ELSE coalesce({found}, {fault}) END"

    def grid(self) -> str:
        """Every level with its number; NULL too, where a row has it."""
        levels = f"CAST({self.texts} AS {self.attribute.type or 'VARCHAR'}[])"
        size, own = len(self.levels), self.number
        if not self.stays_null:
            return f'SELECT unnest(range(1, {size + 1})) AS "_pp_u{own}", unnest({levels}) AS "_pp_x{own}"'
        return (
            f'SELECT * FROM (SELECT unnest(range(1, {size + 2})) AS "_pp_u{own}", '
            f'unnest(list_append({levels}, NULL)) AS "_pp_x{own}") WHERE "_pp_u{own}" <= {size} OR EXISTS '
            f'(SELECT 1 FROM "_pp_cells" WHERE "_pp_v{own}" > {size})'
        )

    def weight(self) -> str:
        """P⁻¹[u, v]"""
        u, v, size = f'"_pp_u{self.number}"', f'"_pp_v{self.number}"', len(self.levels)
        inverse = np.linalg.inv(self.matrix)
        if self.attribute.p is not None:
            found = f"CASE WHEN {u} = {v} THEN {_number(inverse[0, 0])} ELSE {_number(inverse[0, 1])} END"
        else:
            rows = ", ".join("[" + ", ".join(map(_number, row)) + "]" for row in inverse)
            found = f"list_extract(list_extract([{rows}], {u}), {v})"
        if not self.stays_null:
            return found
        return f"CASE WHEN {u} > {size} OR {v} > {size} THEN CAST({u} = {v} AS DOUBLE) ELSE {found} END"

    @property
    def matrix(self) -> Array:
        return self.attribute.matrix(len(self.levels))


def _number(value: float) -> str:
    return f"{float(value)!r}::DOUBLE"


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    def type_of(table: str, column: str) -> str | None:
        found = catalog.source(NAME, table).find(column)
        return found.type if found else None

    asked = read_query(Faults(NAME), given["query"], type_of)
    published = _published(catalog, asked, given)
    randomized = _randomized(catalog, published)
    return _Writer(asked, published, randomized, given).statement()


def _published(catalog: Catalog, asked: Asked, given: dict[str, Any]) -> Published:
    """The relation, and the design of the columns that the query reads."""
    names = {folded(column.name): column.name for each in asked.expressions for column in each.find_all(exp.Column)}
    source = catalog.source(NAME, asked.table)
    faults = Faults(NAME, source.label)
    if source.columns is None:
        raise faults.refuse(catalog.unseen(source, "make it a table or a view that the planner can see."))
    for name in names.values():
        if source.find(name) is None:
            faults.add(
                f"the query reads column {quoted(name)}, which does not exist."
                f"{near_miss(name, [column.name for column in source.columns])}"
            )
    faults.raise_if_any()
    if not names:
        return Published(NAME, source, (), ())
    wanted = {"tbl": asked.table}
    if "p" in given or "matrix" in given:
        wanted |= _by_hand(source, given, names, faults)
        if "p" not in wanted:
            return Published(NAME, source, (), ())
    elif "levels" in given:
        raise faults.refuse("levels belong to p or matrix; those of a view are in its definition.")
    return read_published(NAME, catalog, wanted, list(names.values()))


def _by_hand(source: Source, given: dict[str, Any], names: dict[str, str], faults: Faults) -> dict[str, Any]:
    """What the call says of the columns that the query reads; those that it does not name are not randomized."""
    p = given.get("p", {})
    if not isinstance(p, dict):
        raise faults.refuse("p is one number; say which columns were randomized: p := {'column': 0.9}.")
    found: dict[str, Any] = {}
    for parameter, mapping in (("p", p), ("matrix", given.get("matrix", {})), ("levels", given.get("levels", {}))):
        for name in mapping:
            if source.find(name) is None:
                faults.add(
                    f"{parameter} names column {quoted(name)}, which does not exist."
                    f"{near_miss(name, [column.name for column in source.columns or ()])}"
                )
        found[parameter] = {name: value for name, value in mapping.items() if folded(name) in names}
    faults.raise_if_any()
    said = by_folded_name({**found["p"], **found["matrix"]})
    found["p"] |= {name: 1.0 for own, name in names.items() if own not in said}
    return {name: value for name, value in found.items() if value}


def _randomized(catalog: Catalog, published: Published) -> list[Randomized]:
    faults = published.faults()
    found: list[Randomized] = []
    for column, attribute in zip(published.columns, published.attributes, strict=True):
        if attribute.is_identity:
            continue
        levels = attribute.levels
        if levels is None:
            read = catalog.levels(published.source, column, MOST_LEVELS)
            if read is None:
                faults.add(f"column {quoted(column.name)} has more than {MOST_LEVELS:,} levels; name them in levels.")
                continue
            levels = tuple(read)
        if len(levels) < 2:
            faults.add(f"column {quoted(column.name)} has fewer than two levels; give all of them in levels.")
            continue
        own = Attribute(column.name, column.type, levels, attribute.p, attribute.rows)
        if is_invertible(own.name, own.matrix(len(levels)), own.p, faults):
            found.append(Randomized(own, len(found)))
    faults.raise_if_any()
    combinations = prod(len(each.levels) for each in found)
    if combinations > MOST_COMBINATIONS:
        raise faults.refuse(
            f"the randomized columns of the query have {combinations:,} combinations of levels, more than the "
            f"{MOST_COMBINATIONS:,} that can be weighed; ask about fewer of them, or see rr_reconstruct."
        )
    return found


class _Writer:
    """Writes the statement that answers."""

    def __init__(self, asked: Asked, published: Published, randomized: list[Randomized], given: dict[str, Any]) -> None:
        self.asked, self.published, self.randomized, self.given = asked, published, randomized, given
        self.by_name = {folded(each.attribute.name): each for each in randomized}
        self.keys: list[sql.Expr] = []  # what rows are told apart by, beside their randomized columns

    def statement(self) -> str:
        asked = self.asked
        kept = [each for each in asked.where if not self._reads_randomized(each)]
        left = [self._seen(each) for each in asked.where if self._reads_randomized(each)]
        where = " AND ".join(f"({sql.render(each)})" for each in left) or "true"
        groups = [self._seen(each) for each in asked.groups]
        conditions = []
        for answer in asked.aggregates:
            conditions += [answer.condition] if answer.of is None else [answer.condition, answer.of]
        flags = [sql.render(self._seen(each)) for each in conditions]
        statement = sql.Statement()
        statement.step("_pp_views", unchanged(self.published), materialized=True)
        statement.step("_pp_cells", self._cells(kept), materialized=True)
        for column in self.randomized:
            statement.step(f"_pp_grid{column.number}", column.grid(), materialized=True)
        statement.step("_pp_weighed", self._weighed(groups, where, flags), materialized=True)
        statement.step("_pp_summed", self._summed(len(groups)), materialized=True)
        return statement.finish(self._answer())

    def _reads_randomized(self, expression: sql.Expr) -> bool:
        return any(folded(column.name) in self.by_name for column in expression.find_all(exp.Column))

    def _seen(self, expression: sql.Expr) -> sql.Expr:
        """An expression over the cells: randomized columns as their levels, all else by what it is of a row."""

        def visit(node: sql.Expr) -> sql.Expr:
            columns = list(node.find_all(exp.Column))
            if isinstance(node, exp.Column) and folded(node.name) in self.by_name:
                return sql.column(f"_pp_x{self.by_name[folded(node.name)].number}")
            is_branch = isinstance(node, exp.If) and isinstance(node.parent, exp.Case)
            if columns and not is_branch and isinstance(node, exp.Condition) and not self._reads_randomized(node):
                return self._key(node)
            return node

        return expression.copy().transform(visit)

    def _key(self, expression: sql.Expr) -> sql.Expr:
        own = expression.copy()
        own.set("parent", None)
        if own not in self.keys:
            self.keys.append(own)
        return sql.column(f"_pp_k{self.keys.index(own)}")

    def _cells(self, kept: list[sql.Expr]) -> str:
        """The rows by what is asked of them, counted; conditions on plain columns have done their work here."""
        fault = sql.render(
            sql.call(
                "error",
                sql.text(
                    str(self.published.faults().refuse("a randomized column holds a value that is none of its levels."))
                ),
            )
        )
        own = [f'{sql.render(sql.column(each.attribute.name))} AS "_pp_r{each.number}"' for each in self.randomized]
        columns = [*(f'{sql.render(key)} AS "_pp_k{i}"' for i, key in enumerate(self.keys)), *own]
        where = f" WHERE {' AND '.join(f'({sql.render(each)})' for each in kept)}" if kept else ""
        names = [f'"_pp_k{i}"' for i in range(len(self.keys))] + [f'"_pp_r{each.number}"' for each in self.randomized]
        rows = f"SELECT {', '.join([*columns, '1 AS _pp_one'])} FROM {self.published.source.sql}{where}"
        group = f" GROUP BY {', '.join(names)}" if names else ""
        counted = f"SELECT {', '.join([*names, 'count(*) AS _pp_c'])} FROM ({rows}){group}"
        # Levels are numbered after the GROUP BY, where there are few of them.
        codes = [f'{each.code(fault)} AS "_pp_v{each.number}"' for each in self.randomized]
        numbered = [*codes, 'CAST("_pp_c" + "_pp_ok" AS DOUBLE) AS "_pp_n"', 'row_number() OVER () AS "_pp_id"']
        return f'SELECT *, {", ".join(numbered)} FROM ({counted}) CROSS JOIN "_pp_views"'

    def _weighed(self, groups: list[sql.Expr], where: str, flags: list[str]) -> str:
        """w(v) of every cell, group and condition: over all levels that it may come from, in every set of groups."""
        weight = " * ".join(f"({each.weight()})" for each in self.randomized) or "1.0::DOUBLE"
        inner = [f'{sql.render(each)} AS "_pp_g{i}"' for i, each in enumerate(groups)]
        inner += [f'CASE WHEN {flag} THEN {weight} ELSE 0 END AS "_pp_f{j}"' for j, flag in enumerate(flags)]
        grids = "".join(f' CROSS JOIN "_pp_grid{each.number}"' for each in self.randomized)
        rows = f'SELECT "_pp_id", "_pp_n", {", ".join(inner)} FROM "_pp_cells"{grids} WHERE {where}'
        names = [f'"_pp_g{i}"' for i in range(len(groups))]
        sums = ", ".join(f'fsum("_pp_f{j}") AS "_pp_w{j}"' for j in range(len(flags)))
        sets = ", ".join(
            "(" + ", ".join(['"_pp_id"', '"_pp_n"', *(names[i] for i in each)]) + ")" for each in self.asked.sets
        )
        which = f"GROUPING({', '.join(names)})" if names else "0"
        shown = ", ".join([*names, f'{which} AS "_pp_set"', '"_pp_n"', sums])
        return f"SELECT {shown} FROM ({rows}) GROUP BY GROUPING SETS ({sets})"

    def _summed(self, groups: int) -> str:
        """Σ w, Σ w² and, of a share, Σ w w' over the rows of each group."""
        sums, j = [], 0
        for k, each in enumerate(self.asked.aggregates):
            one = f'"_pp_w{j}"'
            sums += [f'fsum("_pp_n" * {one}) AS "_pp_t{k}"', f'fsum("_pp_n" * {one} * {one}) AS "_pp_q{k}"']
            j += 1
            if each.of is not None:
                two = f'"_pp_w{j}"'
                sums += [
                    f'fsum("_pp_n" * {two}) AS "_pp_d{k}"',
                    f'fsum("_pp_n" * {one} * {two}) AS "_pp_m{k}"',
                    f'fsum("_pp_n" * {two} * {two}) AS "_pp_e{k}"',
                ]
                j += 1
        names = [f'"_pp_g{i}"' for i in range(groups)]
        if not names:
            return f'SELECT 0 AS "_pp_set", {", ".join(sums)} FROM "_pp_weighed"'
        keys = ", ".join([*names, '"_pp_set"'])
        return f'SELECT {keys}, {", ".join(sums)} FROM "_pp_weighed" GROUP BY {keys}'

    def _answer(self) -> str:
        asked = self.asked
        reach = _number(half_width(self.given.get("level", 0.95), self.given.get("range", "normal")))
        estimates, shown, k = [], [], 0
        for name, item in asked.items:
            own = sql.render(sql.name(name))
            if isinstance(item, int):
                shown.append(f'"_pp_g{item}" AS {own}')
                continue
            value, variance = self._share(k) if item.of is not None else self._count(k)
            estimates += [f'{value} AS "_pp_y{k}"', f'sqrt(greatest({variance}, 0)) AS "_pp_s{k}"']
            parts = [
                f'"_pp_y{k}"',
                f'"_pp_s{k}"',
                f'"_pp_y{k}" - {reach} * "_pp_s{k}"',
                f'"_pp_y{k}" + {reach} * "_pp_s{k}"',
            ]
            shown += [f"{part} AS {sql.render(sql.name(n))}" for part, n in zip(parts, outputs(name), strict=True)]
            k += 1
        rows = f'SELECT *, {", ".join(estimates)} FROM "_pp_summed" CROSS JOIN ({self._total()})'
        if asked.order:
            return f"SELECT * FROM (SELECT {', '.join(shown)} FROM ({rows})) {asked.order}"
        names = ", ".join(['"_pp_set"', *(f'"_pp_g{i}" NULLS LAST' for i in range(len(asked.groups)))])
        return f"SELECT {', '.join(shown)} FROM ({rows}) ORDER BY {names}"

    @property
    def _of_population(self) -> bool:
        return bool(self.given.get("target", "table") == "population")

    def _total(self) -> str:
        if not self._of_population:
            return 'SELECT 0 AS "_pp_all"'
        return f'SELECT CAST(count(*) AS DOUBLE) AS "_pp_all" FROM {self.published.source.sql}'

    def _count(self, k: int) -> tuple[str, str]:
        total, squares = f'coalesce("_pp_t{k}", 0)', f'coalesce("_pp_q{k}", 0)'
        return total, self._variance(f"({squares})", total, f"({total} * {total})")

    def _share(self, k: int) -> tuple[str, str]:
        """t/d, and the variance of t - (t/d)·d, which is 0 in sum, over d²."""
        share = f'(CASE WHEN "_pp_d{k}" <> 0 THEN "_pp_t{k}" / "_pp_d{k}" END)'
        squares = f'("_pp_q{k}" - 2 * {share} * "_pp_m{k}" + {share} * {share} * "_pp_e{k}")'
        known = f'("_pp_t{k}" * (1 - 2 * {share}) + {share} * {share} * "_pp_d{k}")'
        return share, f'({self._variance(squares, known, "0")}) / ("_pp_d{k}" * "_pp_d{k}")'

    def _variance(self, squares: str, known: str, square_of_total: str) -> str:
        if not self._of_population:
            return f"{squares} - {known}"
        return f'({squares} - {square_of_total} / "_pp_all") * "_pp_all" / greatest("_pp_all" - 1, 1)'


FUNCTION = register(
    Function(
        NAME,
        (
            Parameter("query", arguments.words, "a SELECT over one randomized relation, of counts and shares"),
            P,
            MATRIX,
            LEVELS,
            cells.LEVEL,
            cells.RANGE,
            Parameter(
                "target",
                arguments.choice("table", "population"),
                "what is answered: the rows before randomization, or the population that they are a sample of",
                "'table'",
            ),
        ),
        plan,
        "What a SELECT of counts and shares would have answered before randomization, with errors and ranges.",
        "Guo (2010), sections 2.2 and 3.2.2; Chaudhuri & Mukerjee (1988), Randomized Response",
    )
)
