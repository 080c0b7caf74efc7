"""Measures over views of masks: the planner's cursor learns the function that a view names, and no other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import duckdb
import pytest

import ppduck
from ppduck.call.registry import Function, functions
from tests.conftest import SECRET
from tests.registry_calls import masks_of_conf, more, takes

# With p, a function is of randomized answers and compares no numbers.
MEASURES = [each for each in functions() if takes(each, "original") and not takes(each, "p")]
GIVEN = {
    "conf": "conf=['x']",
    "key": "key='id'",
    "y": "y='x'",
    "x": "x=['s']",
}


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with warnings.catch_warnings(), ppduck.connect(secret=SECRET) as connection:
        warnings.simplefilter("ignore", ppduck.PpduckWarning)
        connection.execute(
            "CREATE TABLE t AS SELECT i AS id, sin(i * 12.9898) * 3 AS s, cos(i * 78.233) + sin(i * 12.9898) AS x "
            "FROM range(200) AS rows(i)"
        )
        yield connection


def call(measure: str, release: str) -> str:
    [function] = [each for each in MEASURES if each.name == measure]
    wanted = [p.name for p in function.parameters[2:] if p.default is None or p.name in GIVEN]
    given = ["'t'", f"'{release}'", *(GIVEN[name] for name in wanted)]
    return f"{measure}({', '.join(given)})"


@pytest.mark.core
@pytest.mark.parametrize("mask", masks_of_conf(), ids=lambda mask: mask.name)
def test_a_view_of_every_mask_can_be_measured(con: duckdb.DuckDBPyConnection, mask: Function) -> None:
    given = f"'t', conf=['x'], key='id'{more(mask)}"
    con.execute(f'CREATE VIEW "The {mask.name} view" AS SELECT * FROM {mask.name}({given})')
    con.execute(f'CREATE VIEW "over {mask.name}" AS SELECT id, s, x FROM "The {mask.name} view"')
    found = con.execute(f"""FROM {call("unchanged_values", f'"over {mask.name}"')}""").fetchall()
    name, unchanged, *_ = found[-1]
    assert name == "x"
    assert unchanged < 10  # of 200; a shuffle may leave some by chance


@pytest.mark.core
@pytest.mark.parametrize("measure", [each.name for each in MEASURES])
def test_every_measure_sees_a_view_of_a_mask_whose_name_holds_anothers(
    con: duckdb.DuckDBPyConnection, measure: str
) -> None:
    con.execute("CREATE OR REPLACE VIEW \"egadp_mask does not exist!\" AS FROM nm_egadp_mask('t', ['x'], key='id')")
    con.execute('CREATE OR REPLACE VIEW shapes AS FROM "egadp_mask does not exist!"')
    assert con.execute(f"DESCRIBE FROM {call(measure, 'shapes')}").fetchall()


@pytest.mark.parametrize("name", ["nm_egadp_mask", "NM_EGADP_MASK", '"nm_egadp_mask"'])
def test_names_are_compared_as_duckdb_compares_them(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.execute(f"CREATE OR REPLACE VIEW named AS FROM {name}('t', ['x'], key='id')")
    assert con.execute("DESCRIBE FROM moments_check('t', 'named')").fetchall()


def test_why_a_view_cannot_be_read_is_said(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE gone AS FROM t")
    con.execute("CREATE VIEW of_gone AS FROM egadp_mask('gone', ['x'], key='id')")
    con.execute("ALTER TABLE gone RENAME COLUMN x TO z")
    with pytest.raises(
        duckdb.InvalidInputException, match=r'cannot see "of_gone"\. egadp_mask on "gone": conf names col'
    ):
        con.execute("FROM moments_check('t', 'of_gone')")
    con.execute("CREATE VIEW of_other AS FROM gone")
    con.execute("DROP TABLE gone")
    with pytest.raises(
        duckdb.InvalidInputException, match=r'cannot see "of_other"\. DuckDB says: Catalog Error: Table with name gone'
    ):
        con.execute("FROM moments_check('t', 'of_other')")


def test_a_function_that_nobody_knows_is_named(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE MACRO my_egadp_mask(a) AS TABLE FROM t")
    con.execute("CREATE VIEW of_macro AS FROM my_egadp_mask(1)")
    con.execute("DROP MACRO TABLE my_egadp_mask")
    with pytest.raises(duckdb.InvalidInputException, match="Table Function with name my_egadp_mask does not exist"):
        con.execute("FROM moments_check('t', 'of_macro')")
