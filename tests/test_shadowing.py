"""Macros that bear the names of functions and operators: none changes what a mask releases."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ppduck
from ppduck.call.registry import PlainMacro, function_named, functions
from ppduck.catalogue.operators import EXPRESSIONS, PROBE, REFUSED
from ppduck.extension import macros
from ppduck.extension.planner import Planner
from ppduck.guide.demo import DEMO
from ppduck.query.whole_names import foreign, qualified
from tests.laws import steady

SECRET = "a secret for these tests"
MASKED = "FROM noise_mask('t', conf=['x'], level=0.2, key='id')"
T = "CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x, sin(i * 7) AS y FROM range(60) r(i)"
# DuckDB finds these functions when it binds an operator.
OPERATORS = {"ARRAY_EXTRACT": "array_extract", "ARRAY_SLICE": "array_slice", "STRUCT_EXTRACT": "struct_extract",
             "ARRAY_CONSTRUCTOR": "list_value"}  # fmt: skip


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[Any]:
    return sorted(map(repr, con.execute(query).fetchall()))


def ended(con: duckdb.DuckDBPyConnection, query: str) -> list[Any] | duckdb.Error:
    """The rows of a query, or the error that it ended with."""
    try:
        return rows(con, query)
    except duckdb.Error as error:
        return error


def answers(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """What the example of every function gives."""
    found = {}
    for name, query in ((each.name, each.example) for each in functions()):
        if query.startswith("CREATE"):
            query = query[query.index(" AS FROM ") + 4 :]
        cursor = con.execute(query)
        left_out = [i for i, column in enumerate(cursor.description) if column[0] == "seconds"]
        read = [[steady(value) for i, value in enumerate(row) if i not in left_out] for row in cursor.fetchall()]
        found[name] = sorted(map(repr, read))
    return found


@pytest.fixture(scope="module")
def unshadowed() -> Iterator[tuple[dict[str, list[str]], dict[str, str]]]:
    """The answers of all examples, and the statement that was planned for each."""
    plans = {}
    plan = Planner.plan

    def watched(self: Planner, first: str, others: list[list[str | None]], name: str, here: list[str]) -> str:
        plans[name] = plan(self, first, others, name, here)
        return plans[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Planner, "plan", watched)
        with ppduck.connect(secret=SECRET) as con:
            con.execute(DEMO)
            yield answers(con), plans


def called(node: Any) -> Iterator[tuple[str, str]]:
    """(schema, name) of every function in DuckDB's own tree of a statement."""
    for part in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
        yield from called(part)
    if isinstance(node, dict):
        if node.get("class") in ("FUNCTION", "WINDOW"):
            yield f"{node.get('catalog', '')}.{node.get('schema', '')}", node["function_name"]
        elif node.get("class") == "OPERATOR" and node["type"] in OPERATORS:
            yield ".", OPERATORS[node["type"]]


@pytest.mark.core
@pytest.mark.filterwarnings("ignore::ppduck.PpduckWarning")
def test_every_call_in_a_plan_is_qualified_or_looked_for(
    unshadowed: tuple[dict[str, list[str]], dict[str, str]],
) -> None:
    _, plans = unshadowed
    assert len(plans) > 45
    with duckdb.connect() as con:
        con.execute("SET max_expression_depth = 100000")
        own_macros = dict(
            con.execute(
                "SELECT function_name, macro_definition FROM duckdb_functions() WHERE function_type = 'macro'"
            ).fetchall()
        )
        names = set()
        for name, statement in plans.items():
            [(text,)] = con.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()
            parsed = json.loads(text)
            assert not parsed["error"], f"{name}: {parsed.get('error_message')}"
            found = set(called(parsed["statements"]))
            loose = {each for schema, each in found if schema not in ("system.main", "temp.main")}
            assert loose <= set(EXPRESSIONS), name
            # Lists are calls of list_value, but for those in what the user gave to a plain macro.
            assert "list_value" not in loose or isinstance(function_named(name), PlainMacro), name
            names |= {each for _, each in found}
    assert {"cos", "hash", "+", "array_extract"} <= names
    # DuckDB's own macros call others by their bare names.
    for each in names & set(own_macros):
        inner = set(re.findall(r"(\w+)\(", own_macros[each])) - {"CAST"}
        assert inner <= set(EXPRESSIONS), each


def plant(con: duckdb.DuckDBPyConnection, kind: str, names: list[str]) -> None:
    """A macro for each name that says so when it is called, with up to four parameters."""
    for name in names:
        body = f"system.main.error('planted {name}')"
        overloads = ", ".join(f"({', '.join('abcd'[:i])}) AS {body}" for i in range(5))
        quoted = '"' + name.replace('"', '""') + '"'
        con.execute(f"CREATE OR REPLACE {kind} MACRO {quoted}{overloads}")


@pytest.mark.filterwarnings("ignore::ppduck.PpduckWarning")
def test_macros_of_every_other_name_change_nothing(
    unshadowed: tuple[dict[str, list[str]], dict[str, str]], tmp_path: Path
) -> None:
    """All at once: persistent ones, which the planner would meet, below temporary ones, which the caller would."""
    before, plans = unshadowed
    own = set(re.findall(r"\b(ppduck_\w+?)_[0-9a-f]{16}\(", " ".join(plans.values())))
    assert {"ppduck_solve", "ppduck_keyed_words_1", "ppduck_keyed_draws"} <= own
    path = str(tmp_path / "planted.db")
    with duckdb.connect(path) as con:
        names = con.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
        planted = sorted(({name for (name,) in names} | own | {"ppduck_plan", "_pp_ident"}) - set(REFUSED))
    assert len(planted) > 800
    with ppduck.connect(path, secret=SECRET) as con:
        con.execute(DEMO)
    with duckdb.connect(path) as con:
        plant(con, "", planted)
        for mask in ("egadp_mask", "rr_mask", "release_check", "k_anonymity"):
            con.execute(f"CREATE MACRO {mask}(tbl, conf := 1, key := 1, p := 1) AS TABLE FROM main.customers")
    with duckdb.connect(path) as con:
        plant(con, "TEMP", planted)
        ppduck.load(con, SECRET)
        assert answers(con) == before


def loaded(before: str = "", after: str = "") -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute(T + ";CREATE SCHEMA beside;" + before)
    ppduck.load(con, SECRET)
    con.execute(after or "SELECT 1")
    return con


def macro(name: str, place: str) -> str:
    """A macro whose body would let every value pass."""
    arguments = {"len": "a", "list_value": "a", "struct_pack": "d", "array_slice": "a, b, c"}.get(name, "a, b")
    kind = "TEMP MACRO " if place == "temp" else f"MACRO {place}."
    return f'CREATE {kind}"{name}"({arguments}) AS {arguments[0]};'


@pytest.mark.core
@pytest.mark.parametrize("place", ["temp", "main"])
def test_a_macro_in_place_of_syntax_is_refused(place: str) -> None:
    with loaded() as con:
        expected = rows(con, MASKED)
        for name in EXPRESSIONS:
            con.execute(macro(name, place))
            database = "temp" if place == "temp" else "memory"
            drop = f'DROP MACRO "{database}"."main"."{name}";'
            with pytest.raises(
                duckdb.Error, match=re.escape("noise_mask: a macro stands in place of") + ".*" + re.escape(drop)
            ):
                con.execute(MASKED)
            with pytest.raises(duckdb.Error, match=f"{re.escape(drop)}|Macro {re.escape(name)}"):
                con.execute("FROM k_anonymity('t', ['id'])")
            con.execute(drop)
        assert rows(con, MASKED) == expected


@pytest.mark.core
def test_macros_in_place_of_syntax_that_were_there_before_are_refused() -> None:
    """Also beside the search path: a view there would find them, and its own schema may be set later."""
    for place in ("main", "beside", "temp"):
        planted = "".join(macro(name, place) for name in ("+", "list_value"))
        refused = (duckdb.Error, ppduck.PpduckError)  # by the first call, or by load where DuckDB cannot make macros
        with pytest.raises(refused, match=r'"\+" in schema "\w+"."\w+".*"list_value"'), loaded(before=planted) as con:
            con.execute(MASKED)


@pytest.mark.core
def test_a_view_meets_the_macros_of_its_own_schema() -> None:
    with loaded() as con:
        con.execute(f"CREATE VIEW beside.v AS {MASKED}")
        expected = rows(con, "FROM beside.v")
        assert rows(con, MASKED) == expected
        con.execute(macro("*", "beside"))
        for query in ("FROM beside.v", MASKED, "SET search_path = 'beside,main'; " + MASKED):
            with pytest.raises(duckdb.Error, match=r'DROP MACRO "memory"."beside"."\*";'):
                con.execute(query)


@pytest.mark.core
def test_a_macro_that_shows_the_probe_an_honest_body_is_found_in_the_catalogue(tmp_path: Path) -> None:
    honest = "CREATE MACRO list_value(a) AS system.main.list_value(a), (a, b) AS system.main.list_value(a)"
    # Plain macros have longer lists, which it is no list of: DuckDB meets it when they are made.
    named = r'"list_value" in schema "memory"."main"'
    with pytest.raises(ppduck.PpduckError, match=named), loaded(before=honest) as con:
        con.execute(MASKED)
    path = str(tmp_path / "other.db")
    with duckdb.connect(path) as con:
        con.execute(honest)
    with loaded() as con:
        con.execute(MASKED)
        con.execute(f"ATTACH '{path}' AS other")
        with pytest.raises(duckdb.Error, match=r'DROP MACRO "other"."main"."list_value";'):
            con.execute(MASKED)


def bodies(name: str, other: str) -> str:
    """A macro of lists that is honest about those of one item only."""
    longer = ", ".join(f"({', '.join(f'a{i}' for i in range(n))}) AS {other}" for n in range(2, 60))
    return f"{name}(a0) AS system.main.list_value(a0), {longer}"


HONEST_TO_THE_PROBE = {
    "the first only": "CREATE {} " + bodies("list_value", "system.main.list_value(a0)"),
    "capitals": "CREATE {} " + bodies('"LIST_VALUE"', "system.main.list_value(a1, a0)"),
    "by type": "CREATE {} list_value(a) AS system.main.list_value(a), (a DOUBLE) AS system.main.list_value(0e0)",
    "fields": "CREATE {} struct_pack(d INTEGER) AS system.main.struct_pack(d := d), "
    "(x DECIMAL(3, 2)) AS system.main.struct_pack(x := 1e-9)",
    "+": 'CREATE {} "+"(a INTEGER, b INTEGER) AS a OPERATOR(main.+) b, (a, b) AS a',
    "*": 'CREATE {} "*"(a INTEGER, b INTEGER) AS a OPERATOR(main.*) b, (a, b) AS 0 * a',
}


@pytest.mark.core
@pytest.mark.parametrize("which", HONEST_TO_THE_PROBE)
@pytest.mark.parametrize("kind", ["TEMP MACRO", "MACRO", "MACRO beside."])
def test_a_macro_with_an_honest_body_made_after_the_first_call_changes_nothing(kind: str, which: str) -> None:
    # A list that the user writes means what a temporary macro of the user makes of it; a persistent one may be another's.
    more = "FROM kim_mask('t', conf=['x', 'y'], level=0.2, key='id')"
    masks = [MASKED.replace("0.2", "{'x': 0.25}"), *([] if kind.startswith("TEMP") else [more])]
    with loaded() as con:
        if kind == "MACRO":
            con.execute("DROP SCHEMA beside")
        else:
            con.execute("SET search_path = 'beside,main'")
        expected = [rows(con, mask) for mask in masks]
        with contextlib.suppress(duckdb.CatalogException):  # DuckDB 1.4 has no OPERATOR(main.+) in macros
            con.execute(HONEST_TO_THE_PROBE[which].format(kind).replace("beside. ", "beside."))
        for mask, before in zip(masks, expected, strict=True):
            refused = r"DROP MACRO|Macro \w+\(\) does not support|Max expression depth"
            assert ended(con, mask) == before or re.search(refused, str(ended(con, mask)))


@pytest.mark.core
def test_the_setting_integer_division_changes_no_figure() -> None:
    """The share of 30 values out of 60 that stay is a half, not 0."""
    copied = "(SELECT * REPLACE (CASE WHEN id < 30 THEN x ELSE x + 1 END AS x) FROM t)"
    checks = [
        f"FROM unchanged_values('t', '{copied}', conf=['x'], key='id')",
        f"SELECT rule, column_name, value, passed FROM release_check('t', '{copied}', conf=['x'], nonconf=['s'], key='id')",
    ]
    with loaded() as con:
        expected = [rows(con, check) for check in checks]
        con.execute("SET integer_division = true")
        assert [rows(con, check) for check in checks] == expected
    assert "('x', False, 30, " in expected[0][0]


@pytest.mark.core
def test_a_prepared_statement_is_bound_again_or_stays_as_it_was() -> None:
    with loaded() as con:
        con.execute(f"PREPARE masked AS {MASKED}")
        expected = rows(con, "EXECUTE masked")
        con.execute(macro("cos", "main") + macro("hash", "temp"))
        assert rows(con, "EXECUTE masked") == expected
        con.execute(macro("*", "temp"))
        with pytest.raises(duckdb.Error, match=r'DROP MACRO "temp"."main"."\*";'):
            con.execute("EXECUTE masked")


@pytest.mark.core
def test_the_planner_reads_views_by_its_own_functions() -> None:
    with ppduck.connect(secret=SECRET) as con:
        con.execute("CREATE TABLE p AS SELECT i AS id, ['a', 'b'][1 + i % 2] AS g FROM range(300) r(i)")
        con.execute("CREATE VIEW p_rr AS FROM rr_mask('p', p={'g': 0.8}, key='id')")
        expected = rows(con, "FROM rr_reconstruct('p_rr', ['g'])")
        con.execute("CREATE MACRO rr_mask(tbl, p := 1, key := 1) AS TABLE FROM main.p")
        con.execute("CREATE MACRO duckdb_views() AS TABLE SELECT 1 AS view_name")
        con.execute("CREATE MACRO duckdb_tables() AS TABLE SELECT 1 AS table_name")
        assert rows(con, "FROM rr_reconstruct('p_rr', ['g'])") == expected


@pytest.mark.core
def test_what_the_user_writes_means_what_it_means_to_the_user() -> None:
    with loaded() as con:
        con.execute("CREATE MACRO sqrt(a) AS a + 1000; CREATE MACRO chosen() AS ['x']; CREATE MACRO low(a) AS a < 30")
        chosen = "FROM egadp_mask('(SELECT id, sqrt(s) AS s, x FROM t)', conf=chosen(), nonconf=['s'], key='id')"
        found = con.execute(f"SELECT min(s) FROM ({chosen})").fetchone()
        assert found is not None
        assert found[0] > 990
        con.execute("CREATE TABLE r AS FROM egadp_mask('t', conf=['x', 'y'], nonconf=['s'], key='id')")
        pieces = "FROM value_disclosure('t', 'r', conf=['x', 'y'], nonconf=['s'], key='id', pieces=['low(id)'])"
        found = con.execute(pieces).fetchall()
        assert found == con.execute(pieces.replace("low(id)", "id < 30")).fetchall()
        assert found != con.execute(pieces.replace("low(id)", "true")).fetchall()


def test_the_probe_is_what_its_parts_are() -> None:
    with duckdb.connect() as con:
        [(text,)] = con.execute(f"SELECT {PROBE}").fetchall()
    *parts, literals = macros.own_syntax()
    assert text == f'"row"({", ".join(parts)})'
    assert len(set(parts)) == len(EXPRESSIONS)
    assert "list_value('i0', 'i1', 'i2')" in literals


def test_only_calls_are_qualified() -> None:
    statement = """SELECT COUNT(*) AS "cos(x)", 'cos(x)', CAST(a AS DECIMAL(3, 1)), main.f(x) FROM r WHERE a IN (1)"""
    expected = statement.replace("COUNT", "system.main.COUNT")
    assert qualified(statement) == expected
    lists = """SELECT [1, x[2]], list_sort([]), ['[', ([y])[1]]::DOUBLE[], {'a': [z]}, CAST(a AS UBIGINT[2])"""
    assert qualified(lists) == (
        "SELECT system.main.list_value(1, x[2]), system.main.list_sort(system.main.list_value()), "
        "system.main.list_value('[', (system.main.list_value(y))[1])::DOUBLE[], "
        "{'a': system.main.list_value(z)}, CAST(a AS UBIGINT[2])"
    )
    assert qualified("SELECT '/', a / b // c", integer_division=True) == "SELECT '/', a / 1e0 / b // c"
    theirs = """(SELECT cos('it''s'), [1 / 2] -- "
    )"""
    assert qualified(f"SELECT sin(x) FROM {foreign(theirs)}, cos(1)") == (
        f"SELECT system.main.sin(x) FROM {theirs}, system.main.cos(1)"
    )
