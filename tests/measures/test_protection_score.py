"""protection_score(): the parts add up as the literature has it, and rank swapping scores on Census as it should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from tests.census import COLUMNS, census, rank_swapped
from tests.laws import insert, random_table

Ask = Callable[[str], list[dict[str, Any]]]


def values(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {row["measure"]: row["value"] for row in rows}


@pytest.fixture
def table(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    insert(con, "t", ["x1", "x2", "x3"], random_table(np.random.default_rng(1), 300, 0, 3) + 50)
    con.execute("CREATE TABLE r AS FROM noise_mask('t', conf=['x1','x2','x3'], level=0.05, key='id', seed=1)")
    return con


def test_the_parts_are_those_of_the_other_functions(table: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    found = values(ask("FROM protection_score('t', 'r', conf=['x1','x2','x3'], key='id', known=2)"))
    [linked] = ask("FROM record_linkage('t', 'r', conf=['x1','x2'], key='id')")
    [lost] = ask("FROM information_loss('t', 'r', key='id') WHERE component = 'information_loss'")
    [inside] = ask(
        "FROM interval_disclosure('t', 'r', conf=['x1','x2'], key='id') WHERE kind = 'rank' AND column_name LIKE 'all%'"
    )
    assert found["IL"] == pytest.approx(100 * lost["value"])
    assert found["DLD"] == pytest.approx(100 * linked["linked_share"])
    assert found["ID"] == pytest.approx(100 * inside["share"])
    assert found["score_simplified"] == pytest.approx(0.5 * found["IL"] + 0.25 * found["DLD"] + 0.25 * found["ID"])
    assert found["PLD"] is found["DR"] is found["score"] is None


def test_the_whole_score_weighs_both_linkages(table: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    pytest.importorskip("splink")
    rows = ask("FROM protection_score('t', 'r', key='id', known=['x3'], probabilistic=true)")
    found = values(rows)
    assert found["DR"] == pytest.approx(0.25 * found["DLD"] + 0.25 * found["PLD"] + 0.5 * found["ID"])
    assert found["score"] == pytest.approx(0.5 * found["IL"] + 0.5 * found["DR"])
    assert {row["known"] for row in rows} == {"x3"}
    assert {row["direction"] for row in rows} == {"lower is better"}
    assert all(row["definition"] for row in rows)


def test_a_copy_loses_nothing_and_hides_nothing(table: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    found = values(ask("FROM protection_score('t', 't', key='id')"))
    assert (found["IL"], found["DLD"], found["ID"], found["score_simplified"]) == pytest.approx((0, 100, 100, 50))


def test_half_of_the_columns_are_known_unless_told(table: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    assert {row["known"] for row in ask("FROM protection_score('t', 'r', key='id')")} == {"x1, x2"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("known=4", "known is 4, and there are 3 numeric columns to know"),
        ("known=0", "known must be at least 1"),
        ("known=0.5", "known takes a whole number of at least 1, or a column name"),
        ("known=['x4']", 'known names column "x4", which does not exist'),
        ("known=['x3'], conf=['x1']", 'known names column "x3", which is not among the columns that are scored'),
        ("conf=['x1', 'name']", 'conf names column "name", which does not exist'),
    ],
)
def test_bad_input_is_told(table: duckdb.DuckDBPyConnection, more: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=f"protection_score.*{message}"):
        table.execute(f"FROM protection_score('t', 'r', key='id', {more})")


def test_rank_swapping_on_census_risks_less_and_loses_more_the_wider_it_swaps(
    con: duckdb.DuckDBPyConnection, ask: Ask, reference_data: Path
) -> None:
    """The scale of the published table: IL 21 to 27, DR 22 to 28, scores of 24 to 26 for p from 12 to 17."""
    original = census(reference_data)
    insert(con, "census", COLUMNS, original)
    found = []
    for p in (12, 14, 17):
        insert(con, "swapped", COLUMNS, rank_swapped(original, p, seed=1))
        found.append(values(ask("FROM protection_score('census', 'swapped', key='id', known=7)")))
        assert 20 < found[-1]["score_simplified"] < 33
    for measure in ("DLD", "ID"):
        assert found[0][measure] > found[1][measure] > found[2][measure]
    assert found[0]["IL"] < found[2]["IL"]
