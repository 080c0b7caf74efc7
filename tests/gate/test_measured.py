"""Rules that are figures of functions: one row for each column, over the pairs that all rules share."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import numpy as np
import pytest

from ppduck.call.registry import function_named
from ppduck.gate._measured import BY_COLUMN
from ppduck.gate.rules import COPIED, DEFAULTS, RULES
from tests.gate.releases import Rows, failed, of_rule, people
from tests.laws import insert

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]
OFF = "'tells': NULL, 'order': NULL, 'dominance': NULL, 'leverage': NULL, 'identifier': NULL, 'pattern': NULL"
CALL = "FROM release_check('t', '{}', conf=['x1', 'x2'], key='id', limits={{{}}})"


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """t of two confidential columns, good of fresh ones, and half, of which x2 is as it was."""
    rng = np.random.default_rng(3)
    s, x, y = rng.normal(size=(300, 1)), rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    insert(con, "t", ["s", "x1", "x2"], np.column_stack([s, x]))
    insert(con, "good", ["s", "x1", "x2"], np.column_stack([s, y]))
    insert(con, "half", ["s", "x1", "x2"], np.column_stack([s, y[:, 0], x[:, 1]]))
    return con


def test_a_figure_of_columns_is_told_of_each_and_one_of_the_table_once(
    tables: duckdb.DuckDBPyConnection, ask: Ask
) -> None:
    rows = ask(CALL.format("good", OFF))
    for rule in DEFAULTS:
        by_column = BY_COLUMN in {result.name for result in function_named(RULES[rule].function).results}
        assert list(of_rule(rows, rule)) == (["x1", "x2"] if by_column else [None]), rule
    assert {"x1", "x2"} < set(of_rule(rows, "copy"))
    assert failed(rows) == set()


def test_the_column_that_fails_is_named(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    found = failed(ask(CALL.format("half", OFF)))
    assert {("copy", "x2"), ("unchanged", "x2"), ("r2_gain", "x2"), ("interval", "x2"), ("near", "x2")} <= found
    assert "x1" not in {column for _, column in found}


def test_each_rule_is_the_figure_that_its_function_gives(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    given = ", ".join(f"'{rule}': {1 if RULES[rule].most == 1 else 1000}" for rule in ("r2", "mean", "linkage_own"))
    rows = ask(CALL.format("half", f"{OFF}, {given}"))
    r2 = dict(
        tables.execute(
            "SELECT column_name, r2_sy FROM value_disclosure('t', 'half', conf=['x1', 'x2'], key='id')"
        ).fetchall()
    )
    assert {name: row["value"] for name, row in of_rule(rows, "r2").items()} == pytest.approx(r2)
    linked = "SELECT linked_share FROM record_linkage('t', 'half', conf=['x1', 'x2'], key='id', standardise='own')"
    assert of_rule(rows, "linkage_own")[None]["value"] == tables.execute(linked).fetchone()[0]
    means = "SELECT max(abs(difference)) FROM moments_check('t', 'half', conf=['x1', 'x2']) WHERE statistic = 'mean'"
    largest = max(row["value"] for row in of_rule(rows, "mean").values())
    assert largest == pytest.approx(tables.execute(means).fetchone()[0])


def test_rows_that_lack_a_value_are_told_and_fail(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    assert of_rule(ask(CALL.format("good", OFF)), "left_out") == {}
    assert of_rule(ask(CALL.format("good", f"{OFF}, 'left_out': 0")), "left_out")[None]["passed"]
    tables.execute("UPDATE good SET x1 = NULL WHERE id < 30")
    told = of_rule(ask(CALL.format("good", OFF)), "left_out")[None]
    assert (told["value"], told["at_most"], told["passed"]) == (pytest.approx(0.1), 0, False)
    allowed = of_rule(ask(CALL.format("good", f"{OFF}, 'left_out': 0.1")), "left_out")[None]
    assert allowed["passed"]


def test_what_cannot_be_measured_fails(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """Or is refused, by a function that has nothing to compare."""
    tables.execute("CREATE TABLE nothing AS SELECT * REPLACE (NULL::DOUBLE AS x1) FROM good")
    with pytest.raises(duckdb.Error, match=r"pairs? (of rows )?without NULL"):
        ask(CALL.format("nothing", f"{OFF}, 'left_out': 1"))
    no_pairs = ", ".join(f"'{rule}': NULL" for rule in ("linkage", "cc_gain", "r2_gain", "interval"))
    rows = ask(CALL.format("nothing", f"{OFF}, {no_pairs}, 'left_out': 1"))
    assert ("copy", "x1") in failed(rows)
    assert of_rule(rows, "copy")["x1"]["value"] is None


def test_a_view_is_read_again_and_a_table_is_not(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute("CREATE VIEW live AS SELECT * REPLACE (x1 + 9 * random() AS x1) FROM t")
    assert ("averaging", "x1") in failed(ask(CALL.format("live", OFF)))
    assert of_rule(ask(CALL.format("good", OFF)), "averaging") == {}


def test_the_same_pairs_whatever_the_order_of_either_table(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute("CREATE TABLE turned AS SELECT x2, id, s, x1 FROM good ORDER BY id DESC")
    values = [
        {(row["rule"], row["column_name"]): row["value"] for row in ask(CALL.format(release, OFF)) if row["passed"]}
        for release in ("good", "turned")
    ]
    assert len(values[0]) > len(DEFAULTS)
    assert values[0] == pytest.approx(values[1], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("DELETE FROM good WHERE id = 3", "3|row"),
        ("UPDATE good SET id = 4 WHERE id = 3", "twice|once|unique|repeat"),
        ("UPDATE good SET id = NULL WHERE id = 3", "NULL|row"),
    ],
)
def test_rows_that_do_not_match_are_refused(tables: duckdb.DuckDBPyConnection, change: str, message: str) -> None:
    tables.execute(change)
    with pytest.raises(duckdb.Error, match=rf"release_check.*({message})"):
        tables.execute(CALL.format("good", OFF)).fetchall()


def test_what_refuses_a_copy_has_a_limit_of_its_own() -> None:
    assert all(rule.default is not None and rule.default.number is not None for rule in COPIED.values())
    assert {rule.of for rule in COPIED.values()} == set(COPIED)


def test_categories_and_numbers_are_held_to_their_own_rules(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    people(con)
    con.execute("CREATE TABLE r AS SELECT m.*, 'flu' AS disease FROM m")
    rows = ask(f"FROM release_check('t', 'r', conf=['x', 'disease'], key='id', limits={{{OFF}}})")
    assert {"x", "disease"} < set(of_rule(rows, "copy"))
    assert list(of_rule(rows, "agreement")) == ["disease"]
    assert list(of_rule(rows, "r2_gain")) == ["x"]
    assert failed(rows) == set()
