"""Several masks in one statement: each is planned for the original rows, and their values stand side by side.

Checks, sums and ranks of every mask read the original, as if the mask were called alone. Only the stages through which
rows pass on to an answer, its *thread*, are written a second time, one mask behind the other: the first stage of the
second mask reads what the first mask hands on, in which all original columns are still there, beside the values that
were made of them. So no mask sees another's values, no row is joined, and what comes out is what the masks give when
they are called one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ppduck.catalogue.source import Source
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.stages.plan import Plan, Rows, Sorted, Stage, Totals

BASE = "_pp_base"  # the original rows, with their numbers where a part goes by these
NUMBER = "_pp_number"
ANSWER = "_pp_answer"
_ROW, _ROWID = "_pp_row", "rowid"

Change = Callable[[sql.Expr], sql.Expr]


@frozen
class Part:
    """The plan of one mask over the original."""

    plan: Plan

    @property
    def thread(self) -> list[Stage]:
        """The stages that hand rows on to the answer by a star: the source first, the answer last."""
        stages = {stage.name: stage for stage in self.plan.stages}
        found = [self.plan.answer]
        while (name := _handed_on(found[0].tree)) in stages:
            found.insert(0, stages[name])
        return found

    @property
    def values(self) -> dict[str, sql.Expr]:
        """What the answer puts in the place of which column."""
        star = next(each for each in self.plan.answer.tree.expressions if _is_star(each))
        return {each.alias: each.this for each in star.this.args.get("replace") or ()}


def made(part: int, column: str) -> str:
    """What the values that a part makes of a column are called until they stand in its place."""
    return f"{sql.RESERVED}made{part}_{column}"


def composed(source: Source, parts: Sequence[Part], answer: Sequence[sql.Expr]) -> Plan:
    """The plan that gives ``answer``: expressions of the original columns, and of what the parts ``made`` of them."""
    # Those that sort leave rows in the order of their numbers, others leave the order as it is.
    order = sorted(range(len(parts)), key=lambda i: not isinstance(parts[i].plan.answer, Sorted))
    own = {i: _Own(source, i, parts[i]) for i in order}
    # DuckDB 1.4 gives kept rows in any order.
    numbered = not source.repeatable or any(each.is_numbered for each in own.values())
    base = _base(source, numbered) if numbered or not source.repeatable else None
    stages: list[Stage] = [] if base is None else [base]
    last = base
    for each in own.values():
        stages += each.looks(base, numbered=numbered)
        # The first can read the original itself: noise that was kept need not be made again.
        stages += [each.answer()] if last is None else each.thread_over(last.table)
        last = stages[-1]
    rows = sql.source(source.sql) if last is None else last.table
    if source.repeatable:
        return Plan(tuple(stages), Rows(ANSWER, False, sql.query(list(answer), rows)))
    ordered = sql.query(list(answer), rows, order=[sql.column(NUMBER)])
    return Plan(tuple(stages), Sorted(ANSWER, False, ordered))


def _base(source: Source, numbered: bool) -> Stage:
    """The original rows; kept, unless they and their numbers are the same whenever they are read."""
    columns = [sql.star(_ROW, replace=_hidden(source))]
    if numbered:
        number = sql.column(_ROWID) if source.has_rowid else sql.over(sql.call("row_number"))
        columns.append(sql.named(number, NUMBER))
    return Rows(BASE, not source.has_rowid, sql.query(columns, sql.source(source.sql, _ROW)))


class _Own:
    """A part whose stages have names of their own."""

    def __init__(self, source: Source, number: int, part: Part) -> None:
        self._source, self._number, self._part = source, number, part
        self._thread = part.thread
        self._first = self._thread[0].name
        self._names = {
            stage.name: f"{sql.RESERVED}{number}_{stage.name.removeprefix(sql.RESERVED)}"
            for stage in (*part.plan.stages, part.plan.answer)
        }

    @property
    def is_numbered(self) -> bool:
        """Whether it goes by the numbers of rows."""
        return any(self._is_number(node) for node in self._thread[0].tree.walk())

    def looks(self, base: Stage | None, *, numbered: bool) -> list[Stage]:
        """All stages but the answer, over the original: over ``base`` where that is kept."""
        change = self._renaming(self._names)
        found = [
            _changed(stage, self._names[stage.name], change) for stage in self._part.plan.stages
        ]
        if base is None:
            return [*map(self._hiding, found)]
        if not base.kept:
            return found
        return [
            Rows(each.name, False, self._reading(each.tree, base.table, hides=numbered))
            if each.name == self._names[self._first]
            else each
            for each in found
        ]

    def _hiding(self, stage: Stage) -> Stage:
        """The source, from which all rows pass on: what a mask alone has no need to hide, another may sort or join."""
        if stage.name != self._names[self._first]:
            return stage
        tree = stage.tree.copy()
        for star in filter(_is_star, tree.expressions):
            own = {each.alias: each.this for each in star.this.args.get("replace") or ()}
            every = _hidden(self._source) | own
            star.this.set("replace", [sql.named(value, name) for name, value in every.items()])
        return Rows(stage.name, stage.kept, tree)

    def answer(self) -> Stage:
        """The answer, in which what was made stands beside the original columns."""
        return self._answer(self._renaming(self._names))

    def thread_over(self, rows: sql.Rows) -> list[Stage]:
        """The thread once more, over rows that hold all that the original has."""
        again = {stage.name: f"{self._names[stage.name]}_again" for stage in self._thread[:-1]}
        change = self._renaming(self._names | again)
        threaded = [_changed(stage, again[stage.name], change) for stage in self._thread[:-1]]
        threaded.append(self._answer(change))
        first = threaded[0]
        tree = self._reading(first.tree, rows, hides=False)
        threaded[0] = Rows(first.name, False, tree)
        # Read once, none needs to be kept.
        return [replace(each, kept=False) for each in threaded]

    def _answer(self, change: Change) -> Stage:
        stage, values = self._part.plan.answer, self._part.values
        tree = stage.tree.copy()
        columns = [
            *(_carried(each) if _is_star(each) else each for each in tree.expressions),
            *(
                sql.named(value.copy(), made(self._number, column))
                for column, value in values.items()
            ),
        ]
        tree.set("expressions", columns)
        kind = Sorted if isinstance(stage, Sorted) else Rows
        return kind(self._names[stage.name], False, change(tree))

    def _renaming(self, names: Mapping[str, str]) -> Change:
        return lambda tree: _renamed(tree, names, self._first)

    def _reading(self, tree: sql.Expr, rows: sql.Rows, *, hides: bool) -> sql.Expr:
        """The first stage over other rows than the source's; these may bring numbers, which it ``hides``."""

        def read(node: sql.Expr) -> sql.Expr:
            if isinstance(node, exp.Var) and node.name == self._source.sql:
                return rows.first.copy()
            if self._is_number(node):
                return sql.column(NUMBER)
            if hides and _is_star(node):
                left_out = node.this.args.get("except_") or []
                node.this.set("except_", [*left_out, sql.name(NUMBER)])
            return node

        return tree.transform(read)

    def _is_number(self, node: sql.Expr) -> bool:
        if self._source.has_rowid:
            return isinstance(node, exp.Column) and not node.table and node.name == _ROWID
        bare = isinstance(node, exp.Window) and not (
            node.args.get("order") or node.args.get("partition_by")
        )
        return bare and node.this.name == "row_number"


def _hidden(source: Source) -> dict[str, sql.Expr]:
    """Whole numbers whose range DuckDB does not know, and so cannot tell in its plan of a sort or a join."""
    return {
        column.name: sql.hidden(column.name) for column in source.columns or () if column.is_integer
    }


def _is_star(node: sql.Expr) -> bool:
    return isinstance(node, exp.Column) and isinstance(node.this, exp.Star)


def _carried(star: sql.Expr) -> sql.Expr:
    """A star that hands all of the user's columns on as they are."""
    left_out = [each.name for each in star.this.args.get("except_") or ()]
    return sql.star(
        star.args["table"].name, [name for name in left_out if name.startswith(sql.RESERVED)]
    )


def _handed_on(select: sql.Expr) -> str | None:
    """The name of what the star of a SELECT reads."""
    star = next(filter(_is_star, select.expressions), None)
    start = select.args.get("from_")
    if star is None or start is None:
        return None
    for rows in (start.this, *(join.this for join in select.args.get("joins") or ())):
        if rows.alias_or_name == star.table:
            if isinstance(rows, exp.Subquery):
                return _handed_on(rows.this)
            return rows.name if isinstance(rows, exp.Table) else None
    return None


def _changed(stage: Stage, name: str, change: Change) -> Stage:
    """A stage under another name that reads stages under theirs."""
    if not isinstance(stage, Totals):
        return type(stage)(name, stage.kept, change(stage.tree))  # type: ignore[call-arg]
    aggregates = [
        replace(each, whole=change(each.whole), partials=tuple(map(change, each.partials)))
        for each in stage.aggregates
    ]
    rows = sql.Rows(change(stage.rows.first), [change(each) for each in stage.rows.joins])
    return Totals(
        name,
        stage.kept,
        [(alias, change(value)) for alias, value in stage.by],
        aggregates,
        rows,
        None if stage.where is None else change(stage.where),
        [change(sql.table(each).first).name for each in stage.meets],
    )


def _renamed(tree: sql.Expr, names: Mapping[str, str], source: str) -> sql.Expr:
    """The tree with other names of stages: of tables, before the columns of these, and of a whole row of the source."""
    found = tree.copy()
    for node in found.walk():
        place = None
        if isinstance(node, exp.Table):
            place = "this"
        elif isinstance(node, exp.Column) and node.table:
            place = "table"
        elif isinstance(node, exp.Column) and node.name == source:
            place = "this"
        if place is not None and isinstance(node.args[place], exp.Identifier):
            own = node.args[place].name
            if own in names:
                node.set(place, sql.name(names[own]))
    return found
