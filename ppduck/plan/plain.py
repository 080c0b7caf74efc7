"""The plain SQL macros of ``sql/ppduck.sql``, which any DuckDB shell can read and ppduck loads as temporary ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from functools import cache
from importlib import resources

from ppduck.plan.arguments import Parameter
from ppduck.plan.qualified import qualified_within, systems
from ppduck.plan.registry import PlainMacro, register

_WORD = re.compile(r"\w+")
_CREATE = re.compile(r"CREATE OR REPLACE MACRO (\w+)\(")
_OUTERMOST = "CASE WHEN problem IS NULL"  # what _pp_sql begins with


@cache
def text() -> str:
    return resources.files("ppduck.sql").joinpath("ppduck.sql").read_text(encoding="utf-8")


def as_temporary(statements: Sequence[str], wanted: Iterable[str], builtins: Set[str], guard: str) -> list[str]:
    """The statements that make temporary macros of these names, and of the helpers that they call.

    Every one of the ``builtins`` that they call is qualified, in the SQL that they write too. ``guard`` is a condition
    for each call.
    """
    needed = set(wanted)
    found = []
    for statement in reversed(statements):  # a helper stands before those that call it
        created = _CREATE.search(statement)
        if created and created[1] in needed:
            needed |= set(_WORD.findall(statement))
            found.append((created[1], statement[created.end() :]))
    own = {name for name, _ in found}
    made = []
    for name, rest in reversed(found):
        body = qualified_within(
            rest,
            lambda called: f"temp.main.{called}" if called in own else systems(called),
            lambda called: called in own or called.casefold() in builtins,
        )
        if name == "_pp_sql":
            body = body.replace(_OUTERMOST, f"CASE WHEN {guard} AND problem IS NULL")
        made.append(f"CREATE OR REPLACE TEMP MACRO {name}({body}")
    return made


def plain_macro(
    name: str,
    parameters: tuple[Parameter, ...],
    summary: str,
    reference: str,
    *,
    keeps: tuple[str, ...] = (),
    loses: tuple[str, ...] = (),
) -> PlainMacro:
    """Registers a macro of the file, for the catalogue; loading it is the extension's work."""

    def plan(catalog: object, given: object) -> str:
        raise NotImplementedError(f"{name} is plain SQL and is never planned")

    macro = PlainMacro(name, parameters, plan, summary, reference, keeps, loses)
    register(macro)
    return macro
