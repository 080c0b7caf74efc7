"""What is known of a source before a query runs: its columns with their types, and where it is."""

from __future__ import annotations

from functools import cached_property

from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.values import folded

_INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
}  # fmt: skip
_FRACTIONS = {"FLOAT", "DOUBLE"}


@frozen
class Column:
    """A column as the catalogue describes it."""

    name: str
    type: str  # empty where the planner cannot see it

    @property
    def is_integer(self) -> bool:
        return self.type in _INTEGERS

    @property
    def is_fraction(self) -> bool:
        """Of floating point, so that it may hold NaN and infinity."""
        return self.type in _FRACTIONS

    @property
    def is_decimal(self) -> bool:
        return self.type.startswith("DECIMAL")

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_decimal or self.is_fraction

    @property
    def is_boolean(self) -> bool:
        return self.type == "BOOLEAN"

    @property
    def is_enum(self) -> bool:
        return self.type.startswith("ENUM")

    @property
    def is_category(self) -> bool:
        return self.type == "VARCHAR" or self.is_enum


@frozen
class Source:
    """What a mask reads: SQL for a FROM clause, and what is known of it."""

    label: str
    sql: str
    columns: tuple[Column, ...] | None  # None where the planner cannot see it
    has_rowid: bool = False
    repeatable: bool = True  # reading it twice in one statement gives the same rows
    row_type: str = ""  # names and types of all columns, as DuckDB writes them
    trouble: str = ""  # what DuckDB said when it could not be described

    @cached_property
    def by_folded_name(self) -> dict[str, Column]:
        return {folded(column.name): column for column in self.columns or ()}

    def find(self, name: str) -> Column | None:
        """The column of that name, found as DuckDB finds it: whatever the case."""
        return self.by_folded_name.get(folded(name))

    def column(self, name: str) -> Column:
        """The column of that name; of one that the planner cannot see, without its type."""
        return self.find(name) or Column(name, "")


@frozen
class Home:
    """Where a table or view is, and the statement that made it, if it is a view."""

    database: str
    schema: str
    name: str
    created: str | None

    @property
    def sql(self) -> str:
        return ".".join(
            sql.render(sql.name(part)) for part in (self.database, self.schema, self.name)
        )
