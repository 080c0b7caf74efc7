"""A call of a mask that randomizes, read against the catalogue: its rows, its design and its key."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ppduck.call.roles import refuse_overlap, refuse_reserved, resolve_columns
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import (
    MOST_MATRIX_LEVELS,
    Attribute,
    Design,
    DesignReader,
    columns_to_randomize,
    normalised,
)
from ppduck.designs.randomizing_mask import RandomizingCall
from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen
from ppduck.kernels.distortion import invariant
from ppduck.values import folded

KEYS_TO_LOOK_AT = 1_000_000  # of a table with more rows, about so many keys are checked


@frozen(kw_only=True)
class Randomization:
    """A masking call with everything resolved."""

    function: str
    call: RandomizingCall
    source: Source
    table: str  # schema and name, for row numbers
    draw_designs: tuple[Attribute, ...]  # as the call says, in canonical form: draws go by them
    attributes: tuple[Attribute, ...]  # the same, matrices made invariant where that was asked for
    counts: dict[str, list[int]]  # of the levels that an invariant matrix was built for
    key: tuple[Column, ...]
    drop: tuple[str, ...]
    one_key_in: int  # the check for repeated keys looks at about one key in so many; 1 for all


def resolve(function: str, catalog: Catalog, call: RandomizingCall) -> Randomization:
    """Checks a call against the catalogue and reads its design."""
    source = catalog.source(function, call.tbl)
    faults = Faults(function, source.label)
    names = columns_to_randomize(call.conf, call.words, faults)
    if source.columns is None and call.levels is None:
        raise faults.refuse(catalog.unseen(source, "give levels, and key."))
    refuse_reserved(faults, source)
    columns = resolve_columns(faults, source, "p or matrix" if call.conf is None else "conf", names)
    key = resolve_columns(faults, source, "key", call.key)
    drop = resolve_columns(faults, source, "drop", call.drop)
    refuse_overlap(faults, {"key": key, "conf": columns}, "key")
    refuse_overlap(faults, {"conf": columns, "drop": drop}, "conf")
    reader = DesignReader(catalog, source, call.words, faults)
    reader.refuse_strangers(names)
    spelt = [attribute for column in columns if (attribute := reader.attribute(column)) is not None]
    faults.raise_if_any()
    counts = {}
    draw_designs = tuple(attribute.canonical() for attribute in spelt)
    attributes = list(draw_designs)
    if call.invariant:
        if source.columns is None:
            raise faults.refuse(
                f"invariant needs the shares of the levels, and the planner cannot see {quoted(source.label)}."
            )
        for i, attribute in enumerate(attributes):
            counts[attribute.name], attributes[i] = _make_invariant(
                catalog, source, attribute, faults
            )
    faults.raise_if_any()
    dropped = tuple(column.name for column in drop)
    shown = (
        None
        if source.columns is None
        else tuple(c.name for c in source.columns if c.name not in dropped)
    )
    as_spelt = [new.reordered(old.levels or ()) for new, old in zip(attributes, spelt, strict=True)]
    catalog.trip.record(Design(function, source.sql, tuple(as_spelt), shown))
    home = catalog.homes(source.sql)[:1] if source.has_rowid else []
    # a file is known by its name
    table = folded(f"{home[0].schema}.{home[0].name}" if home else source.label)
    one_key_in = max((catalog.size_of(source) or 0) // KEYS_TO_LOOK_AT, 1)
    return Randomization(
        function=function,
        call=call,
        source=source,
        table=table,
        draw_designs=draw_designs,
        attributes=tuple(attributes),
        counts=counts,
        key=tuple(key),
        drop=dropped,
        one_key_in=one_key_in,
    )


def _make_invariant(
    catalog: Catalog, source: Source, attribute: Attribute, faults: Faults
) -> tuple[list[int], Attribute]:
    column = source.find(attribute.name)
    assert column is not None
    assert attribute.levels is not None
    if len(attribute.levels) > MOST_MATRIX_LEVELS:
        faults.add(
            f"invariant makes a matrix of all levels of a column, at most {MOST_MATRIX_LEVELS:,} of them, and column "
            f"{quoted(attribute.name)} has {len(attribute.levels):,}; group them in tbl, or leave invariant out."
        )
        return [], attribute
    counts = catalog.counts(source, column, attribute.levels)
    if sum(counts) == 0:
        faults.add(
            f"column {quoted(attribute.name)} has no values, so that nothing can stay invariant."
        )
        return counts, attribute
    matrix = invariant(attribute.matrix(len(counts)), np.array(counts) / sum(counts))
    rows = normalised(matrix.tolist())
    return counts, replace(attribute, p=None, rows=rows)
