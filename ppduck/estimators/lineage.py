"""Where the columns of a view come from, followed down to the one masking call in it.

Only what is known to leave the published rows and values as they are is followed: plain columns,
``*`` with EXCLUDE, REPLACE and RENAME, aliases, arithmetic and comparisons of columns that are not
randomized, conditions on them, and views over such views. Everything else is refused, function calls
too (a macro may hide behind any name), because a guess would give a biased estimate with a narrow range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import sqlglot
from sqlglot import exp

from ppduck.designs.design import Attribute, Design
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.values import folded


class UnreadableError(Exception):
    """A definition that is more than a plain selection; the text says what it does."""


@frozen
class Origin:
    """A column of a view: one of the mask's, as it is; or made of others, of which some may be randomized."""

    name: str
    attribute: Attribute | None = None
    spoilt: bool = False

    @property
    def is_plain(self) -> bool:
        return self.attribute is None and not self.spoilt


class Views(Protocol):
    """Finds the statement that made a view; raises where there is none, or more than one."""

    def created(self, table: exp.Table) -> str: ...


# What a SELECT, a table and a subquery may have; whatever else they have is not understood.
_SELECT = {"expressions", "from_", "where", "order", "kind"}
_TABLE = {"this", "db", "catalog", "alias"}
_SUBQUERY = {"this", "alias"}
_STAR = {"except_", "replace", "rename"}
# What an expression may be made of.
_PLAIN = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Neg, exp.Not, exp.And, exp.Or,
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe, exp.Coalesce, exp.Case, exp.If,
    exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Ordered, exp.Order,
)  # fmt: skip


def origins(query: exp.Expr, masks: set[str], design: Design, views: Views) -> list[Origin]:
    """The columns of a query in order. ``design`` is that of the only masking call in it."""
    while isinstance(query, (exp.Subquery, exp.Paren)):
        if isinstance(query, exp.Subquery):
            _only(query, _SUBQUERY)
        query = query.this
    if not isinstance(query, exp.Select):
        raise UnreadableError(f"is no plain SELECT but a {query.key.upper()}")
    _only(query, _SELECT)
    start = query.args.get("from_")
    if start is None:
        raise UnreadableError("reads no table")
    below, known_as = _below(start.this, masks, design, views)
    order = query.args.get("order")
    if order is not None:
        _columns_of(order, below, known_as)  # a set-returning function in it would multiply rows
    where = query.args.get("where")
    if where is not None:
        for column in _columns_of(where.this, below, known_as):
            if not column.is_plain:
                raise UnreadableError(
                    "filters on a randomized column, which keeps rows by their published value"
                )
    found: list[Origin] = []
    for item in query.expressions:
        found += _item(item, below, known_as)
    names = [folded(origin.name) for origin in found if origin.name]
    if len(set(names)) < len(names):
        raise UnreadableError("gives two columns the same name")
    return found


def _only(node: exp.Expr, allowed: set[str]) -> None:
    for part, value in node.args.items():
        if value and part not in allowed:
            raise UnreadableError(f"has a {part.strip('_').upper().removesuffix('S')} clause")


def _below(
    table: exp.Expr, masks: set[str], design: Design, views: Views
) -> tuple[list[Origin], str]:
    """The columns that a FROM clause gives, and the name by which they may be qualified."""
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise UnreadableError("renames columns by a list behind its table")
    if isinstance(table, exp.Subquery):
        _only(table, _SUBQUERY)
        return _all_named(origins(table.this, masks, design, views)), table.alias
    if not isinstance(table, exp.Table):
        raise UnreadableError("does more than select from one table")
    _only(table, _TABLE)
    if isinstance(table.this, exp.Func):
        return _masked(table.this, masks, design), table.alias or table.this.name
    return _all_named(
        created_columns(views.created(table), masks, design, views)
    ), table.alias or table.name


def _all_named(found: list[Origin]) -> list[Origin]:
    """What is read by name must have a name: DuckDB would make one up, which may be that of another column."""
    if not all(origin.name for origin in found):
        raise UnreadableError("reads an expression that has no alias")
    return found


def created_columns(statement: str, masks: set[str], design: Design, views: Views) -> list[Origin]:
    """The columns of a view by the statement that made it, its list of names applied."""
    created = sqlglot.parse_one(statement, dialect="duckdb")
    if not isinstance(created, exp.Create) or created.expression is None:
        raise UnreadableError("was not made by CREATE VIEW")
    found = origins(created.expression, masks, design, views)
    if not isinstance(created.this, exp.Schema):
        return found
    names = [part.name for part in created.this.expressions]
    renamed = [
        Origin(name, origin.attribute, origin.spoilt)
        for name, origin in zip(names, found, strict=False)
    ]
    return renamed + found[len(names) :]


def _masked(call: exp.Expr, masks: set[str], design: Design) -> list[Origin]:
    if folded(call.name) not in masks:
        raise UnreadableError(f"calls {call.name}, not rr_mask or pram_mask")
    if design.columns is None:
        raise UnreadableError("masks a table whose columns cannot be seen")
    by_name = {folded(attribute.name): attribute for attribute in design.attributes}
    return [Origin(name, by_name.get(folded(name))) for name in design.columns]


def _item(item: exp.Expr, below: list[Origin], known_as: str) -> list[Origin]:
    """What one item of a SELECT gives."""
    if isinstance(item, exp.Star):
        return _starred(item, below, known_as)
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        _qualified(item, known_as)
        return _starred(item.this, below, known_as)
    value, alias = (item.this, item.alias) if isinstance(item, exp.Alias) else (item, "")
    if isinstance(value, exp.Column):
        origin = _find(value, below, known_as)
        return [Origin(alias or value.name, origin.attribute, origin.spoilt)]
    return [Origin(alias, None, _is_spoilt(value, below, known_as))]


def _starred(star: exp.Star, below: list[Origin], known_as: str) -> list[Origin]:
    _only(star, _STAR)
    left_out = {folded(part.name) for part in star.args.get("except_") or ()}
    changed = {folded(part.alias): part.this for part in star.args.get("replace") or ()}
    renamed = {folded(part.this.name): part.alias for part in star.args.get("rename") or ()}
    found = []
    for origin in below:
        own = folded(origin.name)
        if own in left_out:
            continue
        if own in changed:
            origin = Origin(origin.name, None, _is_spoilt(changed[own], below, known_as))
        found.append(Origin(renamed.get(own, origin.name), origin.attribute, origin.spoilt))
    return found


def _is_spoilt(expression: exp.Expr, below: list[Origin], known_as: str) -> bool:
    return not all(column.is_plain for column in _columns_of(expression, below, known_as))


def _columns_of(expression: exp.Expr, below: list[Origin], known_as: str) -> list[Origin]:
    """The columns that an expression reads; raises where that cannot be told for sure."""
    for node in expression.walk():
        if not isinstance(node, _PLAIN):
            raise UnreadableError(
                f"holds {node.sql(dialect='duckdb')}, which cannot be looked through"
            )
    return [_find(column, below, known_as) for column in expression.find_all(exp.Column)]


def _find(column: exp.Column, below: list[Origin], known_as: str) -> Origin:
    _qualified(column, known_as)
    found = [origin for origin in below if folded(origin.name) == folded(column.name)]
    if len(found) != 1:
        raise UnreadableError(
            f"reads {quoted(column.name)}, which is no column of what it selects from"
        )
    return found[0]


def _qualified(column: exp.Column, known_as: str) -> None:
    """A column may be qualified by its table's name only: anything else may be a part of a struct."""
    parts = [folded(part.name) for part in column.parts[:-1]]
    if parts and parts != [folded(known_as)]:
        raise UnreadableError(
            f"reads {column.sql(dialect='duckdb')}, which cannot be told from a part of a struct"
        )


def named_as(found: Sequence[Origin], names: Sequence[str]) -> list[Origin]:
    """The columns under the names that DuckDB gives them; raises where these are not those that were found."""
    if len(found) != len(names):
        raise UnreadableError("has other columns than its text says")
    for origin, name in zip(found, names, strict=True):
        # An expression without alias has no name here, and its text for a name there.
        if origin.name and folded(origin.name) != folded(name):
            raise UnreadableError("has other columns than its text says")
    return [
        Origin(name, origin.attribute, origin.spoilt)
        for origin, name in zip(found, names, strict=True)
    ]
