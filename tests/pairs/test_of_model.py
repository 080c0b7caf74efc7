"""What models are told stands once in a statement, for all functions of the same columns."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.catalogue.tables import Catalog
from ppduck.gate.release_check import FUNCTION
from ppduck.pairs.of_model import HIGHS, LOWS, told_of, told_reach
from ppduck.query import tree as sql
from tests.gate.releases import people

pytestmark = pytest.mark.core


@pytest.mark.parametrize(("off", "model"), [("", "curve"), ("cc_gain, r2_gain", "linear")])
def test_rules_of_the_same_columns_share_their_moments(con: duckdb.DuckDBPyConnection, off: str, model: str) -> None:
    people(con)
    limits = dict.fromkeys(off.split(", ")) if off else None
    call = FUNCTION.takes(original="t", release="m", conf=["x"], key=["id"], limits=limits)
    text = sql.render(FUNCTION.plan(Catalog(con), call))
    assert [text.count(f'"_pp_{each}_of_') > 0 for each in ("curve", "linear")] == [model == "curve", model == "linear"]
    assert text.count(f'AS "{LOWS}"') == text.count(f'AS "{HIGHS}"') == 1


def test_every_model_is_told_the_same_fields() -> None:
    fields = [*told_of("linear")]
    assert [*told_of("curve")] == [*told_of("kernel")] == fields
    assert set(told_reach()).isdisjoint(fields)
