"""The plain SQL macros of ``sql/ppduck.sql``, which any DuckDB shell can read and ppduck loads as temporary ones.

A macro knows no ``qi=[…]``, only ``qi := […]``. Where ppduck is loaded, each therefore has a name of its own, and under
the one that users know stands a planned function, which reads the arguments and calls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from functools import cache
from importlib import resources

from ppduck.call.guarantees import Guarantee, Loss
from ppduck.call.parameters import Call, Parameter
from ppduck.call.registry import Kind, PlainMacro, Result, register
from ppduck.query.whole_names import foreign, qualified_within, systems

_WORD = re.compile(r"\w+")
_CREATE = re.compile(r"CREATE OR REPLACE MACRO (\w+)\(")
OWN = "_pp_plain_"


@cache
def text() -> str:
    return resources.files("ppduck.sql").joinpath("ppduck.sql").read_text(encoding="utf-8")


def as_temporary(statements: Sequence[str], wanted: Iterable[str], builtins: Set[str]) -> list[str]:
    """The statements that make temporary macros of these, each under its ``own_name``, and of the helpers they call.

    Every one of the ``builtins`` that they call is qualified, in the SQL that they write too.
    """
    wanted = frozenset(wanted)
    needed = set(wanted)
    found = []
    for statement in reversed(statements):  # a helper stands before those that call it
        created = _CREATE.search(statement)
        if created and created[1] in needed:
            needed |= set(_WORD.findall(statement))
            found.append((created[1], statement[created.end() :]))
    names = {name: own_name(name) if name in wanted else name for name, _ in found}
    made = []
    for name, rest in reversed(found):
        body = qualified_within(
            rest,
            lambda called: f"temp.main.{names[called]}" if called in names else systems(called),
            lambda called: called in names or called.casefold() in builtins,
        )
        made.append(f"CREATE OR REPLACE TEMP MACRO {names[name]}({body}")
    return made


def own_name(macro: str) -> str:
    return f"{OWN}{macro}"


def plain_macro(
    name: str,
    takes: type[Call] | tuple[Parameter, ...],
    summary: str,
    reference: str,
    *,
    kind: Kind = Kind.MEASURE,
    results: tuple[Result, ...] = (),
    example: str = "",
    keeps: tuple[Guarantee | str, ...] = (),
    loses: tuple[Loss | str, ...] = (),
) -> PlainMacro:
    """Registers a macro of the file; loading it is the extension's work."""

    def plan(catalog: object, given: dict[str, str]) -> str:
        arguments = ", ".join(f"{parameter} := {foreign(text)}" for parameter, text in given.items())
        return f"FROM {own_name(name)}({arguments})"

    macro = PlainMacro(
        name, takes, plan, summary, reference,
        kind=kind, results=results, example=example, keeps=keeps, loses=loses,
    )  # fmt: skip
    register(macro)
    return macro
