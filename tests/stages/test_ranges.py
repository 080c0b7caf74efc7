"""Ranks by ranges are the ranks of a sort of all rows, ties and NULLs among them."""

from __future__ import annotations

import duckdb
import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given, settings

from ppduck.query import ranks
from ppduck.query import tree as sql
from ppduck.stages import ranges
from ppduck.stages.ranges import OF_RANGE, OFFSET, RANGE, Ranked

pytestmark = pytest.mark.core
VALUES = st.lists(st.tuples(st.sampled_from("uv"), st.none() | st.integers(-5, 5)), min_size=1, max_size=60)


def test_a_range_is_found_by_halves() -> None:
    with duckdb.connect() as con:
        con.register("cuts", pa.table({ranges.cut(i): [value] for i, value in enumerate([1.0, 2.0, 5.0])}))
        con.execute("CREATE TABLE t AS SELECT unnest([0.5, 1, 1.5, 2, 4.9, 5, 9, NULL]) AS x")
        figure = Ranked(sql.column("x"), [], "cuts", 4)
        query = sql.query([figure.range()], sql.table("t").cross(sql.table("cuts")))
        assert [row[0] for row in con.sql(sql.render(query)).fetchall()] == [0, 1, 1, 2, 2, 3, 3, None]


@settings(max_examples=25, deadline=None)
@given(rows=VALUES, cuts=st.lists(st.integers(-4, 4), unique=True, max_size=4).map(sorted), parts=st.integers(1, 3))
def test_ranks_are_those_of_a_sort(rows: list[tuple[str, int | None]], cuts: list[int], parts: int) -> None:
    with duckdb.connect() as con:
        ids = list(range(len(rows)))
        table = pa.table({"id": ids, "g": [g for g, _ in rows], "x": pa.array([x for _, x in rows], pa.int64())})
        con.register("given", table)
        con.execute("CREATE TABLE t AS FROM given")
        con.register("cuts", pa.table({ranges.cut(i): [cut] for i, cut in enumerate(cuts)} or {"none": [0]}))
        figure = Ranked(sql.column("x"), ["g"], "cuts", len(cuts) + 1)
        found = []
        for part in range(parts):
            con.execute(f"CREATE OR REPLACE TABLE part AS FROM t WHERE id % {parts} = {part}")
            asked = ranges.counts([figure], [sql.column("x")], sql.table("part").cross(sql.table("cuts")))
            found.append(con.sql(sql.render(asked)).to_arrow_table())
        con.register("offsets", ranges.offsets(found, 0, ["g"]))
        ranged = sql.query([sql.star("t"), sql.named(figure.range(), RANGE)], sql.table("t").cross(sql.table("cuts")))
        pairs = [
            (sql.column("g", "ranged"), sql.column(ranges.group_name(0), "offsets")),
            (sql.column(RANGE, "ranged"), sql.column(OF_RANGE, "offsets")),
        ]
        beside = sql.query(
            [
                sql.star("ranged"),
                sql.column(OFFSET),
                sql.named(sql.over(sql.call("count", sql.number(1)), [sql.column("g")]), "n"),
            ],
            sql.derived(ranged, "ranged").matched(sql.table("offsets"), pairs),
        )
        places = figure.below_and_upto(sql.column("n")) | {"place": figure.place([sql.column("id")])}
        named = [sql.column(name) for name in ("id", "g")]
        mine = sql.query([*named, *sql.columns(places)], sql.derived(beside, "beside"), order=[sql.column("id")])
        expected = f"""
            SELECT id, g, rank() OVER w - 1 AS {ranks.BELOW}, cume_dist() OVER w AS {ranks.UPTO},
                   if(x IS NULL, NULL, row_number() OVER (PARTITION BY g ORDER BY x, id)) AS place
            FROM t WINDOW w AS (PARTITION BY g ORDER BY x) ORDER BY id
            """
        assert con.sql(sql.render(mine)).fetchall() == con.sql(expected).fetchall()


def test_neighbours_stand_at_the_ends_of_ranges() -> None:
    one = pa.table(
        {
            RANGE: [0, 2, None],
            ranges.FIGURE: [0, 0, 0],
            ranges.COUNT: [2, 1, 1],
            ranges.LEAST: [1.0, 7.0, None],
            ranges.MOST: [2.0, 7.0, None],
        }
    )
    other = pa.table({RANGE: [0], ranges.FIGURE: [0], ranges.COUNT: [1], ranges.LEAST: [0.5], ranges.MOST: [0.5]})
    found = ranges.offsets([one, other], 0, []).to_pylist()
    assert found == [
        {OF_RANGE: 0, OFFSET: 0, ranks.BEFORE: None, ranks.NEXT: 7.0},
        {OF_RANGE: 2, OFFSET: 3, ranks.BEFORE: 2.0, ranks.NEXT: None},
        {OF_RANGE: None, OFFSET: 4, ranks.BEFORE: 7.0, ranks.NEXT: None},
    ]
