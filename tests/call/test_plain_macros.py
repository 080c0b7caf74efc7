"""Macros of sql/ppduck.sql as functions of ppduck: declared as others are, judged by their own SQL."""

from __future__ import annotations

import re

import duckdb
import pytest

from ppduck.call import plain_macros
from ppduck.call.registry import PlainMacro, function_named, functions
from ppduck.query import tree as sql
from ppduck.query import whole_names
from ppduck.query.whole_names import qualified

pytestmark = pytest.mark.core


def plain() -> list[PlainMacro]:
    return [function for function in functions() if isinstance(function, PlainMacro)]


def test_every_registered_macro_stands_in_the_file() -> None:
    assert plain()
    for macro in plain():
        assert f"MACRO {macro.name}(" in plain_macros.text(), macro.name


def test_a_macro_takes_what_is_declared_by_place_and_by_name(con: duckdb.DuckDBPyConnection) -> None:
    for macro in plain():
        taken = con.execute(
            "SELECT parameters FROM duckdb_functions() WHERE function_name = $1 AND database_name = 'temp'",
            [macro.name],
        ).fetchone()
        names = [parameter.name for parameter in macro.parameters]
        assert taken == ([*(f"_{place}" for place in range(1, len(names) + 1)), *names],)


def test_defaults_are_those_of_the_file() -> None:
    for macro in plain():
        own = [each.signature if each.default else rf"{each.name}(?: := NULL)?" for each in macro.parameters]
        assert re.search(rf"MACRO {macro.name}\({', '.join(own)}\) AS TABLE", plain_macros.text()), macro.signature


def test_a_call_goes_on_as_it_was_written() -> None:
    plan = function_named("k_anonymity").plan(None, {"tbl": "'t'", "qi": "list_value('a')"})  # type: ignore[arg-type]
    assert isinstance(plan, sql.Expr)
    written = qualified(sql.render(plan), "temp.main.{}".format)
    assert written == "SELECT * FROM temp.main._pp_plain_k_anonymity(tbl := 't', qi := list_value('a'))"


def test_helpers_are_made_before_what_calls_them() -> None:
    file = {
        "_pp_half": "x) AS x / 2",
        "_pp_unused": "x) AS x",
        "halves": "x) AS TABLE SELECT _pp_half(abs(x))",
    }
    assert plain_macros.as_temporary(file, ["halves"]) == [
        "CREATE OR REPLACE TEMP MACRO _pp_half(x) AS x / 2",
        "CREATE OR REPLACE TEMP MACRO _pp_plain_halves(x) AS TABLE SELECT temp.main._pp_half(system.main.abs(x))",
    ]


def test_the_file_is_cut_where_duckdb_cuts_it() -> None:
    with duckdb.connect() as con:
        statements = [each.query.strip().removesuffix(";") for each in con.extract_statements(plain_macros.text())]
    own = [f"CREATE OR REPLACE MACRO {name}({body}" for name, body in plain_macros.bodies().items()]
    assert [_without_comments_behind(each) for each in statements] == own


def _without_comments_behind(statement: str) -> str:
    """DuckDB leaves the comments before the next statement with the one before."""
    found = re.match(r"(.*?);?\s*(?:\n--[^\n]*)*$", statement[statement.index("CREATE") :], re.DOTALL)
    assert found is not None
    return found[1].removesuffix(";")


def test_what_looks_like_a_call_is_duckdbs_function_or_named_as_none() -> None:
    with duckdb.connect() as con:
        known = {name for (name,) in con.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()}
    called = {
        found["name"] for found in whole_names._CALLS.finditer(plain_macros.text()) if whole_names._is_function(found)
    }
    known |= {"dense_rank", "lag", "lead", "row_number"}  # which DuckDB 1.4 does not list
    assert {name for name in called - set(plain_macros.bodies()) if name.lower() not in known} == plain_macros.NO_CALLS
