"""The relation that a query reads: what is known of its names, and the design of the columns that it names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod
from typing import Any, TypeVar

import numpy as np
from sqlglot import exp

from ppduck.catalogue.functions import kind_of_function
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.designs.conditioning import is_invertible
from ppduck.designs.design import MOST_LEVELS, Attribute, DesignWords
from ppduck.errors import Faults, near_miss, quoted
from ppduck.estimators.count_table import is_masked
from ppduck.estimators.design_source import Release, read_release
from ppduck.estimators.question import Question
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.values import Array, folded

NAME = "rr_query"
MOST_COMBINATIONS = 2_000
CELLS = "_pp_cells"  # the step of what occurs, by what is asked of a row

AnyValue = TypeVar("AnyValue")


@frozen
class RandomizedColumn:
    """A randomized column of the query: its levels with NULL after them, and how published ones weigh."""

    attribute: Attribute
    number: int

    @property
    def grid_name(self) -> str:
        """The step of its levels: ``level``, with its ``place``."""
        return f"_pp_grid{self.number}"

    @property
    def level(self) -> str:
        return f"_pp_level{self.number}"

    @property
    def place(self) -> str:
        return f"_pp_place{self.number}"

    @property
    def published(self) -> str:
        """What a cell's rows have published; ``published_place`` is its place among the levels."""
        return f"_pp_published{self.number}"

    @property
    def published_place(self) -> str:
        return f"_pp_published_place{self.number}"

    @property
    def levels(self) -> tuple[str | None, ...]:
        return self.attribute.levels or ()

    @property
    def stays_null(self) -> bool:
        """Whether NULL is published as it is: then it is a level that nothing turns into, or is turned into."""
        return None not in self.levels

    def place_published(self, fault: sql.Expr) -> sql.Expr:
        """The place of a row's published level; a fault where it is none."""
        value = sql.column(self.published)
        null = len(self.levels) + 1 if self.stays_null else len(self.levels)
        found = sql.call("list_position", sql.texts(self.levels), sql.cast(value, "VARCHAR"))
        known = sql.call("coalesce", found, fault)
        return sql.cases((value.copy().is_(exp.null()), sql.number(null)), otherwise=known)

    def grid(self) -> sql.Expr:
        """Every level with its place; NULL too, where a row has it."""
        size = len(self.levels)
        levels = sql.cast_as(sql.texts(self.levels), f"{self.attribute.type or 'VARCHAR'}[]")
        if self.stays_null:
            levels = sql.call("list_concat", levels, sql.call("list_value", sql.null()))
        places = sql.call("range", sql.number(1), sql.number(size + 1 + self.stays_null))
        every = sql.query(
            [
                sql.named(sql.call("unnest", places), self.place),
                sql.named(sql.call("unnest", levels), self.level),
            ]
        )
        if not self.stays_null:
            return every
        holds_null = sql.query(
            [sql.number(1)], sql.table(CELLS), where=sql.column(self.published_place) > size
        )
        occurs = exp.or_(sql.column(self.place) <= size, sql.exists(holds_null))
        return sql.query([exp.Star()], sql.derived(every, "_pp_every"), where=occurs)

    def weight(self) -> sql.Expr:
        """P⁻¹[u, v] of a level u that a row may have had, and the level v that it has published."""
        u, v, size = sql.column(self.place), sql.column(self.published_place), len(self.levels)
        inverse = np.linalg.inv(self.matrix)
        if self.attribute.p is not None:
            found = sql.cases(
                (sql.equal(u, v), _double(inverse[0, 0])), otherwise=_double(inverse[0, 1])
            )
        else:
            # Written out: a tree of so many numbers would take longer to plan than the statement to run.
            rows = ", ".join(
                "[" + ", ".join(f"{cell!r}::DOUBLE" for cell in row) + "]"
                for row in inverse.tolist()
            )
            found = sql.item(sql.item(sql.raw(f"[{rows}]"), u), v)
        if not self.stays_null:
            return found
        either = exp.or_(u > size, v > size)
        return sql.cases((either, sql.double(sql.equal(u.copy(), v.copy()))), otherwise=found)

    @property
    def matrix(self) -> Array:
        return self.attribute.matrix(len(self.levels))


def _double(value: float) -> sql.Expr:
    return sql.double(sql.number(float(value)))


@frozen
class CatalogNames:
    """What the catalogue says of the names in a query."""

    catalog: Catalog

    def column(self, table: str, name: str) -> Column | None:
        return self.catalog.source(NAME, table).find(name)

    def kind_of(self, function: str) -> str | None:
        return kind_of_function(self.catalog.reader, function)


def release_of(
    catalog: Catalog, question: Question, words: DesignWords, on_null: str | None
) -> Release:
    """The relation, and the design of the columns that the query reads."""
    names = {
        folded(column.name): column.name
        for each in question.expressions
        for column in each.find_all(exp.Column)
    }
    source = catalog.source(NAME, question.table)
    faults = Faults(NAME, source.label)
    if source.columns is None:
        raise faults.refuse(
            catalog.unseen(source, "make it a table or a view that the planner can see.")
        )
    for name in names.values():
        if source.find(name) is None:
            faults.add(
                f"the query reads column {quoted(name)}, which does not exist."
                f"{near_miss(name, [column.name for column in source.columns])}"
            )
    faults.raise_if_any()
    if not names:
        return Release(NAME, source, (), ())
    if words.tells_probabilities:
        if is_masked(catalog, source):
            raise faults.refuse(
                "the definition of the view says how it was randomized; leave p and matrix out."
            )
        words = _by_hand(source, words, names, faults)
    elif words.levels is not None or on_null is not None:
        raise faults.refuse(
            "levels and on_null belong to p or matrix; those of a view are in its definition."
        )
    return read_release(NAME, catalog, question.table, list(names.values()), words)


def _by_hand(
    source: Source, words: DesignWords, names: dict[str, str], faults: Faults
) -> DesignWords:
    """What the call says of the columns that the query reads."""
    p, matrix, levels = words.p or {}, words.matrix or {}, words.levels or {}
    if not isinstance(p, Mapping):
        raise faults.refuse(
            "p is one number; say which columns were randomized: p := {'column': 0.9}."
        )
    mappings: dict[str, Mapping[str, Any]] = {"p": p, "matrix": matrix, "levels": levels}
    for parameter, mapping in mappings.items():
        for name in mapping:
            if source.find(name) is None:
                faults.add(
                    f"{parameter} names column {quoted(name)}, which does not exist."
                    f"{near_miss(name, [column.name for column in source.columns or ()])}"
                )
    faults.raise_if_any()
    return DesignWords(
        _among(p, names), _among(matrix, names), _among(levels, names), words.null_is_level
    )


def _among(mapping: Mapping[str, AnyValue], names: Collection[str]) -> dict[str, AnyValue]:
    return {name: value for name, value in mapping.items() if folded(name) in names}


def randomized_of(
    catalog: Catalog, release: Release, *, null_is_level: bool
) -> list[RandomizedColumn]:
    faults = release.faults()
    found: list[RandomizedColumn] = []
    for column, attribute in zip(release.columns, release.attributes, strict=True):
        if attribute.is_identity:
            continue
        levels = attribute.levels
        if levels is None:
            read = catalog.levels(release.source, column, MOST_LEVELS)
            if read is None:
                faults.add(
                    f"column {quoted(column.name)} has more than {MOST_LEVELS:,} levels; name them in levels."
                )
                continue
            levels = (*read, None) if null_is_level else tuple(read)
        if len(levels) < 2:
            faults.add(
                f"column {quoted(column.name)} has fewer than two levels; give all of them in levels."
            )
            continue
        own = Attribute(column.name, column.type, levels, attribute.p, attribute.rows)
        if is_invertible(own.name, own.matrix(len(levels)), own.p, faults):
            found.append(RandomizedColumn(own, len(found)))
    faults.raise_if_any()
    combinations = prod(len(each.levels) for each in found)
    if combinations > MOST_COMBINATIONS:
        raise faults.refuse(
            f"the randomized columns of the query have {combinations:,} combinations of levels, more than the "
            f"{MOST_COMBINATIONS:,} that can be weighed; ask about fewer of them, or see rr_reconstruct."
        )
    return found
