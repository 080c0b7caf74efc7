"""Linking attacks: the quasi-identifiers that an intruder knows, and the sensitive values that he wants to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import DesignReader, DesignWords
from ppduck.errors import Faults, quoted
from ppduck.estimators import count_table
from ppduck.estimators.cells import Cells
from ppduck.estimators.design_source import known_levels
from ppduck.kernels.disclosure import Population, population_of
from ppduck.query import tree as sql
from ppduck.values import Array

Places = npt.NDArray[np.intp]

MOST_GROUPS = 5_000_000  # cells of the table of quasi-identifiers
_MOST_NUMBERS = 2**53  # cells that a double can number

QI = Parameter("qi", arguments.columns, "the quasi-identifiers: columns that an intruder may know of a person")
SENSITIVE = Parameter("sensitive", arguments.columns, "the sensitive column, or several")
ON_NULL = Parameter(
    "on_null",
    arguments.choice("error", "drop"),
    "rows with NULL are an error, or are left out; an error by default, because a risk without them is not that of all "
    "who are in the table",
    "'error'",
)


def cells_of(
    function: str, catalog: Catalog, given: dict[str, Any], also: tuple[tuple[str, sql.Expr], ...] = ()
) -> Cells:
    """The cells that occur, of quasi-identifiers first and sensitive attributes then."""
    names = [*given["qi"], *given["sensitive"]]
    faults = Faults(function, given["tbl"])
    for parameter in ("qi", "sensitive"):
        if not given[parameter]:
            faults.add(f"{parameter} is empty; name at least one column.")
    faults.raise_if_any()
    # The table is the owner's own: nothing in it is randomized yet, whatever it is made of.
    table = count_table.read_table(function, catalog, given["tbl"], names, DesignWords(), ())
    published = table.release
    reader = DesignReader(catalog, published.source, DesignWords(levels=given.get("levels")), published.faults())
    reader.refuse_strangers(names)
    # The domain is that of rr_mask: as given, else all values of an enum, else what occurs.
    attributes = tuple(
        replace(attribute, levels=known_levels(catalog, reader.given_levels(column), column, False))
        for column, attribute in zip(published.columns, published.attributes, strict=True)
    )
    reader.faults.raise_if_any()
    table = replace(table, release=replace(published, attributes=attributes))
    counted = count_table.cells_of(
        catalog, table, _MOST_NUMBERS, null_is_level=given.get("on_null") == "level", count=given.get("count")
    )
    return replace(counted, also=also)


def without_value(counted: Cells) -> str:
    """How many rows have NULL in one of the columns, for a UDF."""
    missing = " OR ".join(f"{sql.render(sql.column(column.name))} IS NULL" for column in counted.release.columns)
    return f"(SELECT count(*) FROM {counted.release.source.sql} WHERE {missing})"


def cells_that_occur(
    spec: dict[str, Any], sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int, missing: int,
) -> tuple[list[Places], Array, list[int]]:  # fmt: skip
    """The level of every column in each cell that has rows, its count, and its place among the cells that arrived.

    Refuses where there are none, or too many to look at, or rows that no risk would be told of.
    """
    faults = Faults(spec["function"], spec["table"])
    if strangers:
        raise faults.refuse(
            f"{strangers} rows hold a value that is none of the levels of its column; give the whole domain in levels."
        )
    if missing and spec["on_null"] == "error":
        raise faults.refuse(
            f"{missing} rows have NULL in one of the columns, and their risk is not told; fill them, or say on_null := "
            "'drop' to leave them out (their NULL would be published as it is)."
        )
    arrived = [(n, c) for n, c in zip(numbers or (), counts or (), strict=True) if n is not None and c is not None]
    kept = [place for place, (_, count) in enumerate(arrived) if count > 0]
    placed = [arrived[place][0] for place in kept]
    if not placed:
        raise faults.refuse("there are no rows in which all of the columns are present.")
    for name, size in zip([column["column"] for column in spec["columns"]], sizes, strict=True):
        if size < 2:
            faults.add(f"column {quoted(name)} has a single level, which is no secret and cannot be randomized.")
    faults.raise_if_any()
    qi = list(sizes[: spec["qi"]])
    if prod(qi) > MOST_GROUPS:
        shape = " × ".join(map(str, qi))
        raise faults.refuse(
            f"the quasi-identifiers have {prod(qi):,} combinations of levels ({shape}), more than the {MOST_GROUPS:,} "
            "that can be worked on; name fewer, or group their levels."
        )
    places = [np.asarray(place) for place in np.unravel_index(np.array(placed, dtype=np.int64), tuple(sizes))]
    return places, np.array([arrived[place][1] for place in kept], dtype=float), kept


def population(spec: dict[str, Any], sizes: Sequence[int], places: Sequence[Places], counts: Array) -> Population:
    return population_of(sizes[: spec["qi"]], sizes[spec["qi"] :], [p.astype(np.int64) for p in places], counts)
