"""A table that arrives in parts gives the coefficients, and the release, that it gives as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import duckdb
import numpy as np
import pytest

import ppduck
from ppduck.call.linear_mask import LinearMask
from ppduck.call.registry import function_named
from ppduck.catalogue.tables import Catalog
from ppduck.masks import nm_egadp
from ppduck.stages.plan import Plan
from ppduck.stages.solve import FORM
from tests.conftest import SECRET
from tests.golden.statements import TABLES
from tests.stages.parts import Parts, written

pytestmark = pytest.mark.core

TABLE = TABLES.partition(";")[0]  # customers
CALLS: dict[str, dict[str, Any]] = {
    "egadp_mask": {"nonconf": ["s1", "s2", "region"]},
    "egadp_mask in strata": {"nonconf": ["s1", "s2"], "strata": ["region"]},
    "sufficiency_mask": {"nonconf": ["s1"], "alpha": {"x1": 0.4, "x2": 0.5}},
    "ipso_mask": {"nonconf": ["s1", "s2"]},
    "gadp_mask": {"nonconf": ["s1", "s2"]},
    "kim_mask": {"level": 0.2, "corrected": True},
    "noise_mask": {"level": 0.2, "strata": ["member"]},
}


@pytest.fixture(scope="module")
def whole() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(TABLE)
        yield ppduck.load(con, SECRET)


@pytest.fixture(scope="module", params=[1, 2, 7])
def parts(request: pytest.FixtureRequest) -> Iterator[Parts]:
    """The same rows, cut by no rule that a mask could know; the driver is empty, and the last part of seven."""
    count: int = request.param
    with ExitStack() as stack:
        cons = [stack.enter_context(duckdb.connect()) for _ in range(count + 1)]
        for i, con in enumerate(cons):
            ppduck.load(con, SECRET)
            con.execute(TABLE)
            cut = count - 1 if count > 2 else count
            con.execute(f"DELETE FROM customers WHERE id * 7919 % {cut} <> {i}")
        *held, driver = cons
        yield Parts(driver, held)


def planned(con: duckdb.DuckDBPyConnection, mask: str, arguments: dict[str, Any]) -> Plan:
    function = function_named(mask.partition(" ")[0])
    assert isinstance(function, LinearMask)
    call = function.takes(tbl="customers", conf=["x1", "x2"], key=["id"], **arguments)  # type: ignore[operator,call-arg]
    plan = function.plan(Catalog(con), call)
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.parametrize("mask", CALLS)
def test_the_release_is_the_same(whole: duckdb.DuckDBPyConnection, parts: Parts, mask: str) -> None:
    plan = planned(whole, mask, CALLS[mask])
    expected = whole.execute(written(whole, plan.query())).fetchnumpy()
    found = parts.run(planned(whole, mask, CALLS[mask]))
    names = list(expected)
    by_id = sorted(found, key=lambda row: row[names.index("id")])
    order = np.argsort(expected["id"])
    assert len(found) == len(order) == 400
    for name in ("x1", "x2"):
        values = np.array([row[names.index(name)] for row in by_id])
        own = expected[name][order]
        assert np.abs(values - own).max() < 1e-9 * own.std()


def test_the_coefficients_of_a_learnt_relation_are_the_same(whole: duckdb.DuckDBPyConnection, parts: Parts) -> None:
    call = nm_egadp.MethodCall(tbl="customers", conf=["x1"], nonconf=["s1"], key=["id"])

    def plan() -> Plan:
        planned = nm_egadp.MASK.plan(Catalog(whole), call)
        assert isinstance(planned, Plan)
        return planned

    one = Parts(parts.driver, [whole])
    expected, found = (np.array(each.table(plan(), FORM), dtype=float) for each in (one, parts))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_a_plan_can_be_read() -> None:
    with duckdb.connect() as con:
        con.execute(TABLE)
        told = str(planned(con, "egadp_mask", {"nonconf": ["s1", "s2"]}))
    assert told.splitlines()[0] == "_pp_source: rows"
    assert "  _pp_products: sum" in told
    assert "  _pp_distinct_keys: smallest hashes" in told
    assert told.splitlines()[-1] == "_pp_answer: rows"
