"""pseudonym_plain(): values replaced by tokens without Python; a plain macro of ``sql/ppduck.sql``.

A token is the first 128 bits of HMAC-SHA-256 of the value's text, in hexadecimal digits. The key is made of secret and
domain, each with its length before it, so that no two pairs give the same. Tables of one domain can still be joined.

What it does not hide: how often a value occurs, which rows share it, and all other columns. What has pseudonyms is
still about persons (GDPR, article 4 (5)).
"""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.plain_macros import plain_macro
from ppduck.call.registry import Kind, PlainMacro
from ppduck.call.roles import resolve_columns
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults
from ppduck.masks._plain import SECRET, explained_by
from ppduck.query import tree as sql


@parameters
class PseudonymPlainCall(Call):
    tbl: str = TABLE
    columns: Sequence[str] = parameter(
        arguments.columns, "the columns whose values are replaced by tokens"
    )
    domain: str = parameter(
        arguments.words,
        "what the values are, such as 'customer': equal values of one domain get the same token in all tables, and "
        "those of two domains cannot be linked",
    )
    secret: str = SECRET


def explained(mask: PlainMacro, catalog: Catalog, call: PseudonymPlainCall) -> sql.Expr:
    source = catalog.source(mask.name, call.tbl)
    faults = Faults(mask.name, source.label)
    replaced = resolve_columns(faults, source, "columns", call.columns)
    faults.raise_if_any()
    note = (
        "replaced by tokens of 32 digits, as VARCHAR, the same for the same value; NULL stays NULL"
    )
    return explained_by(
        mask, call, source, "pseudonym", dict.fromkeys((c.name for c in replaced), note)
    )


MACRO = plain_macro(
    "pseudonym_plain",
    PseudonymPlainCall,
    "Replaces values by tokens, the same in all tables of a domain, in any DuckDB shell; HMAC-SHA-256; plain SQL.",
    "Krawczyk, Bellare & Canetti (1997), RFC 2104",
    kind=Kind.MASK,
    example="FROM pseudonym_plain('customers', ['id'], 'customer', secret := 'keep this to yourself')",
    explain=explained,
    keeps=(
        Guarantee(
            Promise.KEYED,
            "a value has the same token however often it is read, and in all tables of its domain; without the secret "
            "no token leads back to its value",
        ),
    ),
    loses=(
        Loss(
            LossKind.OTHER_KNOWLEDGE,
            "secrecy of how often a value occurs and of which rows share it, in one release and among all of a domain",
        ),
        Loss(LossKind.OTHER_COLUMNS, "protection by columns that are not replaced"),
        Loss(LossKind.PRESENCE, "secrecy of which values are missing: NULL stays NULL"),
    ),
)
