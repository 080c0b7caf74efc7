"""NULL in nonconf as a level of its category, and columns that are named as key."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.call.numeric_mask import NumericMask
from ppduck.call.registry import Kind, functions
from tests.registry_calls import exact_masks, masks_of_numbers, more, takes

pytestmark = pytest.mark.core

OF_NONCONF = [mask for mask in masks_of_numbers() if mask.reads_s]
EXACT = [mask for mask in exact_masks() if mask.reads_s]
NOT_EXACT = [mask for mask in OF_NONCONF if mask not in EXACT]
# What looks at a table before it is masked.
ADVISING = [
    each.name for each in functions() if each.kind is Kind.MEASURE and takes(each, "nonconf") and takes(each, "on_null")
]
MEANS = "SELECT {0}, count(*), avg(x), avg(y) FROM {1} GROUP BY ALL ORDER BY ALL"


@pytest.fixture
def gaps(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A category and a boolean with NULL, on which x and y depend, and a number with NULL."""
    con.execute(
        "CREATE TABLE gaps AS SELECT i AS id, if(i % 7 = 0, NULL, ['a', 'b', 'c'][1 + i % 3]) AS g, "
        "if(i % 11 = 0, NULL, i % 2 = 0) AS f, sin(i) + i % 3 AS s, if(i % 13 = 0, NULL, cos(i)) AS n, "
        "50 + 3 * (i % 3) + if(i % 7 = 0, 9, 0) + (hash(i) % 1000) / 40 AS x, "
        "3 * (i % 2) + (hash(i + 1000) % 1000) / 100 AS y FROM range(600) r(i)"
    )
    return con


def level(mask: NumericMask) -> str:
    return f"{mask.name}('gaps', conf=['x', 'y'], nonconf=['g', 'f', 's'], key='id', on_null='level'{more(mask)})"


@pytest.mark.parametrize("mask", EXACT, ids=lambda mask: mask.name)
def test_every_level_keeps_its_means_that_of_null_too(gaps: duckdb.DuckDBPyConnection, mask: NumericMask) -> None:
    gaps.execute(f"CREATE TABLE r AS FROM {level(mask)}")
    assert gaps.execute("SELECT count(*) FROM r JOIN gaps USING (id) WHERE r.x = gaps.x").fetchall() == [(0,)]
    for column, levels in (("g", 4), ("f", 3)):
        before, after = (gaps.execute(MEANS.format(column, table)).fetchall() for table in ("gaps", "r"))
        assert len(before) == levels
        assert [row[:2] for row in after] == [row[:2] for row in before]
        for one, other in zip(before, after, strict=True):
            assert other[2:] == pytest.approx(one[2:], rel=1e-11)


@pytest.mark.parametrize("mask", NOT_EXACT, ids=lambda mask: mask.name)
def test_masks_that_promise_no_exact_means_take_it_too(gaps: duckdb.DuckDBPyConnection, mask: NumericMask) -> None:
    gaps.execute(f"CREATE TABLE r AS FROM {level(mask)}")
    [(inside, outside)] = gaps.execute("SELECT avg(x) FILTER (g IS NULL), avg(x) FILTER (g = 'a') FROM r").fetchall()
    assert inside - outside > 5  # 9 to 12 in the original, 0 if NULL were nothing to the mask


@pytest.mark.parametrize("function", ADVISING)
def test_the_advising_functions_take_it_too(gaps: duckdb.DuckDBPyConnection, function: str) -> None:
    call = f"FROM {function}('gaps', conf=['x'], nonconf=['g', 'f', 's']"
    with pytest.raises(duckdb.InvalidInputException, match=f"{function} .*on_null := 'level'"):
        gaps.execute(f"{call})")
    assert gaps.execute(f"{call}, on_null='level')").fetchall()


def test_a_recommended_statement_says_it_and_runs(gaps: duckdb.DuckDBPyConnection) -> None:
    call = "recommend_mask('gaps', conf=['x'], nonconf=['g', 'f', 's'], on_null='level')"
    column = gaps.execute(f"FROM {call}").description[-1][0]
    for (statement,) in gaps.execute(f'SELECT "{column}" FROM {call}').fetchall():
        assert "on_null='level'" in statement
        assert len(gaps.execute(statement).fetchall()) == 600


def test_it_is_explained(gaps: duckdb.DuckDBPyConnection) -> None:
    call = "mask_explain('egadp_mask', 'gaps', conf=['x'], nonconf=['g', 'f'], key='id', on_null='level')"
    notes = {name: (role, note) for name, role, note in gaps.execute(f"FROM {call}").fetchall() if role != "key"}
    assert notes["g"] == ("nonconfidential", "used as 3 indicators against its level 'a', one of them of NULL")
    assert notes["f"][1] == "used as a number, beside an indicator of NULL; released as it is"
    assert notes["id"][1].startswith("named as key")


def test_without_null_it_is_the_same_release_as_without_saying_so(gaps: duckdb.DuckDBPyConnection) -> None:
    call = "SELECT id, x FROM egadp_mask('gaps', conf=['x'], nonconf=['s'], key='id'{}) ORDER BY id"
    assert gaps.execute(call.format(", on_null='level'")).fetchall() == gaps.execute(call.format("")).fetchall()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("nonconf=['g']", "\"g\" has NULL in 86 of 600 rows. Say on_null := 'level' .NULL is a level like others., 'drop'"),
        ("nonconf=['n']", "\"n\" has NULL in 47 of 600 rows. Leave the column out of nonconf, or say on_null := 'drop'"),
        ("nonconf=['n'], on_null='level'", "\"n\" has NULL in 47 .*'level' is for categories, and this is a number. Turn it into"),
        ("nonconf=['s'], on_null='keep'", "on_null takes one of 'error', 'level', 'drop', 'mean', got 'keep'"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told(gaps: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        gaps.execute(f"FROM egadp_mask('gaps', conf=['x'], key='id', {call})")


def test_null_that_came_after_planning_is_refused(gaps: duckdb.DuckDBPyConnection) -> None:
    gaps.execute("DELETE FROM gaps WHERE g IS NULL")
    gaps.execute("BEGIN")
    gaps.execute("UPDATE gaps SET g = NULL WHERE id = 1")  # the planner sees what is committed
    with pytest.raises(duckdb.InvalidInputException, match="They were not there when the call was planned"):
        gaps.execute("FROM egadp_mask('gaps', conf=['x'], nonconf=['g'], key='id', on_null='level')").fetchall()
    gaps.execute("ROLLBACK")


@pytest.mark.parametrize("mask", OF_NONCONF, ids=lambda mask: mask.name)
def test_a_key_is_not_among_nonconf_unless_it_is_named_there(
    gaps: duckdb.DuckDBPyConnection, mask: NumericMask
) -> None:
    call = f"SELECT id, x FROM {mask.name}('(SELECT id, s, x FROM gaps)', conf=['x'], key='ID'{more(mask)}{{}}) ORDER BY id"
    unnamed, named, both = (
        gaps.execute(call.format(nonconf)).fetchall() for nonconf in ("", ", nonconf=['s']", ", nonconf=['s', 'id']")
    )
    assert unnamed == named != both
