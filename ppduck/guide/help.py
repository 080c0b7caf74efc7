"""ppduck_help(): what there is to know of one function, where it is used: in SQL."""

from __future__ import annotations

from collections.abc import Iterator

from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Function, Kind, Result, functions, presented, register
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, near_miss
from ppduck.query import tree as sql
from ppduck.query.text_rows import text_rows

NAME = "ppduck_help"
REQUIRED = "required"
RESULTS = (
    Result(
        "section",
        "VARCHAR",
        "what is told: signature, summary, parameter, result, guarantee, reference, example",
    ),
    Result("name", "VARCHAR", "of the function, the parameter or the column of the result"),
    Result("description", "VARCHAR", "what there is to know"),
    Result("default_value", "VARCHAR", "of a parameter, or that it is required"),
    Result(
        "takes", "VARCHAR", "which values a parameter takes; of a column of the result, its type"
    ),
)
Row = tuple[str, str | None, str, str | None, str | None]


@parameters
class HelpCall(Call):
    name: str | None = parameter(
        arguments.words, "the name of a function; without it, all of them are listed", None
    )


def plan(catalog: Catalog, call: HelpCall) -> sql.Expr:
    return text_rows(
        [each.name for each in RESULTS], overview() if call.name is None else rows(call.name)
    )


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
    for each in function.parameters:
        yield (
            "parameter",
            each.name,
            each.doc,
            REQUIRED if each.default is None else each.default,
            each.takes,
        )
    for result in function.results:
        meaning = f"{result.meaning}; only {result.when}" if result.when else result.meaning
        yield "result", result.name, meaning, None, result.type
    keeps, loses = function.promised()
    yield from (("guarantee", None, text, None, None) for text in keeps)
    yield from (("not guaranteed", None, text, None, None) for text in loses)
    if function.reference:
        yield "reference", None, function.reference, None, None
    example = function.example
    if example:
        yield "example", None, example, None, None


FUNCTION = register(
    Function(
        NAME,
        HelpCall,
        plan,
        "Help for one function: signature, parameters with ranges and defaults, guarantees, reference, example.",
        "",
        kind=Kind.HELP,
        results=RESULTS,
        example="FROM ppduck_help('egadp_mask')",
    )
)
