"""Two releases are joined by keys that are unique; what only one has is there too."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.catalogue.tables import Catalog
from ppduck.errors import PpduckError
from ppduck.measures._two_releases import (
    FIRST,
    JOINED,
    ORIGINAL,
    SECOND,
    KeyCounts,
    KeySpec,
    TwoReleases,
    at,
    checked,
)
from ppduck.query import tree as sql

pytestmark = pytest.mark.core
SPEC = KeySpec("release_intersection", "one", ["one", "two"], ["id"])


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> TwoReleases:
    con.execute("CREATE TABLE one AS SELECT i AS id, i * 2 AS x, 'a' AS g, i % 2 AS s FROM range(3) r(i)")
    con.execute("CREATE TABLE two AS SELECT i AS id, i * 2.5 AS x, 'b' AS g, i % 2 AS s FROM range(1, 5) r(i)")
    con.execute("CREATE TABLE original AS SELECT i AS id, i AS x, 'c' AS g FROM range(9) r(i)")
    return TwoReleases("release_intersection", Catalog(con), {FIRST: "one", SECOND: "two", ORIGINAL: "original"})


def test_every_key_of_either_is_there_once(con: duckdb.DuckDBPyConnection, tables: TwoReleases) -> None:
    tables.use_key(["id"])
    tables.use_groups(None)
    tables.use_conf(["x", "g"], [])
    tables.use_nonconf(None)
    assert [column.name for column in tables.numbers] == ["x"]
    assert [column.name for column in tables.categories] == ["g"]
    assert [feature.label for feature, _ in tables.features] == ["s"]
    assert not tables.groups
    statement = sql.Statement()
    tables.join(statement)
    shown = ["_pp_k0", at("y", 0, FIRST), at("y", 0, SECOND), at("y", 0, ORIGINAL), at("a", 0, SECOND), "_pp_both"]
    asked = statement.query(
        sql.query([sql.column(name) for name in shown], sql.table(JOINED), order=[sql.column("_pp_k0")])
    )
    assert con.execute(sql.render(asked)).fetchall() == [
        (0, 0, None, 0, None, False),
        (1, 2, 2.5, 1, "b", True),
        (2, 4, 5, 2, "b", True),
        (3, None, 7.5, 3, "b", False),
        (4, None, 10, 4, "b", False),
    ]


def test_what_was_randomized_is_a_category_in_any_type(tables: TwoReleases) -> None:
    tables.use_key(["id"])
    tables.use_groups(["s", "g"])
    tables.use_conf(["x"], ["X"])
    assert [column.name for column in tables.categories] == ["x"]
    assert {side: [column.name for column in own] for side, own in tables.qi.items()} == {
        FIRST: ["s", "g"],
        SECOND: ["s", "g"],
    }


def test_keys_that_are_once_in_each_are_counted() -> None:
    assert checked(SPEC, KeyCounts([3, 4], [3, 4], [0, 0], 2)) == 2


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (KeyCounts([3, 4], [3, 2], [0, 0], 0), 'only 2 of the 4 rows of "two" have a key of their own'),
        (KeyCounts([3, 4], [3, 4], [1, 0], 2), 'is NULL in 1 of the 3 rows of "one"'),
        (KeyCounts([3, 4], [3, 4], [0, 0], 0), 'is in both "one" and "two"; they tell nothing together'),
    ],
)
def test_other_keys_are_refused(told: KeyCounts, message: str) -> None:
    with pytest.raises(PpduckError, match=message):
        checked(SPEC, told)
