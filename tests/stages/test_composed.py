"""Several masks in one statement give what they give one by one, whatever they read the rows from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from ppduck.call.registry import function_named
from ppduck.catalogue.tables import Catalog
from ppduck.query import tree as sql
from ppduck.stages.composed import BASE, Part, composed, made
from ppduck.stages.plan import Plan
from tests.conftest import con, customers

__all__ = ["con", "customers"]

pytestmark = pytest.mark.core

ONE_BY_ONE = {
    "egadp_mask(tbl, conf=['x1', 'x2'], nonconf=['s1', 'region'], key='id')": ["x1", "x2"],
    "shuffle_mask(tbl, conf=['s2'], nonconf=['s1'], key='id')": ["s2"],
    "rr_mask(tbl, p={'region': 0.7}, key='id')": ["region"],
    "rank_swap_mask(tbl, conf=['s1'], reach=10, key='id')": ["s1"],
}
POLICY = """{'key': 'id', 'columns': {
  'id': 'keep', 's1': {'mask': 'rank_swap'}, 's2': {'mask': 'shuffle'}, 'member': 'keep', 'name': 'drop',
  'region': {'randomize': 0.7}, 'x1': {'mask': 'egadp'}, 'x2': {'mask': 'egadp'}},
  'masks': {'egadp': {'nonconf': ['s1', 'region']}, 'shuffle': {'nonconf': ['s1']}, 'rank_swap': {'reach': 10}}}"""


def parts_of(con: duckdb.DuckDBPyConnection, *calls: tuple[str, dict[str, Any]]) -> list[Part]:
    catalog, found = Catalog(con), []
    for name, given in calls:
        mask = function_named(name)
        plan = mask.plan(catalog, mask.takes(tbl="customers", **given))  # type: ignore[call-arg]
        assert isinstance(plan, Plan)
        found.append(Part(plan))
    return found


def column(con: duckdb.DuckDBPyConnection, rows: str, name: str) -> list[Any]:
    return [value for (value,) in con.execute(f'SELECT "{name}" FROM {rows}').fetchall()]


@pytest.mark.parametrize("source", ["table", "view", "file", "select"])
def test_together_they_give_what_they_give_one_by_one(
    customers: duckdb.DuckDBPyConnection, source: str, tmp_path: Path
) -> None:
    customers.execute("CREATE VIEW seen AS FROM customers")
    customers.execute(f"COPY customers TO '{tmp_path}/customers.parquet'")
    tbl = {
        "table": "customers", "view": "seen", "file": f"{tmp_path}/customers.parquet", "select": "(FROM customers)",
    }[source]  # fmt: skip
    together = f"release_table('{tbl}', policy={POLICY})"
    for call, names in ONE_BY_ONE.items():
        alone = call.replace("tbl", "'customers'")
        for name in names:
            one, other = (column(customers, rows, name) for rows in (alone, together))
            if name in ("x1", "x2"):  # sums are added in another order
                np.testing.assert_allclose(one, other, rtol=1e-11)
            else:
                assert one == other
    assert column(customers, together, "id") == list(range(1000))


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_stay_in_their_order_beside_masks_that_sort(con: duckdb.DuckDBPyConnection, threads: int) -> None:
    con.execute(f"SET threads = {threads}")
    con.execute("CREATE TABLE t AS SELECT i AS id, hash(i) % 97 AS a, hash(i, 1) % 89 AS b FROM range(300000) r(i)")
    policy = (
        "{'key': 'id', 'columns': {'id': 'keep', 'a': {'mask': 'shuffle'}, 'b': {'mask': 'rank_swap'}}, "
        "'masks': {'rank_swap': {'reach': 5}, 'shuffle': {'nonconf': ['b']}}}"
    )
    assert column(con, f"release_table('t', policy={policy})", "id") == list(range(300000))


def test_masks_read_what_others_mask_as_it_was(customers: duckdb.DuckDBPyConnection) -> None:
    """Each is the other's nonconf: neither sees what became of it."""
    policy = (
        "{'key': 'id', 'columns': {'id': 'keep', 's1': 'drop', 's2': 'drop', 'member': 'drop', 'name': 'drop', 'region': "
        "'drop', 'x1': {'mask': 'one'}, 'x2': {'mask': 'other'}}, 'masks': {'one': {'mask': 'egadp', 'nonconf': ['x2']}, "
        "'other': {'mask': 'ipso', 'nonconf': ['x1']}}}"
    )
    release = f"release_table('customers', policy={policy})"
    for name, call in (
        ("x1", "egadp_mask('customers', conf=['x1'], nonconf=['x2'], key='id')"),
        ("x2", "ipso_mask('customers', conf=['x2'], nonconf=['x1'], key='id')"),
    ):
        np.testing.assert_allclose(column(customers, release, name), column(customers, call, name), rtol=1e-11)


def test_a_thread_is_what_hands_rows_on(customers: duckdb.DuckDBPyConnection) -> None:
    [linear, sorting, drawing] = parts_of(
        customers,
        ("egadp_mask", {"conf": ["x1"], "nonconf": ["s1"], "key": ["id"]}),
        ("shuffle_mask", {"conf": ["x1"], "nonconf": ["s1"], "key": ["id"]}),
        ("rr_mask", {"p": {"region": 0.7}, "key": ["id"]}),
    )
    assert [stage.name for stage in linear.thread] == ["_pp_source", "_pp_noisy", "_pp_answer"]
    assert [stage.name for stage in sorting.thread] == ["_pp_source", "_pp_answer"]
    assert [stage.name for stage in drawing.thread] == ["_pp_source", "_pp_drawn", "_pp_answer"]
    assert [list(part.values) for part in (linear, sorting, drawing)] == [["x1"], ["x1"], ["region"]]


def test_only_the_thread_is_written_twice_and_names_do_not_meet(customers: duckdb.DuckDBPyConnection) -> None:
    source = Catalog(customers).source("test", "customers")
    parts = parts_of(
        customers,
        ("egadp_mask", {"conf": ["x1"], "nonconf": ["s1"], "key": ["id"]}),
        ("egadp_mask", {"conf": ["x2"], "nonconf": ["s1"], "key": ["id"]}),
    )
    answer: Sequence[sql.Expr] = [sql.column(made(0, "x1")), sql.column(made(1, "x2"))]
    plan = composed(source, parts, answer)
    names = [stage.name for stage in plan.stages]
    assert len(names) == len(set(names))
    assert [name for name in names if name.endswith("_again")] == ["_pp_1_source_again", "_pp_1_noisy_again"]
    assert BASE not in names
    assert not plan.stage("_pp_1_noisy_again").kept


def test_rows_that_may_differ_from_reading_to_reading_are_kept_once(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE TABLE few AS SELECT i AS id, i % 2 = 0 AS b, 'x' AS c FROM range(500) r(i)")
    policy = (
        "{'key': 'id', 'columns': {'id': 'keep', 'c': 'drop', 'b': {'randomize': 0.6}, 'r': {'mask': 'shuffle'}, "
        "'same': 'keep'}, 'masks': {'shuffle': {'nonconf': ['b']}}}"
    )
    tbl = "(SELECT *, r AS same FROM (SELECT *, random() AS r FROM few))"
    rows = customers.execute(f"SELECT r, same FROM release_table('{tbl}', policy={policy})").fetchall()
    shuffled, kept = zip(*rows, strict=True)
    assert sorted(shuffled) == sorted(kept), "both are of one reading"
    assert shuffled != kept
