"""Runs a plan over a table that arrives in parts, as another engine would: rows in the parts, totals merged.

Row by row stages are run inside every part. Of totals each part gives partial results; these are merged here, and
become a small table that all parts know. Groups are computed once, from small tables, where Python solves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from ppduck.extension.connections import planner_of
from ppduck.query import tree as sql
from ppduck.stages.plan import Groups, Plan, Rows, Stage, Totals


class Parts:
    """Databases that each hold a part of a table under the same name, and one for what is small."""

    def __init__(self, driver: duckdb.DuckDBPyConnection, parts: list[duckdb.DuckDBPyConnection]) -> None:
        self.driver, self.parts = driver, parts

    def run(self, plan: Plan) -> list[tuple[Any, ...]]:
        """All rows of the answer."""
        waiting = self._stages(plan.stages)
        assert isinstance(plan.answer, Rows)
        return [row for part in self.parts for row in self._rows(part, plan.answer.tree, waiting)]

    def table(self, plan: Plan, name: str) -> list[tuple[Any, ...]]:
        """A small table, after all stages up to it."""
        upto = [stage.name for stage in plan.stages].index(name) + 1
        self._stages(plan.stages[:upto])
        return self.driver.execute(f'FROM "{name}" ORDER BY ALL').fetchall()

    def _stages(self, stages: Sequence[Stage]) -> list[Stage]:
        """Runs all stages but those that are row by row, which are run where they are read."""
        waiting: list[Stage] = []
        for stage in stages:
            if isinstance(stage, Rows):
                waiting.append(stage)
            elif isinstance(stage, Totals):
                self._publish(stage.name, self._merged(stage, waiting))
            else:
                assert isinstance(stage, Groups), f"{stage.name} needs all rows at once"
                self._publish(stage.name, self._select(self.driver, stage.tree, []))
        return waiting

    def _merged(self, stage: Totals, waiting: list[Stage]) -> pa.Table:
        """What the whole would have given, from what the parts give."""
        found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for part in self.parts:
            for row in self._rows(part, stage.partial(), waiting):
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
        schema = self._select(self.parts[0], stage.tree, waiting).schema
        return pa.table(columns, schema=schema)

    def _publish(self, name: str, table: pa.Table) -> None:
        for con in (self.driver, *self.parts):
            con.register("_pp_small", table)
            con.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS FROM _pp_small')
            con.unregister("_pp_small")

    def _rows(self, con: duckdb.DuckDBPyConnection, tree: sql.Expr, waiting: list[Stage]) -> list[tuple[Any, ...]]:
        return con.execute(written(con, tree, waiting)).fetchall()

    def _select(self, con: duckdb.DuckDBPyConnection, tree: sql.Expr, waiting: list[Stage]) -> pa.Table:
        return con.sql(written(con, tree, waiting)).to_arrow_table()


def written(con: duckdb.DuckDBPyConnection, tree: sql.Expr, waiting: Sequence[Stage] = ()) -> str:
    """A SELECT that reads some stages, with the names that ppduck's functions have in this database."""
    statement = sql.Statement()
    for stage in waiting:
        statement.step(stage.name, stage.tree, materialized=False)
    planner = planner_of(con)
    assert planner is not None
    return planner.written(statement.query(tree.copy()))
