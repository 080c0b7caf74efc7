"""The parameters of a function: declared once, as the fields of a dataclass, which a call's arguments then fill.

    @parameters
    class KimCall(NumericCall):
        level: PerColumn = LEVEL
        corrected: bool = parameter(flag, "restore the original means and variances", False)

``tbl`` and what else a base class declares comes first, then a class's own, then what the base calls ``last``: in this
order a call by place gives them. A default is a Python value; help, macros and messages show it as SQL.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from enum import Enum
from typing import Any, TypeVar, dataclass_transform

from ppduck.call.ranges import Range
from ppduck.frozen import frozen

_OF_FIELD = "parameter"


class _Required:
    """The default of a parameter that has none."""


REQUIRED = _Required()


class MisreadError(Exception):
    """A value that a parameter does not take. The text says why; without text, its reader says what it takes."""


class NotTakenError(MisreadError):
    """A value of another kind than its parameter takes."""


class ColumnNames(Enum):
    """Where a value has names of columns."""

    LISTED = "a name, or a list of them"
    KEYED = "before the colons of {'column': value}"


class Reader:
    """Reads the value of a parameter, and says in words what it takes: one source for messages and for help.

    What programs ask of it stands beside the words: the range of the numbers among what it takes, the texts if it takes
    no others, and where names of columns stand.
    """

    def __init__(
        self,
        takes: str,
        read: Callable[[Any], Any],
        within: Range | None = None,
        *,
        options: tuple[str, ...] = (),
        columns: ColumnNames | None = None,
    ) -> None:
        self.takes = takes
        self.within = within
        self.options = options
        self.columns = columns
        self._read = read

    def __call__(self, value: Any) -> Any:
        try:
            return self._read(value)
        except MisreadError as misread:
            # Of a reader made of others, the outermost says what is taken.
            if misread.args and not isinstance(misread, NotTakenError):
                raise
            raise NotTakenError(f"takes {self.takes}") from None


@frozen
class Parameter:
    """One parameter: its name, how its value is read, what it means, and its default as a user would write it."""

    name: str
    read: Callable[[Any], Any]
    doc: str
    default: str | None = None  # None for a required parameter
    value: Any = REQUIRED  # the default as Python has it
    last: bool = False  # stands behind those of a class's own
    given: bool = True  # false of one that a function has a fixed value for

    @property
    def signature(self) -> str:
        return self.name if self.default is None else f"{self.name} := {self.default}"

    @property
    def takes(self) -> str | None:
        """Which values it takes, in words; None where its reader does not say."""
        return self.read.takes if isinstance(self.read, Reader) else None

    @property
    def options(self) -> tuple[str, ...]:
        """The texts that it takes, where it takes no others."""
        return self.read.options if isinstance(self.read, Reader) else ()

    @property
    def columns(self) -> ColumnNames | None:
        """Where its value has names of columns, if it has."""
        return self.read.columns if isinstance(self.read, Reader) else None


def parameter(
    read: Callable[[Any], Any], doc: str, default: Any = REQUIRED, *, last: bool = False
) -> Any:
    """A field of a class of parameters; without a default it must be given."""
    return Parameter(
        "", read, doc, None if default is REQUIRED else written(default), default, last
    )


def fixed(value: Any) -> Any:
    """A field that a base class lets users give and this function does not: it has this value in every call."""
    return Parameter("", _untaken, "", written(value), value, given=False)


def _untaken(value: Any) -> Any:
    raise MisreadError


def written(value: Any) -> str:
    """A default as SQL; one that only says that nothing was given is NULL."""
    if value is None or (isinstance(value, (tuple, dict)) and not value):
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    return repr(int(value) if isinstance(value, float) and value.is_integer() else value)


@frozen
class Call:
    """The arguments of one call, defaults filled in."""


AnyCall = TypeVar("AnyCall", bound=Call)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def parameters(cls: type[AnyCall]) -> type[AnyCall]:
    """Makes a dataclass whose fields are parameters."""
    for name in inspect.get_annotations(cls):
        declared = cls.__dict__.get(name)
        if not isinstance(declared, Parameter):
            raise TypeError(f"{cls.__name__}.{name} needs parameter(…)")
        # class_, because Python keeps class
        own = dataclasses.replace(declared, name=name.removesuffix("_"))
        default = dataclasses.MISSING if own.value is REQUIRED else own.value
        setattr(cls, name, field(default=default, metadata={_OF_FIELD: own}))
    return frozen(kw_only=True)(cls)


def parameters_of(call: type[Call]) -> tuple[Parameter, ...]:
    """The parameters of a class, in the order of a call by place."""
    declared = [each.metadata[_OF_FIELD] for each in fields(call)]
    return tuple(sorted((each for each in declared if each.given), key=lambda each: each.last))


def call_of(call: type[AnyCall], values: Mapping[str, Any]) -> AnyCall:
    """A call of these values, by the names of the parameters."""
    names = {each.metadata[_OF_FIELD].name: each.name for each in fields(call)}
    return call(**{names[name]: value for name, value in values.items()})


def own_parameters(call: type[Call], common: type[Call]) -> tuple[str, ...]:
    """The names that a class adds to those of a base class."""
    shared = {each.name for each in parameters_of(common)}
    return tuple(each.name for each in parameters_of(call) if each.name not in shared)
