"""What Python is told of a call while its statement runs: names and parameters, never a value or the secret.

A specification is a dataclass, written into the statement as text and read again here, and nowhere else.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from dataclasses import field
from functools import cache, lru_cache
from typing import Any, Self

from ppduck import interrupts
from ppduck.errors import Faults, PpduckError
from ppduck.frozen import frozen


@frozen
class Spec:
    """The function that was called, the table that it names, and the connection that asks."""

    function: str
    table: str
    asking: str | None = field(default_factory=interrupts.asking, kw_only=True)

    def text(self) -> str:
        """As it stands in a statement."""
        return json.dumps(_plain(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Self:
        found: Self = _read(cls, text)  # type: ignore[arg-type]
        return found

    def faults(self) -> Faults:
        return Faults(self.function, self.table)

    def refuse(self, fault: str) -> PpduckError:
        return self.faults().refuse(fault)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return (
        [_plain(part) for part in value]
        if isinstance(value, (list, tuple, set, frozenset))
        else value
    )


@lru_cache(maxsize=256)
def _read(cls: type[Any], text: str) -> Any:
    return _built(cls, json.loads(text))


def _built(wanted: Any, value: Any) -> Any:
    """A value of JSON as the type that a field is declared to have."""
    if value is None or wanted is Any:
        return value
    origin, inside = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (types.UnionType, typing.Union):
        own = [each for each in inside if each is not types.NoneType]
        return _built(own[0], value) if len(own) == 1 else value
    if dataclasses.is_dataclass(wanted):
        hints = _hints(wanted)  # type: ignore[arg-type]
        return wanted(**{name: _built(hints[name], part) for name, part in value.items()})  # type: ignore[operator]
    if origin is dict:
        return {name: _built(inside[1], part) for name, part in value.items()}
    if origin is tuple and inside[-1] is not ...:
        return tuple(_built(each, part) for each, part in zip(inside, value, strict=True))
    if origin in (list, tuple, frozenset):
        return origin(_built(inside[0], part) for part in value)
    return value


@cache
def _hints(wanted: Any) -> dict[str, Any]:
    return typing.get_type_hints(wanted)
