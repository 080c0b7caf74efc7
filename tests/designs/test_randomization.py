"""A randomizing call read against the catalogue: its design, what its draws go by, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pytest

from ppduck.catalogue.tables import Catalog
from ppduck.designs import randomization
from ppduck.designs.design import Design
from ppduck.designs.randomization import Randomization, resolve
from ppduck.errors import PpduckError
from ppduck.masks.pram import PramMaskCall
from tests.catalogue.reading import Reader

pytestmark = pytest.mark.core


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(
            "CREATE TABLE t AS SELECT i AS \"Id\", ['a', 'b', 'c'][1 + (i % 10 > 4)::INT + (i % 10 > 7)::INT] AS x, 'z' AS one FROM range(100) r(i)"
        )
        opened.execute("CREATE TABLE none AS SELECT * REPLACE (NULL::ENUM('a', 'b') AS x) FROM t")
        yield opened


def resolved(con: duckdb.DuckDBPyConnection, tbl: str = "t", **given: Any) -> Randomization:
    given = {"p": {"x": 0.8}, "levels": {"x": ["c", "a", "b"]}} | given
    return resolve("pram_mask", Catalog(Reader(con)), PramMaskCall(tbl=tbl, **given))


def test_columns_are_found_as_duckdb_finds_them(con: duckdb.DuckDBPyConnection) -> None:
    found = resolved(con, p={"X": 0.8}, levels={"X": ["a", "b", "c"]}, key=["ID"], drop=["ONE"])
    assert ([c.name for c in found.key], found.drop, found.table) == (["Id"], ("one",), "main.t")
    assert [each.name for each in found.attributes] == ["x"]


def test_draws_go_by_the_levels_as_a_set(con: duckdb.DuckDBPyConnection) -> None:
    one, two = resolved(con), resolved(con, levels={"x": ["a", "b", "c"]})
    assert one.draw_designs == two.draw_designs == one.attributes
    assert one.draw_designs[0].levels == ("a", "b", "c")


def test_what_is_recorded_of_a_design_is_as_it_was_spelt(con: duckdb.DuckDBPyConnection) -> None:
    catalog = Catalog(Reader(con))
    call = PramMaskCall(tbl="t", p={"x": 0.8}, levels={"x": ["c", "a", "b"]}, drop=["one"])
    [design] = catalog.trip.recorded_by(lambda: resolve("pram_mask", catalog, call))
    assert isinstance(design, Design)
    assert (design.function, design.columns) == ("pram_mask", ("Id", "x"))
    assert design.attributes[0].levels == ("c", "a", "b")


def test_a_matrix_is_made_for_the_shares_and_keeps_them(con: duckdb.DuckDBPyConnection) -> None:
    found = resolved(con, invariant=True)
    assert found.counts == {"x": [50, 30, 20]}
    shares = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(found.attributes[0].matrix(3) @ shares, shares, atol=1e-12)
    assert found.draw_designs == resolved(con).draw_designs  # draws go by what the matrix was made from


def test_keys_of_a_large_table_are_looked_at_in_part(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolved(con).one_key_in == 1
    monkeypatch.setattr(randomization, "KEYS_TO_LOOK_AT", 20)
    assert resolved(con).one_key_in == 5
    assert resolved(con, "(FROM t)").one_key_in == 1  # nobody knows how many there are


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"key": ["x"]}, r'^pram_mask on "t": column "x" is in both key and conf'),
        ({"drop": ["x"]}, 'column "x" is in both conf and drop'),
        ({"tbl": "none", "invariant": True, "levels": None}, 'column "x" has no values, so that nothing can stay'),
        ({"tbl": "nowhere", "levels": None}, "give levels, and key"),
        ({"tbl": "nowhere", "invariant": True}, 'the planner cannot see "nowhere"'),
    ],
)
def test_what_is_refused(con: duckdb.DuckDBPyConnection, given: dict[str, Any], fault: str) -> None:
    with pytest.raises(PpduckError, match=fault):
        resolved(con, **given)
