"""python -m tests.attacks.simulated_gain [--draws 100] [--first 0]

In how many simulations the range of inference gain of egadp_mask holds 0, each of other people and with other noise.
"""

from __future__ import annotations

import argparse
import warnings

import duckdb

import ppduck
from ppduck.errors import PpduckWarning
from tests.attacks.conftest import NORMAL
from tests.conftest import SECRET

PEOPLE = 200


def held(con: duckdb.DuckDBPyConnection, draws: range) -> int:
    """Leaves tables ``t`` and ``r`` behind."""
    found = 0
    for i in draws:
        con.execute(
            f"CREATE OR REPLACE TABLE t AS SELECT i AS id, {NORMAL.format('a')} AS age, CAST(hash(i, 's') % 3 AS VARCHAR) AS "
            f"segment, age + {NORMAL.format('x')} AS income FROM range({i * PEOPLE}, {(i + 1) * PEOPLE}) r(i)"
        )
        con.execute(
            "CREATE OR REPLACE TABLE r AS FROM "
            f"egadp_mask('t', conf=['income'], nonconf=['age','segment'], key='id', seed={i})"
        )
        [(lower, upper)] = con.execute(
            "SELECT lower, upper FROM release_attack('t', 'r', conf=['income'], known=['age','segment'], key='id', "
            "attacks=['inference'])"
        ).fetchall()
        found += lower <= 0 <= upper
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", PpduckWarning)
    with duckdb.connect() as con:
        ppduck.load(con, SECRET)
        found = held(con, range(asked.first, asked.first + asked.draws))
    print(f"0 lies within the range of gain in {found} of {asked.draws} simulations")


if __name__ == "__main__":
    main()
