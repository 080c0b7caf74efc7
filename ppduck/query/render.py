"""A tree as text. What is there most often, columns and calls, is written here; sqlglot's own way visits more nodes."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator

QUOTE = '"'


def _order(generator: Any, node: exp.Ordered) -> str:
    way = "DESC" if node.args.get("desc") else "ASC"
    return f"{generator.sql(node, 'this')} {way} NULLS {'FIRST' if node.args.get('nulls_first') else 'LAST'}"


def _column(generator: Any, node: exp.Column) -> str:
    parts = [node.args.get(part) for part in ("catalog", "db", "table", "this")]
    return ".".join(_name(generator, part) for part in parts if part is not None)


def _name(generator: Any, node: exp.Expr) -> str:
    if isinstance(node, exp.Identifier) and node.args.get("quoted"):
        return f'"{node.name.replace(QUOTE, QUOTE * 2)}"'
    return str(generator.sql(node))


def _call(generator: Any, node: exp.Anonymous) -> str:
    return f"{node.this}({', '.join(map(generator.sql, node.expressions))})"


class _Generator(DuckDBGenerator):
    """Writes orders out: what they mean by default is a setting of the user's."""

    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        **DuckDBGenerator.TRANSFORMS,
        exp.Anonymous: _call,
        exp.Column: _column,
        exp.Ordered: _order,
    }


def render(expression: exp.Expr) -> str:
    return _Generator(dialect="duckdb").generate(expression, copy=False)
