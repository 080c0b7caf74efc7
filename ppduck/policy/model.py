"""A policy as a value: what becomes of every column, and what the gate asks of the whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from ppduck.call.parameters import ColumnNames
from ppduck.call.registry import function_named
from ppduck.frozen import frozen
from ppduck.values import folded


class Treatment(Enum):
    """What a policy can do with a column."""

    KEEP = "keep"
    DROP = "drop"
    PSEUDONYM = "pseudonym"
    DATE = "date"
    RECODE = "recode"
    RANDOMIZE = "randomize"
    MASK = "mask"


# How explanations, manifests and reports call a column that was treated so.
ROLES = {
    Treatment.KEEP: "kept",
    Treatment.DROP: "dropped",
    Treatment.PSEUDONYM: "pseudonym",
    Treatment.DATE: "date",
    Treatment.RECODE: "recoded",
    Treatment.RANDOMIZE: "randomized",
    Treatment.MASK: "masked",
}


@frozen
class Step:
    """One call of a mask: its arguments as the mask has read them, and the columns that it makes."""

    function: str
    arguments: Mapping[str, Any]
    columns: tuple[str, ...]
    treatment: Treatment


@frozen
class Policy:
    """What was declared, read and checked as far as that goes without a table."""

    source: str | None
    key: tuple[str, ...]
    columns: Mapping[str, Treatment]
    steps: tuple[Step, ...]
    limits: Mapping[str, Any]
    qi: tuple[str, ...] | None  # None where the policy leaves it to the treatments
    batch: str | None
    smallest_batch: int | None
    said: Mapping[str, str]  # what the policy says of each column, for people
    places: Mapping[str, str]  # where each column stands in the policy, for messages
    named: Mapping[str, str]  # columns that masks, key and batch read, and what names them

    def treated(self, *treatments: Treatment) -> list[str]:
        return [name for name, own in self.columns.items() if own in treatments]

    @property
    def used(self) -> list[str]:
        """Columns that are read and not released: those that only a mask, or a shift, names."""
        known = {folded(name) for name in self.columns}
        found = {folded(name): name for name in self.named if folded(name) not in known}
        return list(found.values())

    def canonical(self) -> str:
        """The same text for all policies that say the same, however they are written."""
        steps = [{"function": step.function, "arguments": _arguments(step)} for step in self.steps]
        told = {
            "from": self.source,
            "key": sorted(map(folded, self.key)),
            "columns": {folded(name): own.value for name, own in self.columns.items()},
            "steps": sorted(steps, key=lambda step: json.dumps(step, sort_keys=True)),
            "limits": _plain(self.limits),
            "qi": None if self.qi is None else sorted(map(folded, self.qi)),
            "batch": self.batch and folded(self.batch),
            "smallest_batch": self.smallest_batch,
        }
        return json.dumps(told, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """By which a policy is known: 128 bits of the SHA-256 of its canonical text."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:32]


def _arguments(step: Step) -> dict[str, Any]:
    """The arguments of a call as JSON has them; lists of columns are sets of names as DuckDB compares them."""
    parameters = {each.name: each for each in function_named(step.function).parameters}
    found = {}
    for name, value in step.arguments.items():
        if value == parameters[name].value:
            continue  # as if it were not said
        of_columns = parameters[name].columns is ColumnNames.LISTED and isinstance(value, list)
        found[name] = sorted(map(folded, value)) if of_columns else _plain(value)
    return found


def _plain(value: Any) -> Any:
    """A value as JSON has it; names of columns count as DuckDB compares them."""
    if isinstance(value, Mapping):
        return {folded(str(name)): _plain(own) for name, own in value.items()}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
    return [_plain(own) for own in value]
