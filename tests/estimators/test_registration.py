"""What the estimators are registered with is what they give: kind, order of arguments, columns of the answer."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import ppduck
from ppduck.call.registry import Function, Kind, functions
from tests.golden.statements import TABLES

pytestmark = pytest.mark.core
OWN = [each for each in functions() if each.plan.__module__.startswith("ppduck.estimators.")]
PLACES = {
    "rr_covariance": "tbl columns p matrix levels on_null target method",
    "rr_query": "query p matrix levels on_null confidence range target",
    "rr_reconstruct": "tbl columns p matrix levels on_null confidence range target method",
}


@pytest.fixture(scope="module")
def golden() -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect(secret="sixteen bytes or more") as con:
        for statement in con.extract_statements(TABLES):
            con.execute(statement)
        yield con


def test_they_are_estimators() -> None:
    found = {each.name: " ".join(p.name for p in each.parameters) for each in OWN}
    assert {name: found[name] for name in PLACES} == PLACES, "calls by place would mean something else"
    assert {each.kind for each in OWN} == {Kind.ESTIMATOR}


@pytest.mark.parametrize("function", OWN, ids=lambda each: each.name)
def test_an_example_gives_the_declared_columns(golden: duckdb.DuckDBPyConnection, function: Function) -> None:
    """Behind those that are named in the call."""
    described = [row[:2] for row in golden.execute(f"DESCRIBE {function.example}").fetchall()]
    declared = [(each.name, each.type) for each in function.results]
    assert described[-len(declared) :] == declared
    assert all(each.meaning for each in function.results)
