"""Every function on odd input; and that the fuzzer sees what it is there for."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import duckdb
import pytest

import ppduck
from ppduck.call.registry import function_named, functions
from tests.fuzz import calls, outcomes, tables, worker
from tests.fuzz.__main__ import fuzz
from tests.fuzz.calls import Call


def test_five_hundred_calls_end_well() -> None:
    found = list(fuzz(500, seed=20, patience=120))
    assert len(found) == 500
    assert [each for each in found if each.kind in outcomes.FAULTS] == []
    # A fuzzer whose calls are all refused would find nothing.
    answered = {each.function for each in found if each.kind == outcomes.ANSWER}
    assert len(answered) > len(functions()) / 2


def test_call_i_of_a_seed_is_always_the_same_statement() -> None:
    once, again = ([each.statement for each in _made(7, count=20)] for _ in range(2))
    assert once == again
    assert once != [each.statement for each in _made(8, count=20)]


def _made(seed: int, count: int) -> list[Call]:
    with ppduck.connect() as con:
        chance = random.Random(seed)
        made = [tables.make(con, chance, "t")]
        return [calls.make(chance, made) for _ in range(count)]


def test_a_raw_python_error_is_a_fault(con: duckdb.DuckDBPyConnection) -> None:
    def broken(x: int) -> int:
        raise KeyError(x)

    con.create_function("broken", broken)
    table = tables.Table("t", 1, "id", unique_key=True)
    outcome, said = worker.run(con, Call(functions()[0], table, "SELECT broken(1)"))
    assert outcome == outcomes.RAW
    assert "KeyError" in said


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT 1", outcomes.ANSWER),
        ("FROM nowhere", outcomes.DUCKDB),
        ("FROM egadp_mask('nowhere', conf=['x'])", outcomes.REFUSED),
    ],
)
def test_what_a_user_may_meet_is_none(con: duckdb.DuckDBPyConnection, statement: str, expected: str) -> None:
    table = tables.Table("t", 1, "id", unique_key=True)
    assert worker.run(con, Call(functions()[0], table, statement))[0] == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT id, x FROM t", outcomes.UNMASKED),
        ("SELECT id, CASE WHEN id % 4 = 0 THEN x ELSE x + 1 END AS x FROM t", outcomes.UNMASKED),
        ("SELECT id, x + 1e-6 AS x FROM t", outcomes.ANSWER),
        ("SELECT id, x FROM egadp_mask('t', conf=['x'], key='id')", outcomes.ANSWER),
    ],
)
def test_values_that_stay_are_a_fault(con: duckdb.DuckDBPyConnection, statement: str, expected: str) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x FROM range(200) r(i)")
    table = tables.Table("t", 200, "id", unique_key=True, numbers=["x"])
    call = Call(function_named("egadp_mask"), table, statement, {"conf": ["x"]})
    assert worker.run(con, call)[0] == expected


@pytest.mark.parametrize(("p", "expected"), [(0.8, outcomes.UNMASKED), (1.0, outcomes.ANSWER)])
def test_answers_that_stay_more_often_than_p_says_are_a_fault(
    con: duckdb.DuckDBPyConnection, p: float, expected: str
) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, ['a', 'b'][1 + i % 2] AS g FROM range(200) r(i)")
    table = tables.Table("t", 200, "id", unique_key=True, categories=["g"])
    call = Call(function_named("rr_mask"), table, "SELECT id, g FROM t", {"p": {"g": p}})
    assert worker.run(con, call)[0] == expected


def test_a_warning_is_a_word(con: duckdb.DuckDBPyConnection) -> None:
    def warned(x: float) -> float:
        warnings.warn("most values stay", ppduck.PpduckWarning, stacklevel=1)
        return x

    con.create_function("warned", warned)
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x FROM range(200) r(i)")
    table = tables.Table("t", 200, "id", unique_key=True, numbers=["x"])
    call = Call(function_named("egadp_mask"), table, "SELECT id, warned(x) AS x FROM t", {"conf": ["x"]})
    assert worker.run(con, call) == (outcomes.ANSWER, "; ".join(["most values stay"] * 200))


SAYS_AND = """
import json, os, sys, time
first, last = map(int, sys.argv[2:4])
for number in range(first, last):
    print(json.dumps(dict(number=number, function="f", statement="FROM f()")), flush=True)
    {fault}
    print(json.dumps(dict(number=number, outcome="answer", said="")), flush=True)
"""


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("time.sleep(600 if number == 1 else 0)", outcomes.HANG), ("os.abort() if number == 1 else None", outcomes.CRASH)],
)
def test_a_hang_and_a_crash_are_faults_and_not_the_end(tmp_path: Path, fault: str, kind: str) -> None:
    script = tmp_path / "worker.py"
    script.write_text(SAYS_AND.format(fault=fault))
    found = list(fuzz(3, seed=1, patience=3, worker=(str(script),)))
    assert [each.kind for each in found] == [outcomes.ANSWER, kind, outcomes.ANSWER]


def test_a_fuzzer_that_fails_itself_says_so(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text("raise SystemExit('no tables')")
    with pytest.raises(RuntimeError, match="the fuzzer itself failed behind call 0: exit code 1: no tables"):
        list(fuzz(3, seed=1, patience=30, worker=(str(script),)))
