"""A manifest gives back the design that it was made of, and says clearly what it does not know."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pytest

from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.designs import manifest
from ppduck.designs.design import Attribute
from ppduck.errors import Faults, PpduckError

pytestmark = pytest.mark.core

BY_P = Attribute("g", "VARCHAR", ("a", "b", None), 0.8)
BY_MATRIX = Attribute("h", "VARCHAR", ("x", "y"), None, ((0.75, 0.5), (0.25, 0.5)))
SOURCE = Source("public", '"public"', (Column("g", "VARCHAR"), Column("h", "VARCHAR"), Column("x", "DOUBLE")))


def of(*columns: dict[str, Any]) -> dict[str, Any]:
    return {"schema": manifest.SCHEMA, "version": manifest.VERSION, "columns": list(columns)}


MANIFEST = of(
    {"name": "g", "role": "randomized", "mask": "rr_mask", **manifest.told(BY_P)},
    {"name": "H", "role": "randomized", **manifest.told(BY_MATRIX)},
    {"name": "x", "role": "masked"},
)


def test_designs_come_back_as_they_were() -> None:
    again = manifest.parsed(json.dumps(MANIFEST), SOURCE, Faults("test"))
    assert again is not None
    assert manifest.designs(again, SOURCE, Faults("test")) == [BY_P, BY_MATRIX]
    plain = manifest.design(again, SOURCE.column("x"), Faults("test"))
    assert plain == Attribute("x", "DOUBLE", None, 1.0)


@pytest.mark.parametrize("text", ["", "a table", "[1]", '{"schema": "other"}', "7"])
def test_another_comment_is_no_manifest(text: str) -> None:
    assert manifest.parsed(text, SOURCE, Faults("test")) is None


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"name": "z", "role": "kept"}, 'says nothing of column "g"'),
        ({"name": "g", "role": "randomized", "levels": ["a", "b"]}, 'does not say how column "g"'),
        ({"name": "g", "role": "randomized", "levels": ["a", "b"], "p": 3}, 'does not say how column "g"'),
        ({"name": "g", "role": "randomized", "levels": "ab", "p": 0.8}, 'does not say how column "g"'),
        ({"name": "g", "role": "randomized", "levels": ["a", "b"], "matrix": [[1, 1], [1, 0]]}, "sum to 1"),
    ],
)
def test_what_it_does_not_say_is_a_fault(own: dict[str, Any], said: str) -> None:
    faults = Faults("test")
    assert manifest.design(of(own), SOURCE.column("g"), faults) is None
    with pytest.raises(PpduckError, match=said):
        faults.raise_if_any()


def test_a_newer_manifest_is_refused() -> None:
    with pytest.raises(PpduckError, match=r"of version 99, and this ppduck reads version 1"):
        manifest.parsed(json.dumps(MANIFEST | {"version": 99}), SOURCE, Faults("test"))


def test_a_release_without_randomized_columns_has_no_designs() -> None:
    with pytest.raises(PpduckError, match=r"has no randomized column"):
        manifest.designs(of({"name": "x", "role": "masked"}), SOURCE, Faults("test"))


def test_it_is_read_from_the_comment_of_a_table(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE public (g VARCHAR, h VARCHAR, x DOUBLE)")
    con.execute(f"COMMENT ON TABLE public IS '{json.dumps(MANIFEST)}'")
    catalog = Catalog(con)
    source = catalog.source("test", "public")
    assert manifest.of_source(catalog, source, Faults("test")) == MANIFEST
