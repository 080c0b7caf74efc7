"""No message and no plan tells a value: bad cells in files, conditions that fail on a value, EXPLAIN of whole numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import ppduck
from ppduck.call.numeric_mask import NumericMask
from ppduck.call.registry import Function, Kind, PlainMacro, function_named, functions
from tests.conftest import SECRET
from tests.registry_calls import needed, takes

pytestmark = pytest.mark.core
SENTINEL = "SENTINEL-4711"
LOW, HIGH = 471147, 477771
# Arguments that every function understands alike; what a mask of numbers takes beside them, its example tells.
GIVEN = {
    "tbl": "'{}'",
    "original": "'{}'",
    "release": "'t'",
    "conf": "['x']",
    "key": "'id'",
    "qi": "['s', 'x']",
    "k": "5",
    "columns": "['a', 'b']",
    "x": "['s']",
    "y": "'x'",
}
# The arguments of functions that need others.
POLICY = (
    "{{'key': 'id', 'columns': {{'id': {{'pseudonym': 'integer'}}, 's': {{'recode': {{'rare_below': 30, 'as': 9}}}}, 'x': "
    "{{'mask': 'egadp'}}, 'g': {{'randomize': 0.8}}, 'name': 'drop', 'a': {{'mask': 'shuffle'}}, 'b': 'keep'}}, 'masks': "
    "{{'egadp': {{'nonconf': ['s']}}, 'shuffle': {{'nonconf': ['b']}}}}}}"
)
MORE = {
    "anatomy_mask": "'{}', qi=['s'], sensitive='x', l=2",
    "assert_release": "'{0}', '(FROM egadp_mask(''{0}'', conf=[''x''], nonconf=[''s''], key=''id'', drop=[''name''], "
    "seed=1) ORDER BY hash(id))', conf=['x'], nonconf=['s'], key='id', limits={{'tells': NULL}}",  # as the key does
    "attribute_disclosure": "'{}', qi=['g'], sensitive='s', p=0.8",
    "date_mask": "'(SELECT *, DATE ''1970-01-01'' + (x % 5000)::INTEGER AS d FROM \"{}\")', columns={{'d': 'shift'}}, "
    "per='id', within=30",
    "independence_test": "'{}', 'g', 's'",
    "loglinear_fit": "'{}', ['a', 'b'], 'a, b'",
    "mask_explain": "'egadp_mask', '{}', conf=['x']",
    "onn_mask": "'{}', ['x'], hidden=2",
    "pram_mask": "'{}', ['g'], p=0.8",
    "recode_mask": "'{}', recode={{'x': {{'width': 500}}, 's': {{'rare_below': 30, 'as': 9}}, 'g': {{'keep': 1}}, "
    "'a': {{'top': 'p50'}}}}",
    "release_manifest": f"'{{}}', policy={POLICY}",
    "release_table": f"'{{}}', policy={POLICY}",
    "release_intersection": "'{}', 't', key='id', conf=['x', 'g'], qi=['s', 'a'], original='t'",
    "pseudonym_mask": "'{}', columns={{'id': 'integer', 'x': 'digits', 's': 'integer', 'name': 'integer', 'g': 'hash'}}",
    "rr_association": "'{}', 'g', 's', p=0.8",
    "rr_classifier_check": "'{}', ['g'], 's'",
    "rr_conclusions": "'{}', 'g', 's'",
    "rr_covariance": "'{}', ['a', 'b'], p=0.8",
    "rr_mask": "'{}', p={{'g': 0.8}}, key='id'",
    "rr_optimize": "'{}', qi=['g'], sensitive='s', l=2",
    "rr_privacy": "tbl='(FROM rr_mask(''{}'', p={{''g'': 0.8}}))'",
    "rr_query": "'SELECT g, count(*) AS n FROM \"{}\" GROUP BY g', p={{'g': 0.8}}",
    "rr_reconstruct": "'{}', ['g'], p=0.8",
    "rr_rules": "'{}', ['a', 'b'], 0.1, 0.1, p=0.8",
    "rr_rules_accuracy": "'{}', 't', ['a', 'b'], 0.1, 0.1, p=0.8",
}
# All that read a table, but for macros of plain SQL, which nobody plans.
READING = [
    each
    for each in functions()
    if not isinstance(each, PlainMacro) and (each.kind is not Kind.HELP or takes(each, "tbl"))
]


def arguments(function: Function) -> dict[str, str | None]:
    """What a call gives, None where nobody knows it: what it must have, and of two tables which columns to compare."""
    own = needed(function) if isinstance(function, NumericMask) else {}
    compared = ("conf", "key") if takes(function, "release") else ()
    wanted = [each.name for each in function.parameters if each.default is None or each.name in (*own, *compared)]
    return {name: own.get(name, GIVEN.get(name)) for name in wanted}


def call_of(function: Function, table: str) -> str:
    given = ", ".join(f"{name}={value}" for name, value in arguments(function).items())
    return f"{function.name}({MORE.get(function.name, given).format(table)})"


def test_every_function_can_be_called() -> None:
    """Who adds a function that needs an argument which no other has gives a call of it in MORE."""
    unknown = {each.name: arguments(each) for each in READING if each.name not in MORE}
    assert {name: given for name, given in unknown.items() if None in given.values()} == {}
    assert set(MORE) <= {each.name for each in READING}


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with warnings.catch_warnings(), ppduck.connect(secret=SECRET) as connection:
        warnings.simplefilter("ignore", ppduck.PpduckWarning)
        connection.execute(
            f"CREATE TABLE t AS SELECT i AS id, i % 7 AS s, CASE i WHEN 0 THEN {LOW} WHEN 1 THEN {HIGH} ELSE "
            f"{LOW} + 1 + i * 37 % {HIGH - LOW - 1} END AS x, ['a', 'b', 'c'][1 + i % 3] AS g, "
            f"CASE i WHEN 77 THEN '{SENTINEL}' ELSE i::VARCHAR END AS name, i % 2 AS a, "
            "i // 2 % 2 AS b FROM range(200) AS rows(i)"
        )
        connection.execute("CREATE TABLE backwards AS FROM t ORDER BY id DESC")
        yield connection


# Pairs that do not lie side by side.
BACKWARDS = [call_of(each, "backwards") for each in READING if takes(each, "release")]


@pytest.mark.parametrize("call", [*(call_of(each, "t") for each in READING), *BACKWARDS])
def test_no_plan_tells_the_ends_of_a_column(con: duckdb.DuckDBPyConnection, call: str) -> None:
    for explain in ("EXPLAIN", "EXPLAIN ANALYZE"):
        shown = "".join(row[1] for row in con.execute(f"{explain} FROM {call}").fetchall())
        digits = re.sub(r"[^0-9a-z]", "", shown.lower())  # the boxes break lines
        assert str(LOW) not in digits
        assert str(HIGH) not in digits


@pytest.mark.parametrize("kind", ["cell", "line", "view", "select"])
def test_a_bad_cell_of_a_file_is_not_printed(con: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bad.csv"
    bad = {"line": f"21000,1,2,a,b,0,0,{SENTINEL}"}.get(kind, f"21000,1,{SENTINEL},a,b,0,0")
    good = "".join(f"{i},{i % 7},{i * 3},{'ab'[i % 2]},b,{i % 2},{i // 2 % 2}\n" for i in range(21000))
    path.write_text(f"id,s,x,g,name,a,b\n{good}{bad}\n")
    con.execute(f"CREATE OR REPLACE VIEW of_file AS FROM '{path}'")
    table = {"view": "of_file", "select": "(SELECT * FROM of_file)"}.get(kind, str(path))
    for function in READING if kind == "cell" else [function_named("egadp_mask")]:
        call = call_of(function, table)
        with pytest.raises(duckdb.InvalidInputException, match="reads a file of which a line or a cell") as caught:
            con.execute(f"FROM {call}").fetchall()
        assert SENTINEL not in str(caught.value)
        speaker = "egadp_mask" if function.name == "mask_explain" else function.name  # of which it is the explanation
        assert speaker in str(caught.value)


@pytest.mark.parametrize(
    "condition",
    ["CAST(name AS INTEGER) < 4", "x * 9223372036854775807 > 4", "strptime(name, ''%d'') > DATE ''2020-01-01''"],
)
@pytest.mark.parametrize("measure", [each.name for each in READING if takes(each, "pieces")])
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
