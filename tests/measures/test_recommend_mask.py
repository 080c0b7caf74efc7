"""recommend_mask(): the mask that fits, and a statement that runs."""

from __future__ import annotations

import warnings
from pathlib import Path

import duckdb
import pytest

from ppduck.errors import PpduckWarning
from ppduck.measures.recommend_mask import candidates
from tests.masks.store import make


def advice(con: duckdb.DuckDBPyConnection, call: str) -> list[dict[str, str]]:
    found = con.execute(f"FROM recommend_mask({call})")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


NOISE = "sqrt(-2 * ln((1 + hash(i) % 100000) / 100001)) * cos(6.28318 * (hash(i + 1000000) % 100000) / 100000)"


@pytest.mark.parametrize(
    ("x", "mask", "more"),
    [
        (f"s + {NOISE}", "egadp_mask", ""),
        (f"exp(2 * s + 1.2 * {NOISE})", "shuffle_mask", ""),
        (f"abs(s - 0.3) + 0.4 * {NOISE}", "nm_egadp_mask", ", variant=1"),
    ],
)
def test_the_mask_that_keeps_the_relation_is_recommended(
    con: duckdb.DuckDBPyConnection, x: str, mask: str, more: str
) -> None:
    con.execute(f"CREATE TABLE t AS SELECT i AS id, sin(i * 12.9898) AS s, {x} AS x FROM range(1000) AS r(i)")
    first, *rest = advice(con, "'t', conf=['x'], nonconf=['s']")
    assert (first["mask"], first["advice"]) == (mask, "recommended")
    assert first["statement"] == f"SELECT * FROM {mask}('t', conf=['x'], nonconf=['s']{more});"
    assert {row["mask"] for row in [first, *rest]} == {"egadp_mask", "shuffle_mask", "cgadp_mask", "nm_egadp_mask"}
    for row in [first, *rest]:
        loses = 'the relation of "x" with "s"' in row["will_not_keep"]
        assert loses == (row["advice"] == "loses relations")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PpduckWarning)
            assert len(con.execute(row["statement"]).fetchall()) == 1000


def test_masks_say_themselves_what_they_are_recommended_for() -> None:
    told = [(each.mask.name, each.more, each.with_nonconf, each.among_conf) for each in candidates()]
    assert told == [
        ("egadp_mask", "", "linear", "linear"),
        ("shuffle_mask", "", "monotonic", "monotonic"),
        ("cgadp_mask", "", "monotonic", "monotonic"),
        ("nm_egadp_mask", "variant=1", "non-monotonic", "linear"),
        ("nm_egadp_mask", "variant=4", "non-monotonic", "linear"),
    ]


def test_a_release_that_would_tell_too_much_is_not_advised(con: duckdb.DuckDBPyConnection) -> None:
    make(con, "ME.L")
    call = "'store', conf=['x1', 'x2'], nonconf=['s1', 's2']"
    first = advice(con, call)[0]
    assert first["advice"] == "recommended, release not advised"
    assert first["why"].startswith('nonconf predicts "x1", "x2" too well (see security_index); it keeps')
    make(con, "MV2")
    assert "too well" not in advice(con, call)[0]["why"]


def test_a_relation_among_conf_that_no_mask_keeps_is_named(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        f"CREATE TABLE t AS SELECT sin(i * 5) AS s, {NOISE} AS x, x * x + 0.3 * cos(i * 3) AS y FROM range(1000) r(i)"
    )
    first = advice(con, "'t', conf=['x', 'y'], nonconf=['s']")[0]
    assert first["advice"] == "best there is"
    assert 'the relation of "y" with "x"' in first["will_not_keep"]


def test_odd_names_and_all_arguments_come_back_in_the_statement(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        f"""CREATE TABLE "it's" AS SELECT i % 2 AS "by", nullif(i % 50, 7) AS "a ""b", {NOISE} AS "x'y" FROM range(500) r(i)"""
    )
    call = """'"it''s"', conf=['x''y'], nonconf=['a "b'], strata=['by'], on_null='mean'"""
    for row in advice(con, call):
        assert row["statement"].startswith(f"SELECT * FROM {row['mask']}({call}")
        assert len(con.execute(row["statement"]).fetchall()) == 500


def test_a_column_that_nonconf_determines_is_not_to_be_released(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        f"CREATE TABLE t AS SELECT {NOISE} AS a, hash(i + 7) % 1000 AS b, 100 * a - b AS x FROM range(1000) r(i)"
    )
    rows = advice(con, "'t', conf=['x']")
    assert {row["advice"] for row in rows} == {"do not release"}
    assert rows[0]["why"].startswith('nonconf determines "x"; ')


def test_without_nonconf_there_is_nothing_to_lose(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"CREATE TABLE t AS SELECT {NOISE} AS x FROM range(3000) r(i)")
    first = advice(con, "'t', conf=['x'], nonconf=[]")[0]
    assert first["why"].endswith("there are no relations to lose")
    assert len(con.execute(first["statement"]).fetchall()) == 3000


def test_files_and_views_need_no_key_to_be_looked_at(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    con.execute(f"COPY (SELECT i % 7 AS s, i % 10 AS x FROM range(1000) r(i)) TO '{tmp_path / 'few.parquet'}'")
    con.execute(f"CREATE VIEW few AS FROM '{tmp_path / 'few.parquet'}'")
    for table in (f"{tmp_path / 'few.parquet'}", "few", "(SELECT * FROM few)"):
        assert len(advice(con, f"'{table}', conf=['x']")) == 5
        assert con.execute(f"SELECT rows FROM security_index('{table}', conf=['x'])").fetchall() == [(1000,)]


def test_a_key_is_no_nonconf_and_comes_back_in_the_statement(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        f"CREATE TABLE t AS SELECT i AS id, sin(i * 12.9898) AS s, i / 50 + s + {NOISE} AS x FROM range(1000) r(i)"
    )
    assert 'with "id"' in advice(con, "'t', conf=['x']")[0]["why"]
    first = advice(con, "'t', conf=['x'], key='id'")[0]
    assert '"id"' not in first["why"]
    assert first["statement"] == f"SELECT * FROM {first['mask']}('t', conf=['x'], key=['id']);"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PpduckWarning)
        assert len(con.execute(first["statement"]).fetchall()) == 1000
