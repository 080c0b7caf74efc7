"""One call of a mask of numbers with its columns found: what all stages of its plan have in common."""

from __future__ import annotations

from functools import cached_property

from sqlglot import exp

from ppduck.call.numeric_mask import NumericCall, NumericMask
from ppduck.call.roles import Roles
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.query.ranks import ROW

SOURCE, SEEN, LOOK = "_pp_source", "_pp_seen", "_pp_look"
KEY, TWEAK = "_pp_key", "_pp_tweak"
QUERY_NUMBER = "current_query_id"

__all__ = ["KEY", "LOOK", "QUERY_NUMBER", "ROW", "SEEN", "SOURCE", "TWEAK", "Masking"]

Pairs = list[tuple[sql.Expr, sql.Expr]]


@frozen
class Masking:
    """A mask, the columns by what they do, and the arguments."""

    mask: NumericMask
    roles: Roles
    call: NumericCall

    @property
    def q(self) -> int:
        return len(self.roles.conf)

    @property
    def seeded(self) -> bool:
        return self.call.seed is not None

    @property
    def permutes(self) -> bool:
        return self.mask.permutes(self.call)

    @cached_property
    def by(self) -> list[str]:
        """What the groups' columns are called in small tables, where they must not meet the user's."""
        return [f"_pp_by{i}" for i in range(len(self.roles.strata))]

    @property
    def groups(self) -> list[tuple[str, sql.Expr]]:
        """The groups of the user's rows."""
        return [
            (alias, sql.column(name))
            for name, alias in zip(self.roles.strata, self.by, strict=True)
        ]

    def groups_of(self, table: str | None = None) -> list[sql.Expr]:
        """The groups' columns of a small table."""
        return [sql.column(alias, table) for alias in self.by]

    def small_groups(self, table: str | None = None) -> list[tuple[str, sql.Expr]]:
        """Groups of rows that have these columns already."""
        return [(alias, sql.column(alias, table)) for alias in self.by]

    def to_rows(self, rows: str, small: str = LOOK) -> Pairs:
        """What joins the user's rows with what is known of their group."""
        return [
            (sql.column(name, rows), sql.column(alias, small))
            for name, alias in zip(self.roles.strata, self.by, strict=True)
        ]

    def same_group(self, one: str, other: str) -> Pairs:
        """What joins two small tables."""
        return [(sql.column(alias, one), sql.column(alias, other)) for alias in self.by]

    def label(self, table: str | None = None) -> sql.Expr:
        """'bank_no = 3' for messages; NULL where there are no groups."""
        if not self.by:
            return sql.cast(exp.null(), "VARCHAR")
        parts = [
            sql.call(
                "concat",
                sql.text(f"{name} = "),
                sql.call(
                    "coalesce", sql.cast(sql.column(alias, table), "VARCHAR"), sql.text("NULL")
                ),
            )
            for name, alias in zip(self.roles.strata, self.by, strict=True)
        ]
        return sql.call("concat_ws", sql.text(", "), *parts)

    @cached_property
    def categories(self) -> list[tuple[str, list[str]]]:
        """The categories of nonconf, with their levels."""
        used = self.roles.nonconf
        return [(name, levels) for name, levels in self.roles.levels.items() if name in used]

    def is_category(self, name: str) -> bool:
        """Whether NULL can be a level of the column."""
        column = self.roles.source.find(name)
        return column is not None and (column.is_boolean or name in self.roles.levels)
