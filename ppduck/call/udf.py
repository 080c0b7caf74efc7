"""Python functions that DuckDB calls while a statement runs, as values that a function's registration holds."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Protocol

from ppduck.call.spec import Spec
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.values import Array

Noise = Literal["keyed", "seeded"]
Unsigned = Annotated[int, "UBIGINT"]
_TYPES = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN", Array: "DOUBLE[]"}


@frozen
class Udf:
    """A Python function, and the types of its arguments and of its result as DuckDB writes them.

    One that ``told_udf`` makes is called for a row at a time; what it notes is said once for all rows, and it ends when
    its connection is interrupted. Others are called with whole columns, as Arrow has them; one with ``noise`` gets it
    first: that of the owner's secret, or the one that anybody can generate.
    """

    name: str
    call: Callable[..., Any]
    takes: Sequence[str]
    gives: str
    noise: Noise | None = None
    spec: type[Spec] | None = None
    told: type[Any] | None = None

    def in_sql(self, spec: Spec, told: dict[str, sql.Expr]) -> sql.Expr:
        """The call in SQL of a function that ``told_udf`` made: a field of its input for each of these."""
        wanted = told_types(self.told)  # type: ignore[arg-type]
        if set(told) != set(wanted):
            raise TypeError(f"{self.name} is told {sorted(told)}, and wants {sorted(wanted)}")
        own = {name: sql.cast(told[name], type_) for name, type_ in wanted.items()}
        return sql.call(self.name, sql.text(spec.text()), sql.struct(own))


def told_udf(
    name: str, call: Callable[[Any, Any], Any], spec: type[Spec], told: type[Any], gives: str
) -> Udf:
    """A function of two arguments: what is known of the call, and what SQL tells of a group of rows, a dataclass.

    SQL's types follow from the dataclass: int is BIGINT, Unsigned UBIGINT, float DOUBLE, Array DOUBLE[] as an array
    in which NULL is NaN, list[float | None] DOUBLE[] as a list.
    """
    fields = ", ".join(f'"{each}" {type_}' for each, type_ in told_types(told).items())
    return Udf(name, call, ("VARCHAR", f"STRUCT({fields})"), gives, spec=spec, told=told)


class Typed(Protocol):
    """A name with a type of DuckDB's, such as a result of a function."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...


def row_type(results: Iterable[Typed]) -> str:
    """The type of a struct of these, for a UDF that gives one."""
    return "STRUCT(" + ", ".join(f'"{each.name}" {each.type}' for each in results) + ")"


def rows_type(results: Iterable[Typed]) -> str:
    """The type of a list of them."""
    return f"{row_type(results)}[]"


def told_types(told: type[Any]) -> dict[str, str]:
    """DuckDB's types of a dataclass, by field."""
    return {name: _written(hint) for name, hint in told_hints(told).items()}


def told_hints(told: type[Any]) -> dict[str, Any]:
    """Python's types of a dataclass, by field."""
    return _hints(told)  # type: ignore[arg-type]


@cache
def _hints(told: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(told, include_extras=True)
    return {each.name: hints[each.name] for each in dataclasses.fields(told)}


def _written(hint: Any) -> str:
    if hint in _TYPES:
        return _TYPES[hint]
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return str(inside[1])
    if origin in (types.UnionType, typing.Union):
        [own] = [each for each in inside if each is not types.NoneType]
        return _written(own)
    if origin in (list, Sequence):
        return f"{_written(inside[0])}[]"
    raise TypeError(f"no type of DuckDB stands for {hint}")
