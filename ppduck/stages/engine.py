"""Runs a plan over a table that lies in partitions, on whatever engine holds them.

Two operations are all that an engine is asked for: to answer a query with what each partition gives
(``collect_partials``), and to make of each partition the rows of a query (``map_partitions``). Stages that go row by
row run inside both, where they are read. Of totals each partition gives partial results, which are merged here; groups
are made where the totals are, by a DuckDB in which Python solves (``Driver``). Small tables travel with every query
that reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa
from sqlglot import exp

from ppduck.query import tree as sql
from ppduck.stages.plan import Groups, Plan, Rows, Sorted, Stage, Totals

Small = Mapping[str, pa.Table]
Released = TypeVar("Released", covariant=True)


class Engine(Protocol[Released]):
    """What holds the partitions of a table."""

    def collect_partials(self, query: sql.Expr, small: Small) -> Sequence[pa.Table]:
        """What the query answers of each partition by itself; of partitions without rows it may be left out."""
        ...

    def map_partitions(self, query: sql.Expr, small: Small) -> Released:
        """The rows that the query makes of each partition, as the engine has tables."""
        ...


class Driver(Protocol):
    """A DuckDB with a table of the same name and columns, and no rows, that keeps what is small."""

    def answer(self, query: sql.Expr) -> pa.Table: ...

    def keep(self, name: str, table: pa.Table) -> None:
        """From now on queries may read it."""
        ...


class Run(Generic[Released]):
    """One plan on one engine."""

    def __init__(self, driver: Driver, engine: Engine[Released]) -> None:
        self._driver, self._engine = driver, engine
        self.small: dict[str, pa.Table] = {}
        self._waiting: list[Stage] = []

    def release(self, plan: Plan) -> Released | pa.Table:
        """The answer, after all stages that it reads; of what is computed on the driver its table."""
        for stage in plan.stages:
            self.stage(stage)
        if isinstance(plan.answer, Groups):
            return self._driver.answer(plan.answer.tree)
        if not isinstance(plan.answer, Rows):
            raise TypeError(f"{plan.answer.name} needs all rows at once")
        return self.mapped(plan.answer.tree)

    def stage(self, stage: Stage) -> pa.Table | None:
        """Runs a stage, or has it wait for those that read it; gives its table, if that is small."""
        if isinstance(stage, Sorted):
            raise TypeError(f"{stage.name} needs all rows at once")
        if isinstance(stage, Rows):
            self._waiting.append(stage)
            return None
        table = (
            self._merged(stage) if isinstance(stage, Totals) else self._driver.answer(stage.tree)
        )
        self.keep(stage.name, table)
        return table

    def keep(self, name: str, table: pa.Table) -> None:
        """A small table that queries from now on may read."""
        self._driver.keep(name, table)
        self.small[name] = table

    def mapped(self, query: sql.Expr) -> Released:
        """The rows that a query makes of each partition; it may read what came before."""
        whole = self.whole(query)
        return self._engine.map_partitions(whole, self._read_by(whole))

    def collected(self, query: sql.Expr) -> list[pa.Table]:
        """What a query answers of each partition, and of a table without rows."""
        whole = self.whole(query)
        found = self._engine.collect_partials(whole, self._read_by(whole))
        return [self._driver.answer(whole), *found]

    def _merged(self, stage: Totals) -> pa.Table:
        """What the whole would have given, from what the partitions give."""
        query = stage.partial()
        # A table without rows gives totals too, such as a count of 0.
        idle = self._is_idle(stage)
        partials = [self._driver.answer(self.whole(query))] if idle else self.collected(query)
        return merged(stage, partials, self._driver.answer(self.whole(stage.tree)).schema)

    def _is_idle(self, stage: Totals) -> bool:
        """Whether no row can meet what the stage is matched with."""
        return any(name in self.small and not len(self.small[name]) for name in stage.meets)

    def whole(self, tree: sql.Expr) -> sql.Expr:
        """A query with the stages that wait, those of them that it reads."""
        needed, read = [], tables_of(tree)
        for stage in reversed(self._waiting):
            if stage.name in read:
                needed.append(stage)
                read |= tables_of(stage.tree)
        statement = sql.Statement()
        for stage in reversed(needed):
            statement.step(stage.name, stage.tree, materialized=False)
        return statement.query(tree.copy())

    def _read_by(self, query: sql.Expr) -> Small:
        read = tables_of(query)
        return {name: table for name, table in self.small.items() if name in read}


def tables_of(tree: sql.Expr) -> set[str]:
    """The names of the tables that a query reads."""
    return {table.name for table in tree.find_all(exp.Table)}


def merged(stage: Totals, partials: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """The table of a stage, from the partial results of each part: groups first, then those of each aggregate."""
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for part in partials:
        for row in zip(*(column.to_pylist() for column in part.columns), strict=True):
            found.setdefault(row[: len(stage.by)], []).append(row[len(stage.by) :])
    columns: dict[str, list[Any]] = {name: [] for name, _ in stage.by}
    columns |= {each.name: [] for each in stage.aggregates}
    for group, rows in found.items():
        for (name, _), value in zip(stage.by, group, strict=True):
            columns[name].append(value)
        at = 0
        for each in stage.aggregates:
            end = at + len(each.partials)
            columns[each.name].append(each.merge([row[at:end] for row in rows]))
            at = end
    return pa.table(columns, schema=schema)
