"""Whether this DuckDB's ``hash()`` is the one that ppduck knows.

The noise of masks of numbers, and the chance of anatomy_mask, go by ``hash()`` of values, since it is fast. DuckDB does
not promise that it stays as it is: for text it changed between 1.2 and 1.4. With another one, a release that is read
again would get other noise, and who has both could average them. So known values are asked for before anything is
planned. (Randomized answers do not use it: see ``ppduck.stages.keys``.)
"""

from __future__ import annotations

from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults
from ppduck.query import tree as sql

# Of every type that is hashed, of NULL, and of several values together; the same on DuckDB 1.4.0 and 2.0.0.
KNOWN = {
    "CAST(42 AS BIGINT)": 7199933130570745587,
    "CAST(-42 AS BIGINT)": 15393141690412580245,
    "CAST(42 AS UBIGINT)": 7199933130570745587,
    "CAST(42.5 AS DOUBLE)": 14985552546464664528,
    "CAST('-0.0' AS DOUBLE)": 0,
    "'abc'": 1924864467101078684,
    "'a longer text than twelve bytes'": 3708714104219217767,
    "CAST(NULL AS DOUBLE)": 13787848793156543929,
    "CAST(1 AS BIGINT), CAST(2.5 AS DOUBLE), 'abc'": 16123135376862095460,
    "CAST(1 AS BIGINT), CAST(NULL AS DOUBLE), 'abc'": 5882828018069857172,
    "CAST(1 AS UBIGINT), 4": 3480916392016592991,
}
_seen: set[int] = set()  # which known values were found: a process has one DuckDB


def asked() -> str:
    """A list of the hashes, as SQL."""
    return f"[{', '.join(sql.render(sql.call('hash', sql.raw(values))) for values in KNOWN)}]"


def refuse_another_hash(function: str, catalog: Catalog) -> None:
    """Raises where hash() gives other values than it did when releases were made."""
    known = hash(tuple(KNOWN.items()))
    if known in _seen:
        return
    if catalog.evaluate(asked()) != list(KNOWN.values()):
        version = catalog.evaluate(sql.render(sql.call("version")))
        raise Faults(function).refuse(
            f"DuckDB {version} computes hash() otherwise than the versions that ppduck knows, so that the same release "
            "would get other noise than before, which its readers could average with the first. Use DuckDB 1.4 to 2.0, "
            "or a ppduck that names this version; rr_mask and pram_mask do not need hash() and work."
        )
    _seen.add(known)
