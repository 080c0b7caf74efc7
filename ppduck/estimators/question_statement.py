"""The statement that answers a question: rows counted by what is asked of them, weighed, and summed by groups.

A published row with levels v stands for the combination u of levels with the weight W(u, v) = Π P_i⁻¹[u_i, v_i]; every
condition f of the question has w(v) = Σ_u f(u) W(u, v), of which DuckDB takes the sums that ``rr_query`` needs.
"""

from __future__ import annotations

from sqlglot import exp

from ppduck.estimators.answers import Aggregate, outputs
from ppduck.estimators.design_source import SAME_VIEWS, Release, same_views
from ppduck.estimators.question import Grouping, Question
from ppduck.estimators.question_table import CELLS, RandomizedColumn
from ppduck.frozen import frozen
from ppduck.kernels.distortion import Target
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.query.arithmetic import products, quotient
from ppduck.query.whole_names import theirs
from ppduck.values import folded

_CELL, _ROWS, _SET, _ALL = "_pp_cell", "_pp_rows", "_pp_set", "_pp_all_rows"


@frozen
class Sums:
    """Names of the sums over the rows of a group, for one answer."""

    total: str  # Σ w
    squares: str  # Σ w²
    of: str  # of a share: Σ w' over the rows that it is a share of,
    products: str  # Σ w w',
    of_squares: str  # and Σ w'²

    @classmethod
    def number(cls, k: int) -> Sums:
        return cls(
            *(f"_pp_{each}{k}" for each in ("total", "squares", "of", "products", "of_squares"))
        )


class QuestionStatement:
    """Writes the statement."""

    def __init__(
        self,
        question: Question,
        release: Release,
        randomized: list[RandomizedColumn],
        target: Target,
        reach: float,
    ) -> None:
        self.question, self.release, self.randomized = question, release, randomized
        self.of_population = target == "population"
        self.reach = reach  # of a range, in standard errors
        self.by_name = {folded(each.attribute.name): each for each in randomized}
        # What rows are told apart by, beside their randomized columns.
        self.plain: list[sql.Expr] = []

    def tree(self) -> sql.Expr:
        question = self.question
        before = [each for each in question.where if not self._reads_randomized(each)]
        after = [self._over_cells(each) for each in question.where if self._reads_randomized(each)]
        groups = [self._over_cells(each) for each in question.groups]
        conditions = [
            self._over_cells(each) for answer in question.aggregates for each in answer.conditions
        ]
        statement = sql.Statement()
        statement.step("_pp_views", same_views(self.release), materialized=True)
        statement.step(CELLS, self._cells(before), materialized=True)
        for column in self.randomized:
            statement.step(column.grid_name, column.grid(), materialized=True)
        statement.step("_pp_weighed", self._weighed(groups, after, conditions), materialized=True)
        statement.step("_pp_summed", self._summed(), materialized=True)
        return statement.query(self._answer())

    def _reads_randomized(self, expression: sql.Expr) -> bool:
        return any(
            folded(column.name) in self.by_name for column in expression.find_all(exp.Column)
        )

    def _over_cells(self, expression: sql.Expr) -> sql.Expr:
        """An expression over the cells: randomized columns as their levels, all else by what it is of a row."""

        def visit(node: sql.Expr) -> sql.Expr:
            columns = list(node.find_all(exp.Column))
            if isinstance(node, exp.Column) and folded(node.name) in self.by_name:
                return sql.column(self.by_name[folded(node.name)].level)
            is_branch = isinstance(node, exp.If) and isinstance(node.parent, exp.Case)
            if (
                columns
                and not is_branch
                and isinstance(node, exp.Condition)
                and not self._reads_randomized(node)
            ):
                return self._of_a_row(node)
            return node

        return expression.copy().transform(visit)

    def _of_a_row(self, expression: sql.Expr) -> sql.Expr:
        own = expression.copy()
        own.set("parent", None)
        if own not in self.plain:
            self.plain.append(own)
        return sql.column(f"_pp_plain{self.plain.index(own)}")

    def _cells(self, before: list[sql.Expr]) -> sql.Expr:
        """The rows by what is asked of them, counted; conditions on plain columns have done their work here."""
        refusal = self.release.faults().refuse(
            "a randomized column holds a value that is none of its levels."
        )
        columns = {f"_pp_plain{i}": _as_said(each) for i, each in enumerate(self.plain)}
        columns |= {each.published: sql.column(each.attribute.name) for each in self.randomized}
        rows = sql.query(
            [
                *(sql.named(value, name) for name, value in columns.items()),
                sql.named(sql.number(1), "_pp_one"),
            ],
            sql.source(self.release.source.sql),
            where=_all(before),
        )
        counted = sql.query(
            [*map(sql.column, columns), sql.named(aggregates.rows(), "_pp_counted")],
            sql.derived(rows, "_pp_read"),
            group=[sql.column(name) for name in columns],
        )
        # Levels are numbered after the GROUP BY, where there are few of them.
        places = [
            sql.named(
                each.place_published(sql.call("error", sql.text(str(refusal)))),
                each.published_place,
            )
            for each in self.randomized
        ]
        checked = sql.double(sql.total([sql.column("_pp_counted"), sql.column(SAME_VIEWS)]))
        numbered = [
            *places,
            sql.named(checked, _ROWS),
            sql.named(sql.over(sql.call("row_number")), _CELL),
        ]
        return sql.query(
            [exp.Star(), *numbered],
            sql.derived(counted, "_pp_groups").cross(sql.table("_pp_views")),
        )

    def _weighed(
        self, groups: list[sql.Expr], after: list[sql.Expr], conditions: list[sql.Expr]
    ) -> sql.Expr:
        """w(v) of every cell, group and condition: over all levels that it may come from, in every set of groups."""
        weight = products(
            [exp.paren(each.weight()) for each in self.randomized] or [sql.double(sql.number(1.0))]
        )
        own = [
            sql.named(_as_said(each), name) for each, name in zip(groups, self._groups, strict=True)
        ]
        own += [
            sql.named(
                sql.cases((_as_said(each), weight.copy()), otherwise=sql.number(0)), f"_pp_part{j}"
            )
            for j, each in enumerate(conditions)
        ]
        source = sql.table(CELLS)
        for column in self.randomized:
            source = source.cross(sql.table(column.grid_name))
        rows = sql.query([sql.column(_CELL), sql.column(_ROWS), *own], source, where=_all(after))
        names = [sql.column(name) for name in self._groups]
        sums = [
            sql.named(sql.call("fsum", sql.column(f"_pp_part{j}")), f"_pp_weight{j}")
            for j in range(len(conditions))
        ]
        each_cell = [sql.column(_CELL), sql.column(_ROWS)]
        sets = [
            exp.Tuple(expressions=[each.copy() for each in (*each_cell, *(names[i] for i in one))])
            for one in self.question.sets
        ]
        which = sql.call("grouping", *(each.copy() for each in names)) if names else sql.number(0)
        shown = [*names, sql.named(which, _SET), sql.column(_ROWS), *sums]
        return sql.query(
            shown, sql.derived(rows, "_pp_parts"), group=[exp.GroupingSets(expressions=sets)]
        )

    def _summed(self) -> sql.Expr:
        """Σ w, Σ w² and, of a share, Σ w w' over the rows of each group."""
        rows, sums, place = sql.column(_ROWS), [], 0
        for k, answer in enumerate(self.question.aggregates):
            names, one = Sums.number(k), sql.column(f"_pp_weight{place}")
            terms = {names.total: [rows, one], names.squares: [rows, one, one]}
            place += len(answer.conditions)
            if answer.of is not None:
                two = sql.column(f"_pp_weight{place - 1}")
                terms |= {
                    names.of: [rows, two],
                    names.products: [rows, one, two],
                    names.of_squares: [rows, two, two],
                }
            sums += [
                sql.named(sql.call("fsum", products(term)), name) for name, term in terms.items()
            ]
        groups = [sql.column(name) for name in self._groups]
        if not groups:
            return sql.query([sql.named(sql.number(0), _SET), *sums], sql.table("_pp_weighed"))
        groups.append(sql.column(_SET))
        return sql.query(
            [*groups, *sums], sql.table("_pp_weighed"), group=[each.copy() for each in groups]
        )

    @property
    def _groups(self) -> list[str]:
        return [f"_pp_group{i}" for i in range(len(self.question.groups))]

    def _answer(self) -> sql.Expr:
        question = self.question
        estimates: list[sql.Expr] = []
        shown: list[sql.Expr] = []
        k = 0
        for name, item in question.items:
            if isinstance(item, int):
                shown.append(sql.named(sql.column(self._groups[item]), name))
            elif isinstance(item, Grouping):
                shown.append(sql.named(self._grouping(item), name))
            else:
                estimates += self._estimate(k, item)
                value, error = sql.column(f"_pp_value{k}"), sql.column(f"_pp_error{k}")
                reach = products([sql.double(sql.number(self.reach)), error])
                parts = (
                    value,
                    error,
                    sql.minus(value.copy(), reach),
                    sql.total([value.copy(), reach.copy()]),
                )
                shown += [
                    sql.named(part, own) for part, own in zip(parts, outputs(name), strict=True)
                ]
                k += 1
        summed = sql.table("_pp_summed").cross(sql.derived(self._all_rows(), "_pp_all"))
        rows = sql.derived(sql.query([exp.Star(), *estimates], summed), "_pp_estimates")
        if not question.ordered:
            order = [sql.column(name) for name in (_SET, *self._groups)]
            return sql.query(shown, rows, order=order)
        answer = sql.derived(sql.query(shown, rows), "_pp_answer")
        return sql.query(
            [exp.Star()], answer, order=question.order, limit=question.limit, offset=question.offset
        )

    def _grouping(self, item: Grouping) -> sql.Expr:
        """The bits of the set that were asked for: the first group has the highest."""
        last = len(self.question.groups) - 1
        bits = []
        for i, group in enumerate(item.groups):
            shifted = exp.BitwiseRightShift(
                this=sql.column(_SET), expression=sql.number(last - group)
            )
            bit = exp.BitwiseAnd(this=exp.paren(shifted), expression=sql.number(1))
            at = sql.number(len(item.groups) - 1 - i)
            bits.append(exp.paren(exp.BitwiseLeftShift(this=exp.paren(bit), expression=at)))
        return sql.total(bits)

    def _all_rows(self) -> sql.Expr:
        if not self.of_population:
            return sql.query([sql.named(sql.number(0), _ALL)])
        return sql.query(
            [sql.named(sql.double(aggregates.rows()), _ALL)], sql.source(self.release.source.sql)
        )

    def _estimate(self, k: int, answer: Aggregate) -> list[sql.Expr]:
        value, variance = self._count(k) if answer.of is None else self._share(k)
        # greatest() passes over NULL, which here means that nothing is known.
        root = sql.call("sqrt", sql.call("greatest", variance, sql.number(0)))
        error = sql.cases((variance.copy().is_(exp.null()).not_(), root))
        return [sql.named(value, f"_pp_value{k}"), sql.named(error, f"_pp_error{k}")]

    def _count(self, k: int) -> tuple[sql.Expr, sql.Expr]:
        names, zero = Sums.number(k), sql.number(0)
        total, squares = (
            sql.call("coalesce", sql.column(each), zero) for each in (names.total, names.squares)
        )
        return total, self._variance(squares, total, products([total, total]))

    def _share(self, k: int) -> tuple[sql.Expr, sql.Expr]:
        """t/d, and the variance of t - (t/d)·d, which is 0 in sum, over d².

        That is the delta method's, which needs a d that is far from 0; within three errors of it there is none.
        """
        names, two = Sums.number(k), sql.number(2)
        total, of, of_squares = (
            sql.column(each) for each in (names.total, names.of, names.of_squares)
        )
        share = sql.cases((of.neq(0), quotient(total, of)))
        mixed = products([two, share, sql.column(names.products)])
        squares = sql.total(
            [sql.minus(sql.column(names.squares), mixed), products([share, share, of_squares])]
        )
        rest = sql.minus(sql.number(1), products([two, share]))
        known = sql.total([products([total, rest]), products([share, share, of])])
        square = products([of, of])
        own = self._variance(of_squares, of, square)
        variance = quotient(self._variance(squares, known, sql.number(0)), square)
        far = exp.GT(this=square, expression=products([sql.number(9), own]))
        return share, sql.cases((far, variance))

    def _variance(self, squares: sql.Expr, known: sql.Expr, square_of_total: sql.Expr) -> sql.Expr:
        if not self.of_population:
            return sql.minus(squares.copy(), exp.paren(known))
        rows = sql.column(_ALL)
        mean = quotient(square_of_total, sql.call("nullif", rows, sql.number(0)))
        scatter = products([sql.minus(squares.copy(), mean), rows])
        return quotient(
            scatter, sql.call("greatest", sql.minus(rows.copy(), sql.number(1)), sql.number(1))
        )


def _all(conditions: list[sql.Expr]) -> sql.Expr | None:
    return exp.and_(*(exp.paren(_as_said(each)) for each in conditions)) if conditions else None


def _as_said(expression: sql.Expr) -> sql.Expr:
    """What the query says, in the user's own words."""
    return theirs(sql.render(expression))
