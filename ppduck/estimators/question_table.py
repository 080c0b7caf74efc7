"""The relation that a query reads: what is known of its names, and the design of the columns that it names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeVar

import numpy as np
from sqlglot import exp

from ppduck.catalogue.functions import kind_of_function
from ppduck.catalogue.tables import Catalog, Column, Source
from ppduck.designs.conditioning import is_invertible
from ppduck.designs.design import MOST_LEVELS, Attribute, DesignWords
from ppduck.errors import Faults, near_miss, quoted
from ppduck.estimators.count_table import is_masked
from ppduck.estimators.design_source import Release, read_release
from ppduck.estimators.question import Asked
from ppduck.query import tree as sql
from ppduck.values import Array, folded

NAME = "rr_query"
MOST_COMBINATIONS = 2_000

AnyValue = TypeVar("AnyValue")


@dataclass(frozen=True)
class Randomized:
    """A randomized column of the query: its levels with NULL after them, and how published ones weigh."""

    attribute: Attribute
    number: int

    @property
    def levels(self) -> tuple[str | None, ...]:
        return self.attribute.levels or ()

    @property
    def texts(self) -> str:
        return "[" + ", ".join("NULL" if t is None else sql.render(sql.text(t)) for t in self.levels) + "]"

    @property
    def stays_null(self) -> bool:
        """Whether NULL is published as it is: then it is a level that nothing turns into, or is turned into."""
        return None not in self.levels

    def code(self, fault: str) -> str:
        """The number of a row's published level."""
        value = f'"_pp_r{self.number}"'
        null = len(self.levels) + 1 if self.stays_null else len(self.levels)
        found = f"list_position({self.texts}, CAST({value} AS VARCHAR))"
        return f"CASE WHEN {value} IS NULL THEN {null} ELSE coalesce({found}, {fault}) END"

    def grid(self) -> str:
        """Every level with its number; NULL too, where a row has it."""
        levels = f"CAST({self.texts} AS {self.attribute.type or 'VARCHAR'}[])"
        size, own = len(self.levels), self.number
        if not self.stays_null:
            return f'SELECT unnest(range(1, {size + 1})) AS "_pp_u{own}", unnest({levels}) AS "_pp_x{own}"'
        return (
            f'SELECT * FROM (SELECT unnest(range(1, {size + 2})) AS "_pp_u{own}", '
            f'unnest(list_concat({levels}, [NULL])) AS "_pp_x{own}") WHERE "_pp_u{own}" <= {size} OR EXISTS '
            f'(SELECT 1 FROM "_pp_cells" WHERE "_pp_v{own}" > {size})'
        )

    def weight(self) -> str:
        """P⁻¹[u, v]"""
        u, v, size = f'"_pp_u{self.number}"', f'"_pp_v{self.number}"', len(self.levels)
        inverse = np.linalg.inv(self.matrix)
        if self.attribute.p is not None:
            found = f"CASE WHEN {u} = {v} THEN {number(inverse[0, 0])} ELSE {number(inverse[0, 1])} END"
        else:
            rows = ", ".join("[" + ", ".join(map(number, row)) + "]" for row in inverse)
            found = f"list_extract(list_extract([{rows}], {u}), {v})"
        if not self.stays_null:
            return found
        return f"CASE WHEN {u} > {size} OR {v} > {size} THEN CAST({u} = {v} AS DOUBLE) ELSE {found} END"

    @property
    def matrix(self) -> Array:
        return self.attribute.matrix(len(self.levels))


def number(value: float) -> str:
    """A double as SQL writes it."""
    return f"{float(value)!r}::DOUBLE"


@dataclass(frozen=True)
class Known:
    """What the catalogue says of the names in a query."""

    catalog: Catalog

    def column(self, table: str, name: str) -> Column | None:
        return self.catalog.source(NAME, table).find(name)

    def kind_of(self, function: str) -> str | None:
        return kind_of_function(self.catalog.reader, function)


def release_of(catalog: Catalog, asked: Asked, words: DesignWords, on_null: str | None) -> Release:
    """The relation, and the design of the columns that the query reads."""
    names = {folded(column.name): column.name for each in asked.expressions for column in each.find_all(exp.Column)}
    source = catalog.source(NAME, asked.table)
    faults = Faults(NAME, source.label)
    if source.columns is None:
        raise faults.refuse(catalog.unseen(source, "make it a table or a view that the planner can see."))
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
            raise faults.refuse("the definition of the view says how it was randomized; leave p and matrix out.")
        words = _by_hand(source, words, names, faults)
    elif words.levels is not None or on_null is not None:
        raise faults.refuse("levels and on_null belong to p or matrix; those of a view are in its definition.")
    return read_release(NAME, catalog, asked.table, list(names.values()), words)


def _by_hand(source: Source, words: DesignWords, names: dict[str, str], faults: Faults) -> DesignWords:
    """What the call says of the columns that the query reads."""
    p, matrix, levels = words.p or {}, words.matrix or {}, words.levels or {}
    if not isinstance(p, Mapping):
        raise faults.refuse("p is one number; say which columns were randomized: p := {'column': 0.9}.")
    mappings: dict[str, Mapping[str, Any]] = {"p": p, "matrix": matrix, "levels": levels}
    for parameter, mapping in mappings.items():
        for name in mapping:
            if source.find(name) is None:
                faults.add(
                    f"{parameter} names column {quoted(name)}, which does not exist."
                    f"{near_miss(name, [column.name for column in source.columns or ()])}"
                )
    faults.raise_if_any()
    return DesignWords(_among(p, names), _among(matrix, names), _among(levels, names), words.null_is_level)


def _among(mapping: Mapping[str, AnyValue], names: Collection[str]) -> dict[str, AnyValue]:
    return {name: value for name, value in mapping.items() if folded(name) in names}


def randomized_of(catalog: Catalog, release: Release, *, null_is_level: bool) -> list[Randomized]:
    faults = release.faults()
    found: list[Randomized] = []
    for column, attribute in zip(release.columns, release.attributes, strict=True):
        if attribute.is_identity:
            continue
        levels = attribute.levels
        if levels is None:
            read = catalog.levels(release.source, column, MOST_LEVELS)
            if read is None:
                faults.add(f"column {quoted(column.name)} has more than {MOST_LEVELS:,} levels; name them in levels.")
                continue
            levels = (*read, None) if null_is_level else tuple(read)
        if len(levels) < 2:
            faults.add(f"column {quoted(column.name)} has fewer than two levels; give all of them in levels.")
            continue
        own = Attribute(column.name, column.type, levels, attribute.p, attribute.rows)
        if is_invertible(own.name, own.matrix(len(levels)), own.p, faults):
            found.append(Randomized(own, len(found)))
    faults.raise_if_any()
    combinations = prod(len(each.levels) for each in found)
    if combinations > MOST_COMBINATIONS:
        raise faults.refuse(
            f"the randomized columns of the query have {combinations:,} combinations of levels, more than the "
            f"{MOST_COMBINATIONS:,} that can be weighed; ask about fewer of them, or see rr_reconstruct."
        )
    return found
