"""mask_explain(): what a masking call would do with each column, before it is run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.parameters import Call, ColumnNames, MisreadError, Parameter, Reader
from ppduck.call.registry import Explain, Function, Kind, Result, masks, register
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, listed, near_miss
from ppduck.frozen import frozen
from ppduck.query import tree as sql

NAME = "mask_explain"
UNTOLD = ("secret",)  # an explanation needs none, and it would stand in the query's text


@frozen
class Asked:
    """A mask, and the arguments that it is to read itself."""

    mask: str
    arguments: dict[str, Any]

    @classmethod
    def of(cls, mask: str, **arguments: Any) -> Asked:
        return cls(mask, arguments)


def plan(catalog: Catalog, given: dict[str, Any]) -> sql.Expr:
    asked = Asked.of(**given)
    mask = _mask(asked.mask)
    own = _own_arguments(mask, asked.arguments)
    explain = cast(Explain, mask.explain)  # which every mask has
    return explain(mask, catalog, cast(type[Call], mask.takes)(**own))


def _mask(name: str) -> Function:
    known = masks()
    if name not in known:
        raise Faults(NAME).refuse(
            f"there is no mask {name!r}.{near_miss(name, known)} Masks: {listed(known)}."
        )
    return known[name]


def _own_arguments(mask: Function, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the mask itself reads them: the explanation takes what any mask takes."""
    faults = Faults(NAME)
    known = {parameter.name: parameter for parameter in mask.parameters}
    own = {}
    for name, value in given.items():
        if name not in known:
            faults.add(f"{mask.name} has no parameter {name!r}.")
            continue
        try:
            own[name] = known[name].read(value)
        except MisreadError as misread:
            faults.add(f"{name} of {mask.name} {misread}, got {value!r}.")
    for parameter in mask.parameters:
        if parameter.default is None and parameter.name not in (*given, *UNTOLD):
            faults.add(f"parameter {parameter.name!r} of {mask.name} is missing: {parameter.doc}.")
    faults.raise_if_any()
    return own | {name: "" for name in UNTOLD if name in known}


def _as_it_is(columns: ColumnNames | None) -> Reader:
    """Hands a value to the mask."""
    return Reader("what the mask takes", lambda value: value, columns=columns)


def _parameters() -> tuple[Parameter, ...]:
    """tbl and conf first, then whatever any mask takes, to be read by the mask itself."""
    docs: dict[str, dict[str, None]] = {"conf": {"the columns to mask": None}}
    columns: dict[str, ColumnNames | None] = {}
    for function in masks().values():
        for parameter in function.parameters[1:]:
            columns[parameter.name] = columns.get(parameter.name) or parameter.columns
            if parameter.name not in ("conf", *UNTOLD):
                docs.setdefault(parameter.name, {})[parameter.doc] = None
    mask = Parameter("mask", arguments.words, "the name of a mask, such as 'egadp_mask'")
    table = replace(TABLE, name="tbl")
    return (
        mask,
        table,
        *(
            Parameter(name, _as_it_is(columns[name]), _either(own), "NULL")
            for name, own in docs.items()
        ),
    )


def _either(docs: Iterable[str]) -> str:
    """What a parameter means, all of it: p is a probability for one mask, and a share of the ranks for another."""
    every = list(docs)
    return "; or ".join(
        doc for doc in every if not any(other != doc and other.startswith(doc) for other in every)
    )


RESULTS = (
    Result(
        "column_name",
        "VARCHAR",
        "a column of the table, or what the noise goes by; NULL for what holds of all",
    ),
    Result("role", "VARCHAR", "what it is to the mask, or whether something is guaranteed"),
    Result("note", "VARCHAR", "what becomes of it, or what is guaranteed"),
)
FUNCTION = register(
    Function(
        NAME,
        _parameters,
        plan,
        "What a masking call does with each column, which key its noise has, what is guaranteed and what is not.",
        "",
        kind=Kind.HELP,
        results=RESULTS,
        example="FROM mask_explain('egadp_mask', 'customers', conf=['x1','x2'])",
    )
)
