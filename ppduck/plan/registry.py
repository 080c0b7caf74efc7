"""The functions that ppduck adds to SQL. A method registers itself; macros and catalogue follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ppduck.plan.arguments import Parameter, read_arguments, read_texts
from ppduck.plan.catalog import Catalog


@dataclass(frozen=True)
class Function:
    """A table function: how it is called, what it plans, and what a user can read about it."""

    name: str
    parameters: tuple[Parameter, ...]
    plan: Callable[[Catalog, dict[str, Any]], str]
    summary: str
    reference: str

    def read(self, texts: Sequence[str | None], catalog: Catalog) -> dict[str, Any]:
        """The values that a call gives, from the texts of its arguments: by place, then by name."""
        return read_arguments(self.name, self.parameters, texts, catalog.constant)

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(parameter.signature for parameter in self.parameters)})"


@dataclass(frozen=True)
class PlainMacro(Function):
    """A function that is a macro of ``sql/ppduck.sql``: it needs no Python but to understand ``=`` in a call."""

    keeps: tuple[str, ...] = ()  # what it promises, if it is a mask
    loses: tuple[str, ...] = ()

    def read(self, texts: Sequence[str | None], catalog: Catalog) -> dict[str, Any]:
        """The arguments as they were written: the macro itself judges their values."""
        return read_texts(self.name, self.parameters, texts)


AnyFunction = TypeVar("AnyFunction", bound=Function)
_FUNCTIONS: dict[str, Function] = {}


def register(function: AnyFunction) -> AnyFunction:
    if function.name in _FUNCTIONS:
        raise ValueError(f"{function.name} is registered twice")
    _FUNCTIONS[function.name] = function
    return function


def functions() -> list[Function]:
    """Every registered function, by name."""
    return [_FUNCTIONS[name] for name in sorted(_FUNCTIONS)]


def function_named(name: str) -> Function:
    return _FUNCTIONS[name]
