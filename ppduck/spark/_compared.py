"""moments_check() on Spark: sums over the partitions of two tables, compared on the driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ppduck.call.registry import Function
from ppduck.query import tree as sql
from ppduck.spark._catalog import SparkCatalog
from ppduck.spark._driver import Driver
from ppduck.stages.engine import Run, Small
from ppduck.stages.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "moments_check"


def answered(
    function: Function,
    texts: Sequence[str | None],
    driver: Driver,
    frame: Callable[[str], DataFrame],
) -> pa.Table:
    catalog = SparkCatalog.of(driver, frame)
    plan = function.plan(catalog, function.read(texts, catalog))
    assert isinstance(plan, Plan)
    return Run(driver, _Tables(catalog)).release(plan)


class _Tables:
    """Several tables as one engine: a query reads one of them."""

    def __init__(self, catalog: SparkCatalog) -> None:
        self._engines = catalog.engines

    def collect_partials(self, query: sql.Expr, small: Small) -> Sequence[pa.Table]:
        text = sql.render(query)
        [engine] = [each for name, each in self._engines.items() if name in text]
        return engine.collect_partials(query, small)

    def map_partitions(self, query: sql.Expr, small: Small) -> Any:
        raise TypeError("a comparison has no rows of its tables")
