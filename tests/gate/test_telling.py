"""Columns that were changed are held against what they were, whoever declared them."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest

from tests.gate.releases import Rows, failed, of_rule, people

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]
OFF = "limits={'linkage': NULL, 'cc_gain': NULL, 'r2_gain': NULL, 'interval': NULL, 'order': NULL%s}"
DRAWN = "(('0x' || substr(md5('a secret' || {}), 1, 8))::BIGINT % {})::INTEGER"


@pytest.fixture
def look(con: duckdb.DuckDBPyConnection, ask: Ask) -> Callable[..., Rows]:
    """What the gate says of a release with another value in place of the original's c, which is kept."""
    people(con, 600)
    con.execute(f"""
        CREATE TABLE o AS SELECT t.*, DATE '1940-01-01' + {DRAWN.format("'day' || id", 20_000)} AS born, id // 2 AS person,
            (DATE '1940-01-01' + {DRAWN.format("'day' || id", 20_000)})::TIMESTAMP + INTERVAL (id * 37) SECOND AS seen,
            round(30 + {DRAWN.format("'weight' || id", 9000)} / 100, 1) AS weight, {DRAWN.format("'zip' || id", 90)} AS zip
        FROM t
        """)

    def asked(value: str, column: str, more: str = "", role: str = "keep") -> Rows:
        con.execute(
            f"CREATE OR REPLACE TABLE r AS SELECT m.* EXCLUDE (age), {value} AS {column} FROM m JOIN o USING (id)"
        )
        said = f"{role}=['{column}'], " if role else ""
        return ask(f"FROM release_check('o', 'r', conf=['x'], key='id', {said}{OFF % more})")

    return asked


MOVED = {
    "born + 100": "born",
    "born - INTERVAL 5 YEAR": "born",
    "born::TIMESTAMP + INTERVAL 3 DAY": "born",
    "DATE '2100-01-01' - (born - DATE '1900-01-01')::INTEGER": "born",
    "epoch(born)::BIGINT": "born",
    "(born + 40)::VARCHAR": "born",
    "seen + INTERVAL 12345 SECOND": "seen",
    "if(id % 10 = 0, NULL, born + 7)": "born",
    "o.age + 1": "age",
    "1000 - o.age": "age",
    "weight * 2.2046": "weight",
    "weight + 12.5": "weight",
    "ln(weight)": "weight",
    "zip * 100 + 8000": "zip",
}


@pytest.mark.parametrize("role", ["keep", ""])
@pytest.mark.parametrize("value", MOVED)
def test_a_column_that_moved_as_a_whole_tells_what_it_was(look: Callable[..., Rows], value: str, role: str) -> None:
    column = MOVED[value]
    rows = look(value, column, role=role)
    assert ("tells", column) in failed(rows)
    assert of_rule(rows, "tells")[column]["why"].startswith(f"tells {column}, read as ")
    if role and "VARCHAR" not in value:
        assert failed(rows) == {("tells", column)}


@pytest.mark.parametrize("role", ["nonconf", "qi"])
def test_whoever_declares_it(look: Callable[..., Rows], role: str) -> None:
    assert ("tells", "age") in failed(look("o.age + 1", "age", role=role))


HARMLESS = {
    "date_trunc('month', born)": "born",
    "date_trunc('year', born)::DATE": "born",
    "year(born)": "born",
    "year(born)::VARCHAR": "born",
    f"born + ({DRAWN.format('id', 61)} - 30)": "born",
    f"born + ({DRAWN.format('person', 731)} - 365)": "born",
    f"seen + INTERVAL ({DRAWN.format('id', 5_000_000)}) SECOND": "seen",
    "seen::DATE": "seen",
    "born": "born",
    "born::TIMESTAMP": "born",
    "weight::FLOAT": "weight",
    "round(weight)": "weight",
    "floor(weight / 10) * 10": "weight",
    "if(weight > 100, 100, weight)": "weight",
    f"weight + {DRAWN.format('id', 100)} / 10.0": "weight",
    "(floor(zip / 10) * 10)::INTEGER": "zip",
    "('[' || (zip // 10) * 10 || '-' || (zip // 10) * 10 + 9 || ']')": "zip",
    "(if(zip < 50, 'below', 'above'))::ENUM('below', 'above')": "zip",
    "left(lpad(zip::VARCHAR, 2, '0'), 1)": "zip",
}


@pytest.mark.parametrize("value", HARMLESS)
def test_what_is_coarse_or_moved_one_by_one_and_declared_passes(look: Callable[..., Rows], value: str) -> None:
    column = HARMLESS[value]
    assert failed(look(value, column)) == set()


def test_a_limit_of_one_lets_it_pass(look: Callable[..., Rows]) -> None:
    assert failed(look("born + 100", "born", ", 'tells': 0.4")) == {("tells", "born")}
    assert failed(look("born + 100", "born", ", 'tells': 1")) == set()


def test_what_it_was_stands_beside_what_it_tells_of_conf(look: Callable[..., Rows]) -> None:
    rows = look("round(o.x)::INTEGER", "zip")
    assert of_rule(rows, "tells")["zip"]["why"].startswith("tells x, read as it is")
