"""No message and no plan tells a value: bad cells in files, conditions that fail on a value, EXPLAIN of whole numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import ppduck
from ppduck.call.registry import functions
from tests.conftest import SECRET

pytestmark = pytest.mark.core
SENTINEL = "SENTINEL-4711"
LOW, HIGH = 471147, 477771
MORE = {
    "assert_release": "'{}', 't', conf=['x'], key='id', limits={{'unchanged': 1}}",
    "anatomy_mask": "'{}', qi=['s'], sensitive='x', l=2",
    "egadp_plain": "'{}', ['x'], 'a secret of some length', 'id'",
    "equivalence_test": "'{}', 't', y='x', x=['s'], key='id'",
    "generalize_mask": "'{}', qi=['s', 'x'], k=5",
    "k_anonymity": "'{}', ['x']",
    "kim_mask": "'{}', ['x'], 0.3",
    "l_diversity": "'{}', ['s'], 'x'",
    "microaggregate_mask": "'{}', ['x'], 5",
    "noise_mask": "'{}', ['x'], 0.3",
    "onn_mask": "'{}', ['x'], hidden=2",
    "pram_mask": "'{}', ['g'], p=0.8",
    "rank_swap_mask": "'{}', ['x'], 20",
    "rr_mask": "'{}', p={{'g': 0.8}}, key='id'",
    "sufficiency_mask": "'{}', ['x'], 0.3",
}


def calls(table: str, *, planned: bool = False) -> Iterator[str]:
    """A call of every function that reads numbers, of this table."""
    for each in functions():
        names = [parameter.name for parameter in each.parameters]
        if each.name in MORE:
            given = MORE[each.name].format(table)
        elif names[:1] == ["original"] and each.name != "rr_rules_accuracy":
            given = f"'{table}', 't', conf=['x']" + (", key='id'" if "key" in names else "")
        elif names[:2] == ["tbl", "conf"]:
            given = f"'{table}', ['x']"
        else:
            continue
        plain = each.name in ("egadp_plain", "k_anonymity", "l_diversity")  # macros of plain SQL, which nobody plans
        if not (planned and plain):
            yield f"{each.name}({given})"


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with warnings.catch_warnings(), ppduck.connect(secret=SECRET) as connection:
        warnings.simplefilter("ignore", ppduck.PpduckWarning)
        connection.execute(
            f"CREATE TABLE t AS SELECT i AS id, i % 7 AS s, CASE i WHEN 0 THEN {LOW} WHEN 1 THEN {HIGH} ELSE "
            f"{LOW} + 1 + i * 37 % {HIGH - LOW - 1} END AS x, ['a', 'b', 'c'][1 + i % 3] AS g, "
            f"CASE i WHEN 77 THEN '{SENTINEL}' ELSE i::VARCHAR END AS name FROM range(200) AS rows(i)"
        )
        connection.execute("CREATE TABLE backwards AS FROM t ORDER BY id DESC")
        yield connection


# Pairs that do not lie side by side.
BACKWARDS = [call for call in calls("backwards", planned=True) if ", 't', " in call]


@pytest.mark.parametrize("call", [*calls("t", planned=True), *BACKWARDS])
def test_no_plan_tells_the_ends_of_a_column(con: duckdb.DuckDBPyConnection, call: str) -> None:
    for explain in ("EXPLAIN", "EXPLAIN ANALYZE"):
        shown = "".join(row[1] for row in con.execute(f"{explain} FROM {call}").fetchall())
        digits = re.sub(r"[^0-9a-z]", "", shown.lower())  # the boxes break lines
        assert str(LOW) not in digits
        assert str(HIGH) not in digits


@pytest.mark.parametrize("kind", ["cell", "line", "view", "select"])
def test_a_bad_cell_of_a_file_is_not_printed(con: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bad.csv"
    bad = {"line": f"21000,1,2,a,b,{SENTINEL}"}.get(kind, f"21000,1,{SENTINEL},a,b")
    path.write_text("id,s,x,g,name\n" + "".join(f"{i},{i % 7},{i * 3},a,b\n" for i in range(21000)) + bad + "\n")
    con.execute(f"CREATE OR REPLACE VIEW of_file AS FROM '{path}'")
    table = {"view": "of_file", "select": "(SELECT * FROM of_file)"}.get(kind, str(path))
    chosen = list(calls(table, planned=True)) if kind == "cell" else [f"egadp_mask('{table}', ['x'])"]
    for call in chosen:
        with pytest.raises(duckdb.InvalidInputException, match="reads a file of which a line or a cell") as caught:
            con.execute(f"FROM {call}").fetchall()
        assert SENTINEL not in str(caught.value)
        assert call.partition("(")[0] in str(caught.value)


@pytest.mark.parametrize(
    "condition",
    ["CAST(name AS INTEGER) < 4", "x * 9223372036854775807 > 4", "strptime(name, ''%d'') > DATE ''2020-01-01''"],
)
@pytest.mark.parametrize("measure", ["value_disclosure", "mse_security", "canonical_security"])
def test_a_condition_that_fails_on_a_value_does_not_tell_it(
    con: duckdb.DuckDBPyConnection, measure: str, condition: str
) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="pieces cannot be computed for every row") as caught:
        con.execute(f"FROM {measure}('t', 't', conf=['x'], key='id', nonconf=['s'], pieces=['{condition}'])")
    assert not re.search(f"{SENTINEL}|{LOW}", str(caught.value))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM t WHERE CAST(name AS INTEGER) < 4",
        "SELECT count(*) AS n FROM t WHERE x * 9223372036854775807 > 4",
        "SELECT CAST(name AS INTEGER) AS k, count(*) AS n FROM t GROUP BY k",
        "SELECT count(*) AS n FROM t WHERE CAST(g AS INTEGER) < 4",
    ],
)
def test_a_query_that_fails_on_a_value_does_not_tell_it(con: duckdb.DuckDBPyConnection, query: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="query cannot be computed for every row") as caught:
        con.execute(f"FROM rr_query('{query}', p={{'g': 0.8, 'name': 1, 'x': 1}})")
    assert not re.search(f"{SENTINEL}|{LOW}|'a'", str(caught.value))


def test_levels_that_cannot_be_read_are_not_told(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE OR REPLACE VIEW casts AS SELECT id, s, x, CAST(CAST(name AS INTEGER) AS VARCHAR) AS name FROM t"
    )
    with pytest.raises(duckdb.InvalidInputException, match="egadp_mask: DuckDB cannot read it") as caught:
        con.execute("FROM egadp_mask('casts', conf=['x'])")
    assert SENTINEL not in str(caught.value)
