"""A catalogue of two tables that no database has: what is compared is decided without a connection."""

from __future__ import annotations

from typing import Any

from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.pairs.columns import Compared, ConfCall

ORIGINAL = Source(
    "t", '"t"', (Column("id", "BIGINT"), Column("s", "DOUBLE"), Column("x", "DOUBLE"), Column("c", "VARCHAR")), True
)
RELEASE = Source("r", '"r"', (Column("id", "BIGINT"), Column("x", "DOUBLE"), Column("C", "VARCHAR")), True)


class NoReader:
    """Nothing is read."""

    def execute(self, query: str, parameters: object = None) -> Any:
        raise AssertionError(query)

    def extract_statements(self, query: str) -> list[Any]:
        raise AssertionError(query)


class TwoTables(Catalog):
    """Knows ``t`` and ``r``."""

    def source(self, function: str, given: str) -> Source:
        return {"t": ORIGINAL, "r": RELEASE}[given]


def compared(**more: Any) -> Compared:
    call = ConfCall(**({"original": "t", "release": "r", "conf": ["x"], "key": ["id"]} | more))
    return Compared("f", TwoTables(NoReader()), call)
