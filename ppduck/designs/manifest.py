"""The manifest that a release carries: what became of every column, so that analysts need not be told p by hand.

A JSON text: in the metadata of a Parquet file under the name ``ppduck``, in the comment of a table. It holds how
columns were treated, the designs of randomized ones with their levels, guarantees, the digest of the policy and
versions; never the secret, and nothing of a person.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ppduck.catalogue.attached_text import attached
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import Attribute, is_stochastic, normalised
from ppduck.errors import Faults, quoted
from ppduck.values import folded

NAME = "ppduck"  # under which it stands in a file
SCHEMA, VERSION = "ppduck/manifest", 1
RANDOMIZED = "randomized"


def of_source(catalog: Catalog, source: Source, faults: Faults) -> dict[str, Any] | None:
    """The manifest of a table or of Parquet files; None where there is none."""
    text = attached(catalog, source, NAME, faults)
    return None if text is None else parsed(text, source, faults)


def parsed(text: str, source: Source, faults: Faults) -> dict[str, Any] | None:
    """A manifest as a value; None for a comment that is something else."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, Mapping) or found.get("schema") != SCHEMA:
        return None
    if found.get("version") != VERSION or not isinstance(found.get("columns"), list):
        raise faults.refuse(
            f"{quoted(source.label)} has a manifest of version {found.get('version')!r}, and this ppduck reads version "
            f"{VERSION}."
        )
    return dict(found)


def design(manifest: Mapping[str, Any], column: Column, faults: Faults) -> Attribute | None:
    """How a column was randomized; p is 1 of one that was not. None, with a fault, of one that is not in it."""
    own = next((each for each in manifest["columns"] if _is_of(each, column)), None)
    if own is None:
        faults.add(f"the manifest says nothing of column {quoted(column.name)}.")
        return None
    if own.get("role") != RANDOMIZED:
        return Attribute(column.name, column.type, None, 1.0)
    levels, p, rows = own.get("levels"), own.get("p"), own.get("matrix")
    known = isinstance(levels, list) and all(
        each is None or isinstance(each, str) for each in levels
    )
    sound = known and (
        (isinstance(p, (int, float)) and 0 < p <= 1)
        if rows is None
        else isinstance(rows, list) and is_stochastic(column.name, rows, len(levels), faults.add)
    )
    if not sound:
        faults.add(f"the manifest does not say how column {quoted(column.name)} was randomized.")
        return None
    return Attribute(
        column.name,
        column.type,
        tuple(levels),
        None if p is None else float(p),
        normalised(rows) if rows else None,
    )


def designs(manifest: Mapping[str, Any], source: Source, faults: Faults) -> list[Attribute]:
    """The randomized columns of a source, each with its design."""
    own = [column for column in source.columns or () if _is_randomized(manifest, column)]
    found = [design(manifest, column, faults) for column in own]
    if not own:
        faults.add(f"the manifest of {quoted(source.label)} has no randomized column.")
    faults.raise_if_any()
    return [each for each in found if each is not None]


def _is_randomized(manifest: Mapping[str, Any], column: Column) -> bool:
    return any(
        _is_of(each, column) and each.get("role") == RANDOMIZED for each in manifest["columns"]
    )


def told(attribute: Attribute) -> dict[str, Any]:
    """The design of a column as a manifest has it."""
    found: dict[str, Any] = {"levels": list(attribute.levels or ())}
    if attribute.rows is not None:
        return found | {"matrix": [list(row) for row in attribute.rows]}
    return found | {"p": attribute.p}


def _is_of(told: Any, column: Column) -> bool:
    return isinstance(told, Mapping) and folded(str(told.get("name"))) == folded(column.name)
