"""Linking attacks: the quasi-identifiers that an intruder knows, and the sensitive values that he wants to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ppduck.errors import Faults, quoted
from ppduck.kernels.disclosure import Population, population_of
from ppduck.plan import arguments
from ppduck.plan.arguments import Parameter
from ppduck.plan.catalog import Catalog
from ppduck.randomized import tables
from ppduck.randomized.cells import Cells
from ppduck.values import Array

MOST_GROUPS = 5_000_000  # cells of the table of quasi-identifiers
_MOST_NUMBERS = 2**53  # cells that a double can number

QI = Parameter("qi", arguments.columns, "the quasi-identifiers: columns that an intruder may know of a person")
SENSITIVE = Parameter("sensitive", arguments.columns, "the sensitive column, or several")


def cells_of(function: str, catalog: Catalog, given: dict[str, Any], also: tuple[tuple[str, str], ...] = ()) -> Cells:
    """The cells that occur, of quasi-identifiers first and sensitive attributes then."""
    names = [*given["qi"], *given["sensitive"]]
    faults = Faults(function, given["tbl"])
    for parameter in ("qi", "sensitive"):
        if not given[parameter]:
            faults.add(f"{parameter} is empty; name at least one column.")
    faults.raise_if_any()
    # The table is the owner's own: nothing in it is randomized yet, whatever it is made of.
    table = tables.read_table(function, catalog, {"tbl": given["tbl"], "randomized": []}, names)
    counted = tables.cells_of(catalog, table, _MOST_NUMBERS, given)
    return replace(counted, also=also)


def places_of(spec: dict[str, Any], sizes: Sequence[int], numbers: Sequence[float | None] | None) -> list[Array]:
    """The level of every column in each cell that occurs; refuses where there are none, or too many to look at."""
    faults = Faults(spec["function"], spec["table"])
    placed = [number for number in numbers or () if number is not None]
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
    return [np.asarray(place) for place in np.unravel_index(np.array(placed, dtype=np.int64), tuple(sizes))]


def population(
    spec: dict[str, Any], sizes: Sequence[int], places: Sequence[Array], counts: Sequence[Any]
) -> Population:
    present = np.array([count for count in counts if count is not None], dtype=float)
    return population_of(sizes[: spec["qi"]], sizes[spec["qi"] :], [p.astype(np.int64) for p in places], present)
