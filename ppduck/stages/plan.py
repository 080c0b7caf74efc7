"""A plan as a value: the stages of a statement, before they are SQL.

Every stage has a name, the rows that it makes, and how these come about, which says where another engine could run it:

* ``Rows``: row by row, from the rows of one table and what small tables say of their group: in any part of a table;
* ``Totals``: aggregates of each group, of which a part gives partial results that are merged;
* ``Groups``: from what small tables hold, a row for each group: where the totals are, and where Python solves;
* ``Sorted``: from all rows at once, such as ranks.

DuckDB is given all of them as one statement (``Plan.query``), so that a call sees one snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.stages.aggregates import Aggregate


@frozen
class Stage:
    """A step of a statement. What is ``kept`` is computed once, however often it is read."""

    name: str
    kept: bool

    @property
    def tree(self) -> sql.Expr:
        raise NotImplementedError

    @property
    def table(self) -> sql.Rows:
        return sql.table(self.name)


@frozen
class _Made(Stage):
    made: sql.Expr

    @property
    def tree(self) -> sql.Expr:
        return self.made


class Rows(_Made):
    """Row by row."""


class Groups(_Made):
    """A row for each group, from small tables."""


class Sorted(_Made):
    """From all rows at once."""


@frozen
class Totals(Stage):
    """Aggregates of the rows of each group; without groups, of all rows."""

    by: Sequence[tuple[str, sql.Expr]]
    aggregates: Sequence[Aggregate]
    rows: sql.Rows
    where: sql.Expr | None = None
    meets: Sequence[str] = ()  # small tables without whose rows there is nothing to sum up

    @property
    def tree(self) -> sql.Expr:
        return self._asking([sql.named(each.whole.copy(), each.name) for each in self.aggregates])

    def partial(self) -> sql.Expr:
        """What is asked of a part: groups, then the partial results of each aggregate."""
        partials = [part for each in self.aggregates for part in each.partials]
        return self._asking(
            [sql.named(part.copy(), f"_pp_part{i}") for i, part in enumerate(partials)]
        )

    def _asking(self, figures: list[sql.Expr]) -> sql.Expr:
        groups = [sql.named(value.copy(), name) for name, value in self.by]
        return sql.query(
            [*groups, *figures],
            self.rows,
            where=self.where,
            group=[value.copy() for _, value in self.by],
        )


@frozen
class Plan:
    """Stages in the order in which they read each other, and the SELECT that gives the answer."""

    stages: tuple[Stage, ...]
    answer: Stage

    def query(self) -> sql.Expr:
        """All of it as one statement."""
        statement = sql.Statement()
        for stage in self.stages:
            statement.step(stage.name, stage.tree, materialized=stage.kept)
        return statement.query(self.answer.tree)

    def stage(self, name: str) -> Stage:
        return next(each for each in self.stages if each.name == name)

    def __str__(self) -> str:
        """A line for each stage: what it is, and what its aggregates are merged by."""
        return "\n".join(_described(stage) for stage in (*self.stages, self.answer))


def _described(stage: Stage) -> str:
    kind = type(stage).__name__.lower()
    line = f"{stage.name}: {kind}{', kept' if stage.kept else ''}"
    if isinstance(stage, Totals):
        line += "".join(f"\n  {each.name}: {each.merged_by}" for each in stage.aggregates)
    return line
