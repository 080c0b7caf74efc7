"""The functions that ppduck adds to SQL. A file registers its function; macros, help and all else read it here.

Files are found by walking the rooms that hold functions, when the first function is asked for.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from ppduck.call.arguments import read_arguments, read_call, read_texts
from ppduck.call.guarantees import Guarantee, Loss, Promise
from ppduck.call.parameters import Call, Parameter, parameters_of
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.query import tree as sql


class Kind(Enum):
    """What a function is for."""

    MASK = "mask"
    ESTIMATOR = "estimator"
    MEASURE = "measure"
    CHECK = "check"
    HELP = "help"


@dataclass(frozen=True)
class Result:
    """A column of what a function answers: its name, its type as DuckDB writes it, and what it means."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True)
class Function:
    """A table function: how it is called, what it plans, and what a user can read about it.

    One value holds all that is known of it; whatever else speaks of functions reads it here.
    """

    name: str
    takes: type[Call] | tuple[Parameter, ...] | Callable[[], tuple[Parameter, ...]]
    plan: Callable[[Catalog, Any], str | sql.Expr]
    summary: str
    reference: str
    kind: Kind = field(default=Kind.MEASURE, kw_only=True)
    results: tuple[Result, ...] = field(default=(), kw_only=True)  # of a mask none: it gives the table's own columns
    example: str = field(default="", kw_only=True)  # a statement over the demo tables
    keeps: tuple[Guarantee | str, ...] = field(default=(), kw_only=True)
    loses: tuple[Loss | str, ...] = field(default=(), kw_only=True)
    udfs: tuple[Udf, ...] = field(default=(), kw_only=True)  # what its plan has DuckDB call

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """In the order of a call by place; some are known only when all functions are."""
        if isinstance(self.takes, type):
            return parameters_of(self.takes)
        return self.takes() if callable(self.takes) else self.takes

    def read(self, texts: Sequence[str | None], catalog: Catalog) -> Any:
        """The values that a call gives, from the texts of its arguments: by place, then by name."""
        if isinstance(self.takes, type):
            return read_call(self.name, self.takes, texts, catalog.constant)
        return read_arguments(self.name, self.parameters, texts, catalog.constant)

    def promises(self, promise: Promise, call: Any) -> bool:
        """Whether a call of a mask promises this."""
        return any(isinstance(each, Guarantee) and each.promise is promise and each.when(call) for each in self.keeps)

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(parameter.signature for parameter in self.parameters)})"


@dataclass(frozen=True)
class PlainMacro(Function):
    """A function that is a macro of ``sql/ppduck.sql``: it needs no Python but to understand ``=`` in a call."""

    def read(self, texts: Sequence[str | None], catalog: Catalog) -> dict[str, Any]:
        """The arguments as they were written: the macro itself judges their values."""
        return read_texts(self.name, self.parameters, texts)


# The packages whose modules hold functions. They are above this one, so that they are named and not imported.
ROOMS = (
    "ppduck.masks",
    "ppduck.estimators",
    "ppduck.association",
    "ppduck.disclosure",
    "ppduck.anonymity",
    "ppduck.measures",
    "ppduck.gate",
    "ppduck.guide",
)
AnyFunction = TypeVar("AnyFunction", bound=Function)
_FUNCTIONS: dict[str, Function] = {}
_found: set[str] = set()  # packages


def register(function: AnyFunction) -> AnyFunction:
    if function.name in _FUNCTIONS:
        raise ValueError(f"{function.name} is registered twice")
    _FUNCTIONS[function.name] = function
    return function


def discover(package: str) -> None:
    """Registers all functions of a package, once; your own become part of ppduck before the next ``ppduck.load``."""
    if package in _found:
        return
    _found.add(package)
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(module.name)


def functions() -> list[Function]:
    """Every function, by name."""
    _discover_all()
    return [_FUNCTIONS[name] for name in sorted(_FUNCTIONS)]


def udfs() -> list[Udf]:
    """What the plans of all functions have DuckDB call, each once."""
    found = {udf.name: udf for function in functions() for udf in function.udfs}
    return list(found.values())


def function_named(name: str) -> Function:
    _discover_all()
    return _FUNCTIONS[name]


def _discover_all() -> None:
    for room in ROOMS:
        discover(room)
