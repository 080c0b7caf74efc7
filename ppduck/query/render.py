"""A tree as text."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator


def _order(generator: Any, node: exp.Ordered) -> str:
    way = "DESC" if node.args.get("desc") else "ASC"
    return f"{generator.sql(node, 'this')} {way} NULLS {'FIRST' if node.args.get('nulls_first') else 'LAST'}"


class _Generator(DuckDBGenerator):
    """Writes orders out: what they mean by default is a setting of the user's."""

    TRANSFORMS: ClassVar[dict[Any, Any]] = {**DuckDBGenerator.TRANSFORMS, exp.Ordered: _order}


def render(expression: exp.Expr) -> str:
    return _Generator(dialect="duckdb").generate(expression, copy=False)
