"""egadp_plain(): EGADP of a handful of columns without Python; a plain macro of ``sql/ppduck.sql``.

As egadp_mask, with the Cholesky factor of the covariance where that takes symmetric roots, and with noise from SHA-256.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.numeric_mask import NumericCall
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.plain_macros import plain_macro
from ppduck.call.registry import Kind, PlainMacro
from ppduck.call.roles import assign
from ppduck.catalogue.tables import Catalog
from ppduck.masks import egadp
from ppduck.masks._plain import KEY, SECRET
from ppduck.masks._promises import (
    CURVES,
    EXACT_WITHOUT_NULL,
    EXTREMES_REFUSED,
    MANY_RELEASES,
    NO_GAIN,
    ORDER,
    REPEATED,
    SHAPE,
    SMALL,
    UNUSED_WITHOUT_STRATA,
)
from ppduck.query import tree as sql
from ppduck.stages.explain import columns, noise_key, promised, table


@parameters
class PlainCall(Call):
    tbl: str = TABLE
    conf: Sequence[str] = parameter(arguments.columns, "the numeric columns to mask, one to five")
    secret: str = SECRET
    key: Sequence[str] = KEY
    nonconf: Sequence[str] = parameter(
        arguments.columns, "the numeric columns whose relation to conf is kept, up to five", ()
    )


def explained(mask: PlainMacro, catalog: Catalog, call: PlainCall) -> sql.Expr:
    """It does what egadp_mask does, but with no nonconf that is not named, and with a key that is unique."""
    key = () if list(call.key) == ["rowid"] else call.key
    told = NumericCall(tbl=call.tbl, conf=call.conf, key=key, nonconf=call.nonconf)
    roles = assign(mask.name, catalog, told, uses_nonconf=True)
    rows = columns(egadp.MASK, roles, told, refuses_null=True)
    noted = noise_key(roles.source, roles.key, "", [], f"NOT unique; {mask.name} refuses it")
    return sql.union_all([table(rows + promised(mask, call)), noted])


MACRO = plain_macro(
    "egadp_plain",
    PlainCall,
    "egadp_mask for up to five columns and five in nonconf, in any DuckDB shell; noise from SHA-256; plain SQL.",
    egadp.MASK.reference,
    kind=Kind.MASK,
    example=(
        "FROM egadp_plain('customers', ['x1','x2'], secret := 'keep this to yourself', key := 'id', "
        "nonconf := ['s1','s2'])"
    ),
    explain=explained,
    keeps=EXACT_WITHOUT_NULL + NO_GAIN,
    loses=(
        SHAPE,
        CURVES,
        UNUSED_WITHOUT_STRATA,
        EXTREMES_REFUSED,
        SMALL,
        REPEATED,
        MANY_RELEASES,
        ORDER,
    ),
)
