"""ppduck_functions(): the catalogue of what ppduck adds to SQL."""

from __future__ import annotations

from typing import Any

from ppduck.call.registry import Function, functions, register
from ppduck.catalogue.tables import Catalog
from ppduck.query import tree as sql

COLUMNS = ("name", "signature", "description", "reference")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    rows = [(f.name, f.signature, f.summary, f.reference) for f in functions()]
    return sql.table_of(COLUMNS, rows)


FUNCTION = register(Function("ppduck_functions", (), plan, "This catalogue: every function that ppduck adds.", ""))
