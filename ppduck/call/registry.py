"""The functions that ppduck adds to SQL. A file registers its function; macros, help and all else read it here.

Files are found by walking the rooms that hold functions, when the first function is asked for.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from typing import Any, Protocol, TypeVar

from ppduck.call.arguments import read_arguments, read_call, read_texts
from ppduck.call.guarantees import Guarantee, Loss, Promise
from ppduck.call.parameters import Call, Parameter, parameters_of
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.frozen import frozen
from ppduck.query import tree as sql


class Stages(Protocol):
    """A plan whose stages another engine can run; of masks, that of ``ppduck.stages.plan``."""

    def query(self) -> sql.Expr:
        """All of it as one statement."""
        ...


Explain = Callable[[Any, Catalog, Any], sql.Expr]


class Kind(Enum):
    """What a function is for."""

    MASK = "mask"  # gives a table to release
    ESTIMATOR = "estimator"  # gives what was there before randomization
    MEASURE = "measure"  # gives figures
    CHECK = "check"  # gives a verdict that a pipeline or a person acts on
    HELP = "help"


@frozen
class Result:
    """A column of what a function answers: its name, its type as DuckDB writes it, and what it means."""

    name: str
    type: str
    meaning: str
    when: str = ""  # in which calls it is there, where not in all


@frozen
class Function:
    """A table function: how it is called, what it plans, and what a user can read about it.

    One value holds all that is known of it; whatever else speaks of functions reads it here.
    """

    name: str
    takes: type[Call] | Callable[[], tuple[Parameter, ...]]  # of mask_explain, what all masks take
    plan: Callable[[Catalog, Any], sql.Expr | Stages]
    summary: str
    reference: str
    kind: Kind = field(default=Kind.MEASURE, kw_only=True)
    # of a mask none: it gives the table's own columns
    results: tuple[Result, ...] = field(default=(), kw_only=True)
    example: str = field(default="", kw_only=True)  # a statement over the demo tables
    keeps: tuple[Guarantee, ...] = field(default=(), kw_only=True)
    loses: tuple[Loss, ...] = field(default=(), kw_only=True)
    # its own, that its plan has DuckDB call
    udfs: tuple[Udf, ...] = field(default=(), kw_only=True)
    # Of a mask: what a call would do with each column, as (column_name, role, note); from itself, catalogue and call.
    explain: Explain | None = field(default=None, kw_only=True)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """In the order of a call by place; some are known only when all functions are."""
        return parameters_of(self.takes) if isinstance(self.takes, type) else self.takes()

    def read(self, texts: Sequence[str | None], catalog: Catalog) -> Any:
        """The values that a call gives, from the texts of its arguments: by place, then by name."""
        if isinstance(self.takes, type):
            return read_call(self.name, self.takes, texts, catalog.constant)
        return read_arguments(self.name, self.parameters, texts, catalog.constant)

    def promises(self, promise: Promise, call: Any) -> bool:
        """Whether a call of a mask promises this."""
        return any(each.promise is promise for each in self.kept(call))

    def kept(self, call: Any) -> list[Guarantee]:
        """What a call of a mask promises."""
        return [each for each in self.keeps if each.when(call)]

    def lost(self, call: Any) -> list[Loss]:
        """What a call of a mask does not promise."""
        return [each for each in self.loses if each.when(call)]

    def promised(self) -> tuple[list[str], list[str]]:
        """What is kept and what is lost, as help tells it of all calls."""
        return [str(each) for each in self.keeps], [str(each) for each in self.loses]

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(parameter.signature for parameter in self.parameters)})"


@frozen
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
    "ppduck.attacks",
    "ppduck.gate",
    "ppduck.policy",
    "ppduck.guide",
)
AnyFunction = TypeVar("AnyFunction", bound=Function)
_FUNCTIONS: dict[str, Function] = {}
# the functions of each package, in the order in which packages were asked for
_found: dict[str, list[str]] = {}


def register(function: AnyFunction) -> AnyFunction:
    if function.name in _FUNCTIONS:
        raise ValueError(f"{function.name} is registered twice")
    if (function.kind is Kind.MASK) != (function.explain is not None):
        raise ValueError(f"{function.name}: masks, and no others, explain a call")
    _FUNCTIONS[function.name] = function
    return function


def discover(package: str) -> None:
    """Registers all functions of a package, once; your own become part of ppduck before the next ``ppduck.load``."""
    if package in _found:
        return
    _found[package] = []
    known = set(_FUNCTIONS)
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(module.name)
    _found[package] += sorted(set(_FUNCTIONS) - known)


def functions() -> list[Function]:
    """Every function, by name."""
    _discover_all()
    return [_FUNCTIONS[name] for name in sorted(_FUNCTIONS)]


def presented() -> list[Function]:
    """Every function, room by room: what belongs together stands together."""
    _discover_all()
    placed = [name for names in _found.values() for name in names]
    return [_FUNCTIONS[name] for name in [*placed, *sorted(set(_FUNCTIONS) - set(placed))]]


def masks() -> dict[str, Function]:
    """Every mask, by name."""
    return {function.name: function for function in functions() if function.kind is Kind.MASK}


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
