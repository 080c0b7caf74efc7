"""Linking attacks: the quasi-identifiers that an intruder knows, the sensitive values he wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import LEVELS, DesignReader, DesignWords
from ppduck.errors import Faults, quoted
from ppduck.estimators import count_column, count_table
from ppduck.estimators.cells import CellCounts, Cells, CellsSpec
from ppduck.estimators.design_source import known_levels
from ppduck.frozen import frozen
from ppduck.kernels.disclosure import Population, population_of
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

Places = npt.NDArray[np.int64]

MOST_GROUPS = 5_000_000  # cells of the table of quasi-identifiers
_MOST_NUMBERS = 2**53  # cells that a double can number


@parameters
class LinkingCall(Call):
    """A function's own parameters stand behind the columns."""

    tbl: str = arguments.TABLE
    qi: Sequence[str] = parameter(
        arguments.columns, "the quasi-identifiers: columns that an intruder may know of a person"
    )
    sensitive: Sequence[str] = parameter(arguments.columns, "the sensitive column, or several")
    count: str | None = replace(count_column.COUNT, last=True)
    levels: Mapping[str, list[Any]] | None = replace(LEVELS, last=True)
    on_null: str = parameter(
        arguments.choice("error", "drop"),
        "rows with NULL are an error, or are left out; an error by default, because a risk without them is not that of "
        "all who are in the table",
        "error",
        last=True,
    )


@frozen
class LinkingSpec(CellsSpec):
    qi: int  # how many of the columns, the first ones, are quasi-identifiers
    on_null: str

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


@frozen
class LinkingCells(CellCounts):
    """The cells, and the rows that are in none of them."""

    missing: int  # rows with NULL in one of the columns


def cells_of(function: str, catalog: Catalog, call: LinkingCall) -> Cells:
    """The cells that occur, of quasi-identifiers first and sensitive attributes then."""
    faults = Faults(function, call.tbl)
    for name, columns in (("qi", call.qi), ("sensitive", call.sensitive)):
        if not columns:
            faults.add(f"{name} is empty; name at least one column.")
    faults.raise_if_any()
    names = [*call.qi, *call.sensitive]
    # The table is the owner's own: nothing in it is randomized yet, whatever it is made of.
    table = count_table.read_table(function, catalog, call.tbl, names, DesignWords(), ())
    release = table.release
    reader = DesignReader(
        catalog, release.source, DesignWords(levels=call.levels), release.faults()
    )
    reader.refuse_strangers(names)
    # The domain is that of rr_mask: as given, else all values of an enum, else what occurs.
    attributes = tuple(
        replace(attribute, levels=known_levels(catalog, reader.given_levels(column), column, False))
        for column, attribute in zip(release.columns, release.attributes, strict=True)
    )
    reader.faults.raise_if_any()
    table = replace(table, release=replace(release, attributes=attributes))
    return count_table.cells_of(catalog, table, _MOST_NUMBERS, count=call.count)


def rows_without_value(counted: Cells) -> sql.Expr:
    """How many rows have NULL in one of the columns, for a UDF."""
    missing = exp.or_(
        *(sql.column(column.name).is_(exp.null()) for column in counted.release.columns)
    )
    return sql.scalar(
        sql.query([aggregates.rows()], sql.source(counted.release.source.sql), where=missing)
    )


@frozen
class Occurring:
    """The cells that have rows: the level of every column, the counts, and which cells they are."""

    sizes: tuple[int, ...]  # levels of each column
    places: tuple[Places, ...]
    counts: Array
    kept: npt.NDArray[np.bool_]  # of the cells that arrived

    def population(self, qi: int) -> Population:
        return population_of(self.sizes[:qi], self.sizes[qi:], self.places, self.counts)


def cells_that_occur(spec: LinkingSpec, told: LinkingCells) -> Occurring:
    """Refuses where there are none, or too many, or rows that no risk would be told of."""
    faults = spec.faults()
    if told.strangers:
        raise faults.refuse(
            f"{told.strangers} rows hold a value that is none of the levels of its column; give the whole domain in "
            "levels."
        )
    if told.missing and spec.on_null == "error":
        raise faults.refuse(
            f"{told.missing} rows have NULL in one of the columns, and their risk is not told; fill them, or say "
            "on_null := 'drop' to leave them out (their NULL would be published as it is)."
        )
    kept = ~np.isnan(told.numbers) & (told.counts > 0)  # NaN is above nothing
    if not kept.any():
        raise faults.refuse("there are no rows in which all of the columns are present.")
    sizes = tuple(size or 0 for size in told.sizes)
    for name, size in zip(spec.names, sizes, strict=True):
        if size < 2:
            faults.add(
                f"column {quoted(name)} has a single level, which is no secret and cannot be randomized."
            )
    faults.raise_if_any()
    groups = prod(sizes[: spec.qi])
    if groups > MOST_GROUPS:
        shape = " × ".join(map(str, sizes[: spec.qi]))
        raise faults.refuse(
            f"the quasi-identifiers have {groups:,} combinations of levels ({shape}), more than the {MOST_GROUPS:,} "
            "that can be worked on; name fewer, or group their levels."
        )
    places = np.unravel_index(told.numbers[kept].astype(np.int64), sizes)
    return Occurring(
        sizes, tuple(place.astype(np.int64) for place in places), told.counts[kept], kept
    )
