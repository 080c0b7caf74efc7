"""A question to one randomized relation: counts and shares of conditions, by groups and sets of groups."""

from __future__ import annotations

from ppduck.estimators.answers import Aggregate
from ppduck.frozen import frozen
from ppduck.query import tree as sql


@frozen
class Grouping:
    """GROUPING(…): which of some groups a row sums over, as bits, the first one highest."""

    groups: tuple[int, ...]


@frozen
class Question:
    """A query, taken apart."""

    table: str
    groups: tuple[sql.Expr, ...]  # expressions that rows are grouped by
    sets: tuple[tuple[int, ...], ...]  # by which of them, one answer each
    # the output: its name, and what it shows
    items: tuple[tuple[str, int | Grouping | Aggregate], ...]
    where: tuple[sql.Expr, ...]  # conditions that must all hold
    order: tuple[sql.Expr, ...] = ()  # of the output
    limit: sql.Expr | None = None
    offset: sql.Expr | None = None

    @property
    def aggregates(self) -> list[Aggregate]:
        return [item for _, item in self.items if isinstance(item, Aggregate)]

    @property
    def expressions(self) -> list[sql.Expr]:
        """Everything that reads columns."""
        found = [*self.groups, *self.where]
        for each in self.aggregates:
            found += each.conditions
        return found

    @property
    def ordered(self) -> bool:
        """Whether it says which rows of the answer come first, or how many."""
        return bool(self.order) or self.limit is not None or self.offset is not None
