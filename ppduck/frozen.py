"""``@frozen`` is ``@dataclass(frozen=True)``, with methods that all classes share; a field has a default at most.

``dataclass`` writes six methods for each class and compiles them: of two hundred classes that was a third of the time
that it took to import ppduck.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from typing import Any, TypeVar, dataclass_transform, overload

AnyClass = TypeVar("AnyClass", bound=type[Any])


def _init(self: Any, *given: Any, **named: Any) -> None:
    own, fields = self.__dict__, self.__dataclass_fields__
    own.update(zip(self.__match_args__, given, strict=False))
    own.update(named)
    twice = len(own) < len(given) + len(named)  # or more are given than there are places
    if twice or not own.keys() <= fields.keys():
        raise TypeError(_misfit(self, given, named))
    if len(own) < len(fields):
        for name, each in fields.items():
            if name not in own:
                own[name] = _default(self, each)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _default(self: Any, missing: Field[Any]) -> Any:
    if missing.default is not MISSING:
        return missing.default
    if missing.default_factory is not MISSING:
        return missing.default_factory()
    raise TypeError(f"{type(self).__name__}: {missing.name} is missing")


def _misfit(self: Any, given: tuple[Any, ...], named: dict[str, Any]) -> str:
    places, name = self.__match_args__, type(self).__name__
    if len(given) > len(places):
        return f"{name} has {len(places)} places, and {len(given)} values are given"
    unknown = named.keys() - self.__dataclass_fields__.keys()
    if unknown:
        return f"{name} has no {', '.join(sorted(unknown))}"
    return f"{name}: {', '.join(each for each in places[: len(given)] if each in named)} is given twice"


def _setattr(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _values(self: Any) -> tuple[Any, ...]:
    own = self.__dict__
    return tuple(own[name] for name in self.__dataclass_fields__)


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = zip(self.__dataclass_fields__, _values(self), strict=True)
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in shown)})"


_SHARED: dict[str, Callable[..., Any]] = {
    "__init__": _init,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
}


@overload
def frozen(cls: AnyClass) -> AnyClass: ...


@overload
def frozen(*, kw_only: bool) -> Callable[[AnyClass], AnyClass]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, *, kw_only: bool = False) -> Any:
    """Makes a dataclass whose values do not change; what a class defines itself stays."""

    def made(cls: Any) -> Any:
        own = vars(cls)
        for name, method in _SHARED.items():
            if own.get(name) is None:  # Python sets __hash__ to None beside an __eq__
                setattr(cls, name, method)
        # else dataclass makes one from the signature, which takes long
        cls.__doc__ = cls.__doc__ or cls.__name__
        return dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)

    return made if cls is None else made(cls)
