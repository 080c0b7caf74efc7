"""A plan is run by an engine's two operations; what merges of parts is what the whole gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import duckdb
import pyarrow as pa
import pytest

import ppduck
from ppduck.call.registry import function_named
from ppduck.catalogue.tables import Catalog
from ppduck.query import tree as sql
from ppduck.stages import aggregates
from ppduck.stages.engine import Run, merged, tables_of
from ppduck.stages.plan import Groups, Plan, Rows, Sorted, Totals
from tests.stages.parts import Parts

pytestmark = pytest.mark.core


@pytest.fixture
def parts() -> Iterator[Parts]:
    """Two tables a and b in three parts, of which the first is empty."""
    with ExitStack() as stack:
        cons = [stack.enter_context(duckdb.connect()) for _ in range(4)]
        for i, con in enumerate(cons):
            ppduck.load(con, "sixteen bytes or more")
            for table, plus in (("a", 0), ("b", 2)):
                con.execute(
                    f"CREATE TABLE {table} AS SELECT i AS id, if(i % 5 = 0, NULL, sin(i) + {plus}) AS x, cos(i * 3) AS y, "
                    f"['u','v'][1 + i % 2] AS s FROM range(100) r(i) WHERE {i} IN (1, 2) AND id % 2 = {i} - 1"
                )
        driver, *held = [cons[3], cons[0], cons[1], cons[2]]
        yield Parts(driver, held)


def test_sums_about_a_centre_merge(parts: Parts) -> None:
    with ppduck.connect() as whole:
        for table in "ab":
            whole.execute(
                f"CREATE TABLE {table} AS FROM (SELECT 0 AS id, 0.5::DOUBLE AS x, 0.5::DOUBLE AS y, 'u' AS s) LIMIT 0"
            )
            for part in parts.parts:
                whole.register("part", part.sql(f"FROM {table}").to_arrow_table())
                whole.execute(f"INSERT INTO {table} FROM part")
        function = function_named("moments_check")
        assert isinstance(function.takes, type)
        call = function.takes(original="a", release="b", conf=["x", "y", "s"])  # type: ignore[call-arg]
        plan = function.plan(Catalog(whole.cursor()), call)
        assert isinstance(plan, Plan)
        expected = whole.sql("FROM moments_check('a', 'b', conf=['x','y','s'])").to_arrow_table().to_pylist()
        found = Run(parts, parts).release(plan)
    assert isinstance(found, pa.Table)
    for one, other in zip(expected, found.to_pylist(), strict=True):
        assert {k: v for k, v in one.items() if not isinstance(v, float)} == {
            k: v for k, v in other.items() if not isinstance(v, float)
        }
        for name in ("original", "release", "difference"):
            assert other[name] == pytest.approx(one[name], rel=1e-12, abs=1e-12)


def test_totals_of_what_meets_nothing_ask_no_partition(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(parts, parts)
    run.stage(Rows("seen", False, sql.query([sql.column("x")], sql.table("a"))))
    run.stage(Groups("none", True, sql.query([sql.named(sql.number(1), "y")], where=sql.number(1).eq(sql.number(2)))))
    figures = [aggregates.rows("n")]
    rows = sql.table("seen").cross(sql.table("none"))
    monkeypatch.setattr(Parts, "collect_partials", lambda *_: pytest.fail("a partition was asked"))
    found = run.stage(Totals("counted", True, [], figures, rows, meets=["none"]))
    assert found is not None
    assert found.to_pylist() == [{"n": 0}]


def test_what_needs_all_rows_at_once_is_refused(parts: Parts) -> None:
    stage = Sorted("sorted", False, sql.query([sql.column("x")], sql.table("a")))
    with pytest.raises(TypeError, match="sorted needs all rows at once"):
        Run(parts, parts).stage(stage)
    with pytest.raises(TypeError, match="sorted needs all rows at once"):
        Run(parts, parts).release(Plan((), stage))


def test_groups_are_merged_by_their_keys() -> None:
    stage = Totals("t", True, [("g", sql.column("g"))], [aggregates.rows("n")], sql.table("a"))
    partials = [pa.table({"g": ["u", None], "_pp_part0": [1, 2]}), pa.table({"g": [None], "_pp_part0": [5]})]
    found = merged(stage, partials, pa.schema([("g", pa.string()), ("n", pa.int64())]))
    assert found.to_pylist() == [{"g": "u", "n": 1}, {"g": None, "n": 7}]


def test_tables_of_a_query() -> None:
    inner = sql.derived(sql.query([sql.column("x")], sql.table("a")), "d")
    assert tables_of(sql.query([sql.column("x")], inner.cross(sql.table("b")))) == {"a", "b"}
