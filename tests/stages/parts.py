"""An engine of databases that each hold a part of a table: runs plans as another engine than DuckDB would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from ppduck.extension.connections import planner_of
from ppduck.query import tree as sql
from ppduck.stages.engine import Run, Small
from ppduck.stages.plan import Plan

Answer = list[tuple[Any, ...]]


class Parts:
    """Databases that each hold a part of a table under the same name, and one, with no row of it, for what is small."""

    def __init__(self, driver: duckdb.DuckDBPyConnection, parts: list[duckdb.DuckDBPyConnection]) -> None:
        self.driver, self.parts = driver, parts

    def run(self, plan: Plan) -> Answer:
        """All rows of the answer."""
        return Run(self, self).release(plan)

    def table(self, plan: Plan, name: str) -> Answer:
        """A small table, after all stages up to it."""
        upto = [stage.name for stage in plan.stages].index(name) + 1
        run = Run(self, self)
        for stage in plan.stages[:upto]:
            found = run.stage(stage)
        assert found is not None
        return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def collect_partials(self, query: sql.Expr, small: Small) -> Sequence[pa.Table]:
        return [self._asked(part, query, small).to_arrow_table() for part in self.parts]

    def map_partitions(self, query: sql.Expr, small: Small) -> Answer:
        return [row for part in self.parts for row in self._asked(part, query, small).fetchall()]

    def answer(self, query: sql.Expr) -> pa.Table:
        return self.driver.sql(written(self.driver, query)).to_arrow_table()

    def keep(self, name: str, table: pa.Table) -> None:
        _keep(self.driver, name, table)

    @staticmethod
    def _asked(part: duckdb.DuckDBPyConnection, query: sql.Expr, small: Small) -> duckdb.DuckDBPyRelation:
        for name, table in small.items():
            _keep(part, name, table)
        return part.sql(written(part, query))


def _keep(con: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    con.register("_pp_small", table)
    con.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS FROM _pp_small')
    con.unregister("_pp_small")


def written(con: duckdb.DuckDBPyConnection, tree: sql.Expr) -> str:
    """A SELECT with the names that ppduck's functions have in this database."""
    planner = planner_of(con)
    assert planner is not None
    return planner.written(tree.copy())
