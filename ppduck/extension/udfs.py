"""Python functions as DuckDB takes them: Arrow in, Arrow out, with notes gathered and interrupts heeded."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from sqlglot import exp

from ppduck import interrupts
from ppduck.call.udf import Udf, told_hints
from ppduck.kernels.noise import KeyedNoise
from ppduck.notes import Speaker
from ppduck.values import Array

_Type = exp.DataType.Type
_ARROW = {
    _Type.BIGINT: pa.int64(),
    _Type.BOOLEAN: pa.bool_(),
    _Type.DOUBLE: pa.float64(),
    _Type.UBIGINT: pa.uint64(),
    _Type.TEXT: pa.string(),
}


def callable_by_duckdb(
    udf: Udf, speaker: Speaker, noise: Callable[[], KeyedNoise]
) -> Callable[..., Any]:
    """The function that DuckDB is to call, as an Arrow function."""
    if udf.told is not None:
        return _told(udf, speaker)
    if udf.noise is None:
        return udf.call
    return _counted(lambda *columns: udf.call(noise(), *columns), len(udf.takes))


def _told(udf: Udf, speaker: Speaker) -> Callable[..., pa.Array]:
    """A function of a specification and a dataclass, over a column of structs."""
    spec, told = udf.spec, udf.told
    assert spec is not None
    assert told is not None
    as_arrays = {name: _is_array(hint) for name, hint in told_hints(told).items()}

    def rows(texts: Any, structs: Any) -> pa.Array:
        found = []
        with speaker.gathering(), interrupts.at_work(texts[0].as_py() if len(texts) else None):
            whole = structs.combine_chunks() if isinstance(structs, pa.ChunkedArray) else structs
            columns = [
                [_array(value) if as_array else value.as_py() for value in whole.field(name)]
                for name, as_array in as_arrays.items()
            ]
            for text, *values in zip(texts, *columns, strict=True):
                interrupts.check_interrupt()  # a batch may be two thousand groups
                found.append(udf.call(spec.read(text.as_py()), told(*values)))
        return pa.array(found, type=arrow_type(udf.gives))

    rows.__signature__ = _signature(2)  # type: ignore[attr-defined]
    return rows


def _is_array(hint: Any) -> bool:
    return Array in (hint, *typing.get_args(hint))


def _array(value: Any) -> Any:
    return None if value.values is None else value.values.to_numpy(zero_copy_only=False)


def _counted(function: Callable[..., Any], size: int) -> Callable[..., Any]:
    """With as many parameters as DuckDB is to count."""

    def counted(*columns: Any) -> Any:
        return function(*columns)

    counted.__signature__ = _signature(size)  # type: ignore[attr-defined]
    return counted


@functools.cache
def _signature(size: int) -> inspect.Signature:
    """Of so many parameters. DuckDB asks each function for one, and to find it out takes longer."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(f"c{i}", kind) for i in range(size)])


@functools.cache
def arrow_type(written: str) -> pa.DataType:
    """A type as Arrow has it, from what DuckDB writes for it."""
    return _arrow(exp.DataType.build(written, dialect="duckdb"))


def _arrow(type_: exp.DataType) -> pa.DataType:
    if type_.this == _Type.ARRAY:
        return pa.list_(_arrow(type_.expressions[0]))
    if type_.this == _Type.STRUCT:
        return pa.struct([(field.name, _arrow(field.args["kind"])) for field in type_.expressions])
    return _ARROW[type_.this]
