"""The tables of the examples: what is in them is enough for every example, and the same each time."""

from __future__ import annotations

import re

import duckdb
import pytest

from ppduck.call.registry import functions
from ppduck.guide.demo import DEMO

pytestmark = pytest.mark.core
MADE = dict(re.findall(r"^CREATE (?:TABLE|VIEW) (\w+) AS(.*?);$", DEMO, re.MULTILINE | re.DOTALL))


def test_every_table_of_the_examples_is_there() -> None:
    read = {
        name
        for each in functions()
        for name in re.findall(r"\b(customers|survey|baskets|released)(?:_rr)?\b'", each.example)
    }
    assert read <= set(MADE)
    assert {"customers", "survey", "baskets", "released", "released_before", "survey_rr", "baskets_rr"} == set(MADE)


def test_they_are_made_without_chance() -> None:
    plain = DEMO.partition("CREATE TABLE released")[0]
    found = []
    for _ in range(2):
        with duckdb.connect() as con:
            con.execute(plain)
            found.append([con.execute(f"FROM {name}").fetchall() for name in ("customers", "survey", "baskets")])
    assert found[0] == found[1]
    assert [len(rows) for rows in found[0]] == [400, 2000, 2000]


def test_no_row_stands_out_and_no_level_is_rare() -> None:
    with duckdb.connect() as con:
        con.execute(DEMO.partition("CREATE TABLE released")[0])
        [(least,)] = con.execute(
            "SELECT min(n) FROM (SELECT count(*) AS n FROM survey GROUP BY gender, disease, smoker)"
        ).fetchall()
        [(farthest,)] = con.execute(
            "SELECT max(abs(x1 - m) / s) FROM customers, (SELECT avg(x1) AS m, stddev(x1) AS s FROM customers)"
        ).fetchall()
    assert least > 20
    assert farthest < 4
