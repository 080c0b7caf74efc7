"""Which columns of a published table are randomized and how: given by the call, or read from a view's definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppduck.errors import Faults, quoted
from ppduck.plan.catalog import Catalog, Column, Source
from ppduck.plan.roles import resolve_columns
from ppduck.randomized import pram_mask, rr_mask
from ppduck.randomized.design import Attribute, Design, DesignReader, Levels, checked_matrix, normalised, recording
from ppduck.randomized.lineage import Origin, UnreadableError, created_columns, named_as, origins

MASKS = {rr_mask.NAME, pram_mask.NAME}
_REMEDY = "Give p := {'column': …} or matrix := {…} instead."


@dataclass(frozen=True)
class Published:
    """A source of published rows, and the design of the columns that are asked about."""

    function: str
    source: Source
    columns: tuple[Column, ...]
    attributes: tuple[Attribute, ...]

    def faults(self) -> Faults:
        return Faults(self.function, self.source.label)


def read_published(function: str, catalog: Catalog, given: dict[str, Any], names: Sequence[str]) -> Published:
    """The design of some columns of ``tbl``, from p, matrix and levels, else from the view behind it."""
    source = catalog.source(function, given["tbl"])
    faults = Faults(function, source.label)
    by_hand = "p" in given or "matrix" in given
    if source.columns is None and not by_hand:
        raise faults.refuse(catalog.unseen(source, f"its definition cannot be read. {_REMEDY}"))
    columns = resolve_columns(faults, source, "columns", names)
    if not names:
        faults.add("columns is empty; name at least one column.")
    faults.raise_if_any()
    if by_hand:
        attributes = _by_hand(catalog, source, given, columns, faults)
    else:
        source, attributes = _from_definition(catalog, source, given, columns, faults)
    faults.raise_if_any()
    return Published(function, source, tuple(columns), tuple(attributes))


def _by_hand(
    catalog: Catalog, source: Source, given: dict[str, Any], columns: Sequence[Column], faults: Faults
) -> list[Attribute]:
    reader = DesignReader(catalog, source, given, faults)
    reader.refuse_strangers([column.name for column in columns])
    found = []
    for column in columns:
        p, rows = reader.probabilities(column.name, " (1 if it was not randomized)")
        levels = _known_levels(catalog, reader.given_levels(column), column, reader.null_is_level)
        if rows is not None and not checked_matrix(column.name, rows, len(levels) if levels else None, faults.add):
            continue
        found.append(Attribute(column.name, column.type, levels, p, normalised(rows) if rows else None))
    return found


def _known_levels(catalog: Catalog, named: Levels | None, column: Column, null_is_level: bool) -> Levels | None:
    """Levels that are known without a look at the data: named, or those of an enum."""
    if named is not None or not column.is_enum:
        return named
    every = catalog.evaluate(f"enum_range(NULL::{column.type})")
    return (*every, None) if null_is_level else tuple(every)


def design_of(function: str, catalog: Catalog, tbl: str) -> list[Attribute]:
    """Every randomized column of a view, under the names that the view gives them."""
    source = catalog.source(function, tbl)
    faults = Faults(function, source.label)
    if source.columns is None:
        raise faults.refuse(catalog.unseen(source, f"its definition cannot be read. {_REMEDY}"))
    _, found = _origins(catalog, source, faults)
    attributes = [replace(origin.attribute, name=origin.name) for origin in found if origin.attribute is not None]
    if not attributes:
        raise faults.refuse(f"{quoted(source.label)} shows none of the columns that were randomized.")
    return attributes


def _from_definition(
    catalog: Catalog, source: Source, given: dict[str, Any], columns: Sequence[Column], faults: Faults
) -> tuple[Source, list[Attribute]]:
    source, found = _origins(catalog, source, faults)
    by_name = {origin.name.casefold(): origin for origin in found}
    reader = DesignReader(catalog, source, given, faults)
    attributes = []
    for column in columns:
        origin = by_name[column.name.casefold()]
        if origin.spoilt:
            faults.add(
                f"column {quoted(column.name)} is computed from a randomized column in the definition of "
                f"{quoted(source.label)}; ask about the randomized column itself."
            )
        elif origin.attribute is not None:
            attributes.append(replace(origin.attribute, name=column.name, type=column.type))
        else:
            levels = _known_levels(catalog, reader.given_levels(column), column, reader.null_is_level)
            attributes.append(Attribute(column.name, column.type, levels, 1.0))
    return source, attributes


def _origins(catalog: Catalog, source: Source, faults: Faults) -> tuple[Source, list[Origin]]:
    """The source under a name that nothing can hide, and where each of its columns comes from."""
    with recording() as designs:
        names = [column.name for column in catalog.columns_of(source)]  # plans every mask that the definition calls
    try:
        if source.sql.startswith("("):
            query = sqlglot.parse_one(source.sql[1:-1], dialect="duckdb")
            found = origins(query, MASKS, _only_design(designs), _Views(catalog))
        else:
            home = catalog.homes(source.sql)[:1]
            if not home or home[0].created is None:
                raise faults.refuse(
                    f"{quoted(source.label)} is no view over rr_mask or pram_mask, so that nothing says how it was "
                    f"randomized. {_REMEDY}"
                )
            source = replace(source, sql=home[0].sql)
            found = created_columns(home[0].created, MASKS, _only_design(designs), _Views(catalog))
        found = named_as(found, names)
    except (UnreadableError, SqlglotError) as unreadable:
        why = f": it {unreadable}" if isinstance(unreadable, UnreadableError) else ""
        raise faults.refuse(f"the definition of {quoted(source.label)} cannot be read{why}. {_REMEDY}") from None
    return source, found


def _only_design(designs: Sequence[Design]) -> Design:
    # Planning the view several times plans its mask anew each time, which gives equal designs.
    if len(set(designs)) != 1:
        raise UnreadableError("holds more than one masking call" if designs else "calls neither rr_mask nor pram_mask")
    return designs[0]


@dataclass(frozen=True)
class _Views:
    """Finds the views that a definition reads."""

    catalog: Catalog

    def created(self, table: exp.Table) -> str:
        homes = self.catalog.homes(".".join(f'"{part.name}"' for part in table.parts))
        # A name inside a view may mean another object than here, so it must be the only one of its name.
        if len(homes) > 1:
            raise UnreadableError(f"reads {quoted(table.name)}, of which there are several; qualify it by its schema")
        if not homes or homes[0].created is None:
            raise UnreadableError(f"reads {quoted(table.name)}, which is no view over rr_mask or pram_mask")
        return homes[0].created
