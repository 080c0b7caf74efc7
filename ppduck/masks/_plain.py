"""What the plain macros that mask share: secret, key, and how a call is explained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import Reader, parameter
from ppduck.call.registry import PlainMacro
from ppduck.call.roles import resolve_columns
from ppduck.catalogue.source import Source
from ppduck.errors import Faults
from ppduck.query import tree as sql
from ppduck.stages.explain import Row, noise_key, promised, table

SECRET: Any = parameter(
    Reader("a text of 16 characters or more", arguments.words),
    "what keys the noise; it stands in the query's text unless getvariable() or, in DuckDB's shell, getenv() brings it",
)
KEY: Any = parameter(
    arguments.columns,
    "the columns that identify a row, each once; 'rowid' numbers the rows of a table",
)


def explained_by(
    mask: PlainMacro, call: Any, source: Source, role: str, told: Mapping[str, str]
) -> sql.Expr:
    """What becomes of the columns that a call names, of all others, what is promised, and what the noise goes by."""
    names = [column.name for column in source.columns] if source.columns else [*told]
    released = "released as it is: drop it if it tells who somebody is"
    rows: list[Row] = [
        (name, role, told[name]) if name in told else (name, "not used", released) for name in names
    ]
    told_of_all = table(rows + promised(mask, call))
    if not hasattr(call, "key"):
        return told_of_all
    key = [] if list(call.key) == ["rowid"] else list(call.key)
    faults = Faults(mask.name, source.label)
    named = resolve_columns(faults, source, "key", key)
    faults.raise_if_any()
    noted = noise_key(
        source, [c.name for c in named], "", [], f"NOT unique; {mask.name} refuses it"
    )
    return sql.union_all([told_of_all, noted])
