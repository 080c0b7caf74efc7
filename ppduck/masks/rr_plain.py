"""rr_plain(): randomized response without Python; a plain macro of ``sql/ppduck.sql``.

As rr_mask, but that levels are always named, that key must be unique in every row, and that draws come from
HMAC-SHA-256 of the place of a value among its levels and of the key, keyed by secret, column, p and levels: the same
value of the same person is published alike however often it is read, and another design has draws of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.parameters import Call, MisreadError, parameter, parameters
from ppduck.call.plain_macros import plain_macro
from ppduck.call.ranges import Range
from ppduck.call.registry import Kind, PlainMacro
from ppduck.call.roles import resolve_columns
from ppduck.catalogue.tables import Catalog
from ppduck.designs import promises
from ppduck.errors import Faults
from ppduck.masks._plain import KEY, SECRET, explained_by
from ppduck.query import tree as sql

_SHARE = arguments.number(Range(0, 1, above=True, below=True))


@arguments.reader(f"{_SHARE.takes}, or a list of one for each column", _SHARE.within)
def shares(value: Any) -> float | list[float]:
    return [_SHARE(each) for each in value] if isinstance(value, list) else _SHARE(value)


@arguments.reader("a list of all levels, such as ['no', 'yes'], or a list of such lists")
def domains(value: Any) -> list[list[str]]:
    """One list for each column."""
    if not isinstance(value, list) or not value:
        raise MisreadError
    lists = value if all(isinstance(each, list) for each in value) else [value]
    if any(len(own) < 2 or any(isinstance(level, list) for level in own) for own in lists):
        raise MisreadError
    return [list(map(str, own)) for own in lists]


@parameters
class RrPlainCall(Call):
    tbl: str = TABLE
    conf: Sequence[str] = parameter(arguments.columns, "the columns to randomize")
    p: float | Sequence[float] = parameter(
        shares, "the probability of keeping a value, one number or a list of one for each column"
    )
    levels: Sequence[Sequence[str]] = parameter(
        domains,
        "all levels of the column as texts, or for several columns a list of such lists; another value is refused",
    )
    secret: str = SECRET
    key: Sequence[str] = KEY


def explained(mask: PlainMacro, catalog: Catalog, call: RrPlainCall) -> sql.Expr:
    source = catalog.source(mask.name, call.tbl)
    faults = Faults(mask.name, source.label)
    conf = resolve_columns(faults, source, "conf", call.conf)
    kept = call.p if isinstance(call.p, list) else [call.p] * len(conf)
    for name, given in (("p", kept), ("levels", call.levels)):
        if len(given) != len(call.conf):
            faults.add(
                f"{name} is given for {len(given)} columns, and conf names {len(call.conf)}."
            )
    faults.raise_if_any()
    told = {
        column.name: f"kept with probability {p:g}, else one of its other {len(own) - 1} levels; NULL stays NULL"
        for column, p, own in zip(conf, kept, call.levels, strict=True)
    }
    return explained_by(mask, call, source, "randomized", told)


MACRO = plain_macro(
    "rr_plain",
    RrPlainCall,
    "rr_mask with levels that are named, in any DuckDB shell; draws from SHA-256; plain SQL.",
    "Warner (1965), JASA 60; Krawczyk, Bellare & Canetti (1997), RFC 2104",
    kind=Kind.MASK,
    example=(
        "FROM rr_plain('survey', ['disease'], p := 0.8, levels := ['anemia','cancer','flu'], "
        "secret := 'keep this to yourself', key := 'id')"
    ),
    explain=explained,
    keeps=promises.KEEPS_NAMED,
    loses=promises.LOSES_NAMED,
)
