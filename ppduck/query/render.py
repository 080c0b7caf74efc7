"""A tree as text. What is there most often, columns and calls, is written here; sqlglot's own way visits more nodes."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from sqlglot import exp

from ppduck.libraries import sqlglot_duckdb

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


def _cast(generator: Any, node: exp.Cast) -> str:
    to = node.args["to"]
    if isinstance(to, exp.Var):  # a type that is text already
        return f"CAST({generator.sql(node, 'this')} AS {to.this})"
    return str(generator.cast_sql(node))


@cache
def _generator() -> Any:
    own = sqlglot_duckdb.DuckDBGenerator

    class Generator(own):  # type: ignore[valid-type, misc]
        """Writes orders out: what they mean by default is a setting of the user's."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **own.TRANSFORMS,
            exp.Anonymous: _call,
            exp.Cast: _cast,
            exp.Column: _column,
            exp.Ordered: _order,
        }

    return Generator


def render(expression: exp.Expr) -> str:
    return str(_generator()(dialect="duckdb").generate(expression, copy=False))
