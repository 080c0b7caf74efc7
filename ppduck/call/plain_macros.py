"""The plain SQL macros of ``sql/ppduck.sql``, which any DuckDB shell can read and ppduck loads as temporary ones.

A macro knows no ``qi=[…]``, only ``qi := […]``. Where ppduck is loaded, each therefore has a name of its own, and under
the one that users know stands a planned function, which reads the arguments and calls it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib import resources

from sqlglot import exp

from ppduck.call.guarantees import Guarantee, Loss
from ppduck.call.parameters import Call
from ppduck.call.registry import Explain, Kind, PlainMacro, Result, register
from ppduck.query import tree as sql
from ppduck.query.whole_names import qualified_within, systems, theirs

_WORD = re.compile(r"\w+")
_CREATE = re.compile(
    r"^CREATE OR REPLACE MACRO (\w+)\((.*?);\s*(?:--[^\n]*\s*)*(?=^CREATE|\Z)",
    re.DOTALL | re.MULTILINE,
)
# What is written like a call there and is none: words of messages, and steps of a query with their columns.
NO_CALLS = {"INT", "_pp_eliminated", "column", "getenv", "of_columns", "of_conf", "of_directions"}
OWN = "_pp_plain_"


@cache
def text() -> str:
    return resources.files("ppduck.sql").joinpath("ppduck.sql").read_text(encoding="utf-8")


@cache
def bodies() -> dict[str, str]:
    """What follows the opening parenthesis of each macro of the file, by name; a helper stands before its callers."""
    return {found[1]: found[2] for found in _CREATE.finditer(text())}


def as_temporary(macros: dict[str, str], wanted: Collection[str]) -> list[str]:
    """The statements that make temporary macros of these, each under its ``own_name``, and of the helpers they call.

    Every function of DuckDB's that they call is qualified, in the SQL that they write too.
    """
    needed = set(wanted)
    for name, body in reversed(macros.items()):
        if name in needed:
            needed |= set(_WORD.findall(body))
    names = {name: own_name(name) if name in wanted else name for name in macros if name in needed}

    @cache
    def home(called: str) -> str:
        return f"temp.main.{names[called]}" if called in names else systems(called)

    return [
        f"CREATE OR REPLACE TEMP MACRO {own}({qualified_within(macros[name], home, _is_called)}"
        for name, own in names.items()
    ]


def _is_called(name: str) -> bool:
    return name not in NO_CALLS


def own_name(macro: str) -> str:
    return f"{OWN}{macro}"


def plain_macro(
    name: str,
    takes: type[Call],
    summary: str,
    reference: str,
    *,
    kind: Kind = Kind.MEASURE,
    results: tuple[Result, ...] = (),
    example: str = "",
    keeps: tuple[Guarantee, ...] = (),
    loses: tuple[Loss, ...] = (),
    explain: Explain | None = None,
) -> PlainMacro:
    """Registers a macro of the file; loading it is the extension's work."""

    def plan(catalog: object, given: dict[str, str]) -> sql.Expr:
        told = (sql.argument(parameter, theirs(text)) for parameter, text in given.items())
        return sql.query([exp.Star()], sql.rows_of(own_name(name), *told))

    macro = PlainMacro(
        name, takes, plan, summary, reference,
        kind=kind, results=results, example=example, keeps=keeps, loses=loses, explain=explain,
    )  # fmt: skip
    register(macro)
    return macro
