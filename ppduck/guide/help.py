"""ppduck_help(): what there is to know of one function, where it is used: in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ppduck.call import arguments
from ppduck.call.numeric_mask import NumericMask
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, PlainMacro, functions, register
from ppduck.catalogue.tables import Catalog
from ppduck.designs.mechanism import RandomizingMask
from ppduck.errors import Faults, near_miss
from ppduck.guide import explain_response
from ppduck.guide.examples import EXAMPLES
from ppduck.masks._quasi import GroupingMask
from ppduck.query import tree as sql

NAME = "ppduck_help"
COLUMNS = ("section", "name", "description", "default_value", "takes")
REQUIRED = "required"
Row = tuple[str, str | None, str, str | None, str | None]


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    told = sql.table_of(COLUMNS, rows(given["name"]) if "name" in given else overview())
    # A column without a value in it would not be of text.
    texts = [sql.named(sql.cast(sql.column(each), "VARCHAR"), each) for each in COLUMNS]
    return sql.select(texts, f"({told})")


def presented() -> list[Function]:
    """Every function, in the order of the examples: what belongs together stands together."""
    place = {name: i for i, name in enumerate(EXAMPLES)}
    return sorted(functions(), key=lambda function: place.get(function.name, len(place)))


def overview() -> list[Row]:
    return [("function", function.name, function.summary, None, None) for function in presented()]


def rows(name: str) -> list[Row]:
    """The help for one function, a row for each thing to know."""
    known = {function.name: function for function in functions()}
    function = known.get(name.strip().casefold())
    if function is None:
        raise Faults(NAME).refuse(
            f"there is no function {name!r}.{near_miss(name, known)} FROM {NAME}() lists all of them."
        )
    return list(_rows(function))


def _rows(function: Function) -> Iterator[Row]:
    yield "signature", function.name, function.signature, None, None
    yield "summary", function.name, function.summary, None, None
    for parameter in function.parameters:
        default = REQUIRED if parameter.default is None else parameter.default
        yield "parameter", parameter.name, parameter.doc, default, parameter.takes
    keeps, loses = _promises(function)
    yield from (("guarantee", None, text, None, None) for text in keeps)
    yield from (("not guaranteed", None, text, None, None) for text in loses)
    if function.reference:
        yield "reference", None, function.reference, None, None
    if function.name in EXAMPLES:
        yield "example", None, EXAMPLES[function.name], None, None


def _promises(function: Function) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a mask guarantees and what it does not; nothing for functions that mask nothing."""
    if isinstance(function, (NumericMask, GroupingMask, PlainMacro)):
        return tuple(map(str, function.keeps)), tuple(map(str, function.loses))
    if isinstance(function, RandomizingMask):
        return explain_response.KEPT, explain_response.LOST
    return (), ()


FUNCTION = register(
    Function(
        NAME,
        (Parameter("name", arguments.words, "the name of a function; without it, all of them are listed", "NULL"),),
        plan,
        "Help for one function: signature, parameters with ranges and defaults, guarantees, reference, example.",
        "",
    )
)
