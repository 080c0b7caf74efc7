"""noise_plain(): additive noise without Python; a plain macro of ``sql/ppduck.sql``.

As noise_mask: Y = X + e, var(e) = level·var(X), by Box and Muller's transform of HMAC-SHA-256. Its key is made of
secret, column and level, its message of the row's key and a digest of all values of the column: a column that differs
in one value, or is released at another level, has noise of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.plain_macros import plain_macro
from ppduck.call.ranges import Range
from ppduck.call.registry import Kind, PlainMacro
from ppduck.call.roles import resolve_columns
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults
from ppduck.masks import noise
from ppduck.masks._level import LEAST, NOISE_LOSSES
from ppduck.masks._plain import KEY, SECRET, explained_by
from ppduck.query import tree as sql

_LEVEL = arguments.number(
    Range(LEAST, 1e12), ": with less the confidential values would pass through"
)


@arguments.reader(f"{_LEVEL.takes}, or a list of one for each column", _LEVEL.within)
def levels(value: Any) -> float | list[float]:
    return [_LEVEL(each) for each in value] if isinstance(value, list) else _LEVEL(value)


@parameters
class NoisePlainCall(Call):
    tbl: str = TABLE
    conf: Sequence[str] = parameter(arguments.columns, "the numeric columns to mask")
    level: float | Sequence[float] = parameter(
        levels,
        "variance of the noise as a share of the column's variance, such as 0.1; one number or a list of one for each "
        "column",
    )
    secret: str = SECRET
    key: Sequence[str] = KEY


def explained(mask: PlainMacro, catalog: Catalog, call: NoisePlainCall) -> sql.Expr:
    source = catalog.source(mask.name, call.tbl)
    faults = Faults(mask.name, source.label)
    conf = resolve_columns(faults, source, "conf", call.conf)
    level = call.level if isinstance(call.level, list) else [call.level] * len(call.conf)
    if len(level) != len(call.conf):
        faults.add(f"level is given for {len(level)} columns, and conf names {len(call.conf)}.")
    faults.raise_if_any()
    told = {
        column.name: f"noise of {own:g} times its variance is added, as DOUBLE; NULL stays NULL"
        for column, own in zip(conf, level, strict=True)
    }
    return explained_by(mask, call, source, "confidential", told)


MACRO = plain_macro(
    "noise_plain",
    NoisePlainCall,
    "noise_mask in any DuckDB shell; noise from SHA-256; plain SQL.",
    noise.MASK.reference,
    kind=Kind.MASK,
    example="FROM noise_plain('customers', ['x1','x2'], level := 0.2, secret := 'keep this to yourself', key := 'id')",
    explain=explained,
    keeps=(Guarantee(Promise.MOMENTS_ON_AVERAGE, "means are kept on average"),),
    loses=(
        Loss(LossKind.MOMENTS, "variances grow by the factor 1 + level and correlations shrink"),
        *NOISE_LOSSES,
    ),
)
