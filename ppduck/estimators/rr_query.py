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

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.catalogue.rehearsal import may_fail, rehearse
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import LEVELS, MATRIX, DesignWords, Matrix, P, Probability
from ppduck.errors import Faults
from ppduck.estimators import cells
from ppduck.estimators.answers import outputs
from ppduck.estimators.design_source import Release, same_views
from ppduck.estimators.question import Asked, Grouping, read_query
from ppduck.estimators.question_table import NAME, Known, Randomized, number, randomized_of, release_of
from ppduck.kernels.randomized import Spread, Target, half_width
from ppduck.query import tree as sql
from ppduck.query.whole_names import foreign
from ppduck.values import folded


@parameters
class RrQueryCall(Call):
    query: str = parameter(arguments.words, "a SELECT over one randomized relation, of counts and shares")
    p: Probability | None = P
    matrix: Mapping[str, Matrix] | None = MATRIX
    levels: Mapping[str, list[Any]] | None = LEVELS
    on_null: str | None = parameter(
        arguments.choice("keep", "level"),
        "beside p or matrix: whether NULL was published as it is, or randomized as a level; as it is by default, "
        "because rr_mask does so",
        None,  # a view says it in its definition, and nothing may be said beside it
    )
    confidence: float = cells.CONFIDENCE
    range: Spread = cells.RANGE
    target: Target = parameter(
        arguments.choice("table", "population"),
        "what is answered: the rows before randomization, or the population that they are a sample of; "
        "the rows by default, because that is what a query of a table counts",
        "table",
    )


def plan(catalog: Catalog, call: RrQueryCall) -> str:
    asked = read_query(Faults(NAME), call.query, Known(catalog))
    words = DesignWords(call.p, call.matrix, call.levels, call.on_null == "level")
    release = release_of(catalog, asked, words, call.on_null)
    randomized = randomized_of(catalog, release, null_is_level=words.null_is_level)
    statement = _Writer(asked, release, randomized, call).statement()
    if may_fail(asked.expressions):
        rehearse(catalog.reader, release.faults(), "query", statement)
    return statement


class _Writer:
    """Writes the statement that answers."""

    def __init__(self, asked: Asked, release: Release, randomized: list[Randomized], call: RrQueryCall) -> None:
        self.asked, self.release, self.randomized, self.call = asked, release, randomized, call
        self.by_name = {folded(each.attribute.name): each for each in randomized}
        self.keys: list[sql.Expr] = []  # what rows are told apart by, beside their randomized columns

    def statement(self) -> str:
        asked = self.asked
        kept = [each for each in asked.where if not self._reads_randomized(each)]
        left = [self._seen(each) for each in asked.where if self._reads_randomized(each)]
        where = " AND ".join(f"({_theirs(each)})" for each in left) or "true"
        groups = [self._seen(each) for each in asked.groups]
        conditions = []
        for answer in asked.aggregates:
            conditions += [answer.condition] if answer.of is None else [answer.condition, answer.of]
        flags = [_theirs(self._seen(each)) for each in conditions]
        statement = sql.Statement()
        statement.step("_pp_views", same_views(self.release), materialized=True)
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
                    str(self.release.faults().refuse("a randomized column holds a value that is none of its levels."))
                ),
            )
        )
        own = [f'{sql.render(sql.column(each.attribute.name))} AS "_pp_r{each.number}"' for each in self.randomized]
        columns = [*(f'{_theirs(key)} AS "_pp_k{i}"' for i, key in enumerate(self.keys)), *own]
        where = f" WHERE {' AND '.join(f'({_theirs(each)})' for each in kept)}" if kept else ""
        names = [f'"_pp_k{i}"' for i in range(len(self.keys))] + [f'"_pp_r{each.number}"' for each in self.randomized]
        rows = f"SELECT {', '.join([*columns, '1 AS _pp_one'])} FROM {self.release.source.sql}{where}"
        group = f" GROUP BY {', '.join(names)}" if names else ""
        counted = f"SELECT {', '.join([*names, 'count(*) AS _pp_c'])} FROM ({rows}){group}"
        # Levels are numbered after the GROUP BY, where there are few of them.
        codes = [f'{each.code(fault)} AS "_pp_v{each.number}"' for each in self.randomized]
        numbered = [*codes, 'CAST("_pp_c" + "_pp_same_views" AS DOUBLE) AS "_pp_n"', 'row_number() OVER () AS "_pp_id"']
        return f'SELECT *, {", ".join(numbered)} FROM ({counted}) CROSS JOIN "_pp_views"'

    def _weighed(self, groups: list[sql.Expr], where: str, flags: list[str]) -> str:
        """w(v) of every cell, group and condition: over all levels that it may come from, in every set of groups."""
        weight = " * ".join(f"({each.weight()})" for each in self.randomized) or "1.0::DOUBLE"
        inner = [f'{_theirs(each)} AS "_pp_g{i}"' for i, each in enumerate(groups)]
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
        reach = number(half_width(self.call.confidence, self.call.range))
        estimates, shown, k = [], [], 0
        for name, item in asked.items:
            own = sql.render(sql.name(name))
            if isinstance(item, int):
                shown.append(f'"_pp_g{item}" AS {own}')
                continue
            if isinstance(item, Grouping):
                shown.append(f"{self._grouping(item)} AS {own}")
                continue
            value, variance = self._share(k) if item.of is not None else self._count(k)
            # greatest() passes over NULL, which here means that nothing is known.
            error = f"CASE WHEN {variance} IS NOT NULL THEN sqrt(greatest({variance}, 0)) END"
            estimates += [f'{value} AS "_pp_y{k}"', f'{error} AS "_pp_s{k}"']
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

    def _grouping(self, item: Grouping) -> str:
        """The bits of _pp_set that were asked for: the first group has the highest."""
        last = len(self.asked.groups) - 1
        bits = [f'(("_pp_set" >> {last - group}) & 1)' for group in item.groups]
        return " + ".join(f"({bit} << {len(bits) - 1 - i})" for i, bit in enumerate(bits))

    @property
    def _of_population(self) -> bool:
        return self.call.target == "population"

    def _total(self) -> str:
        if not self._of_population:
            return 'SELECT 0 AS "_pp_all"'
        return f'SELECT CAST(count(*) AS DOUBLE) AS "_pp_all" FROM {self.release.source.sql}'

    def _count(self, k: int) -> tuple[str, str]:
        total, squares = f'coalesce("_pp_t{k}", 0)', f'coalesce("_pp_q{k}", 0)'
        return total, self._variance(f"({squares})", total, f"({total} * {total})")

    def _share(self, k: int) -> tuple[str, str]:
        """t/d, and the variance of t - (t/d)·d, which is 0 in sum, over d².

        That is the delta method's, which needs a d that is far from 0; within three errors of it there is none.
        """
        share = f'(CASE WHEN "_pp_d{k}" <> 0 THEN "_pp_t{k}" / "_pp_d{k}" END)'
        squares = f'("_pp_q{k}" - 2 * {share} * "_pp_m{k}" + {share} * {share} * "_pp_e{k}")'
        known = f'("_pp_t{k}" * (1 - 2 * {share}) + {share} * {share} * "_pp_d{k}")'
        own = self._variance(f'"_pp_e{k}"', f'"_pp_d{k}"', f'("_pp_d{k}" * "_pp_d{k}")')
        variance = f'({self._variance(squares, known, "0")}) / ("_pp_d{k}" * "_pp_d{k}")'
        return share, f'(CASE WHEN "_pp_d{k}" * "_pp_d{k}" > 9 * ({own}) THEN {variance} END)'

    def _variance(self, squares: str, known: str, square_of_total: str) -> str:
        if not self._of_population:
            return f"{squares} - {known}"
        return f'({squares} - {square_of_total} / nullif("_pp_all", 0)) * "_pp_all" / greatest("_pp_all" - 1, 1)'


def _theirs(expression: sql.Expr) -> str:
    """What the query says, in the user's own words."""
    return foreign(sql.render(expression))


FUNCTION = register(
    Function(
        NAME,
        RrQueryCall,
        plan,
        "What a SELECT of counts and shares would have answered before randomization, with errors and ranges.",
        "Guo (2010), sections 2.2 and 3.2.2; Chaudhuri & Mukerjee (1988), Randomized Response",
        kind=Kind.ESTIMATOR,
        results=(
            Result("gender", "VARCHAR", "the columns and groups that the query names, as it names them"),
            Result("n", "DOUBLE", "a count or share of the query, as it was before randomization, by its name"),
            Result("n_std_error", "DOUBLE", "its standard error"),
            Result("n_lower", "DOUBLE", "the lower end of its range"),
            Result("n_upper", "DOUBLE", "the upper end of it"),
        ),
        example=(
            "FROM rr_query('SELECT gender, count(*) AS n FROM survey_rr WHERE disease <> ''flu'' GROUP BY gender')"
        ),
    )
)
