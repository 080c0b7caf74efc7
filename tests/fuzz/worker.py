"""Makes calls one after the other and says of each, before and after, on standard output: one JSON a line.

A process of its own, so that a hang or a crash is an outcome and not the end.
"""

from __future__ import annotations

import json
import random
import sys
import warnings

import duckdb

import ppduck
from tests.fuzz import calls, outcomes, tables

CALLS_A_TABLE = 40
SECRET = "a secret that fuzzing may know"


def call_number(
    con: duckdb.DuckDBPyConnection, seed: int, number: int, made: dict[int, list[tables.Table]]
) -> calls.Call:
    """Call i of a seed, with its tables in the database."""
    block = number // CALLS_A_TABLE
    if block not in made:
        chance = random.Random(f"tables {seed} {block}")
        made.clear()
        made[block] = [tables.make(con, chance, f"t{letter}") for letter in "ab"]
    return calls.make(random.Random(f"call {seed} {number}"), made[block])


def run(con: duckdb.DuckDBPyConnection, call: calls.Call) -> tuple[str, str]:
    """The class of a call's outcome, and what was said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = con.execute(call.statement)
            names, rows = [each[0] for each in answer.description], answer.fetchall()
        except Exception as error:
            return outcomes.of_error(error), str(error)
    said = [str(each.message) for each in caught]
    return outcomes.of_answer(con, call, names, rows, warned=bool(said)), "; ".join(said)


def main() -> None:
    seed, first, last = map(int, sys.argv[1:4])
    con = ppduck.connect(secret=SECRET, config={"autoinstall_known_extensions": False})
    made: dict[int, list[tables.Table]] = {}
    for number in range(first, last):
        call = call_number(con, seed, number, made)
        print(json.dumps({"number": number, "function": call.function.name, "statement": call.statement}), flush=True)
        outcome, said = run(con, call)
        print(json.dumps({"number": number, "outcome": outcome, "said": said}), flush=True)


if __name__ == "__main__":
    main()
