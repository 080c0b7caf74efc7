"""recommend_mask(): the mask that fits, and a statement that runs."""

from __future__ import annotations

import warnings

import duckdb
import pytest

from ppduck.errors import PpduckWarning
from tests.masks.store import make

pytestmark = pytest.mark.core


def advice(con: duckdb.DuckDBPyConnection, call: str) -> list[dict[str, str]]:
    found = con.execute(f"FROM recommend_mask({call})")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


NOISE = "sqrt(-2 * ln((1 + hash(i) % 100000) / 100001)) * cos(6.28318 * (hash(i + 1000000) % 100000) / 100000)"


@pytest.mark.parametrize(
    ("x", "mask", "more"),
    [
        (f"2 * s + {NOISE}", "egadp_mask", ""),
        (f"exp(s * 3 + 0.3 * {NOISE})", "shuffle_mask", ""),
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


def test_a_release_that_would_tell_too_much_is_not_advised(con: duckdb.DuckDBPyConnection) -> None:
    make(con, "ME.L")
    call = "'store', conf=['x1', 'x2'], nonconf=['s1', 's2']"
    assert 'nonconf predicts "x1", "x2" too well' in advice(con, call)[0]["why"]
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
    call = """'"it''s"', conf=['x''y'], nonconf=['a "b'], "by"=['by'], on_null='mean'"""
    for row in advice(con, call):
        assert row["statement"].startswith(f"SELECT * FROM {row['mask']}({call}")
        assert len(con.execute(row["statement"]).fetchall()) == 500
