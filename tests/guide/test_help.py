"""ppduck_help() tells of every function what its registration holds, and its examples run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import duckdb
import pytest

import ppduck
from ppduck.call import registry
from ppduck.call.registry import function_named, functions, masks, presented
from ppduck.errors import PpduckWarning
from ppduck.guide.demo import DEMO
from tests.conftest import SECRET

WARNS = {"rr_classifier_check"}  # which is its work


@pytest.fixture(scope="module")
def demo() -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect(secret=SECRET) as con:
        con.execute(DEMO)
        yield con


def told(con: duckdb.DuckDBPyConnection, name: str) -> list[tuple[str | None, ...]]:
    return con.execute(f"FROM ppduck_help('{name}')").fetchall()


def section(rows: list[tuple[str | None, ...]], name: str) -> list[str | None]:
    return [row[2] for row in rows if row[0] == name]


def test_help_for_a_mask(demo: duckdb.DuckDBPyConnection) -> None:
    relation = demo.sql("FROM ppduck_help('egadp_mask')")
    assert relation.columns == ["section", "name", "description", "default_value", "takes"]
    rows = relation.fetchall()
    assert list(dict.fromkeys(row[0] for row in rows)) == [
        *("signature", "summary", "parameter", "guarantee", "not guaranteed", "reference", "example"),
    ]
    assert rows[0][2].startswith("egadp_mask(tbl, conf, nonconf := NULL, ")
    parameters = {row[1]: row[2:] for row in rows if row[0] == "parameter"}
    assert list(parameters) == ["tbl", "conf", "nonconf", "strata", "key", "seed", "on_null", "round", "drop"]
    assert parameters["conf"][1:] == ("required", "a column name or a list of column names, such as ['x1', 'x2']")
    assert parameters["on_null"] == (
        "NULL in nonconf is refused, is a level of its category, leaves its row out, or counts as the mean; refused by "
        "default, because each of the others changes what the release keeps",
        "'error'",
        "one of 'error', 'level', 'drop', 'mean'",
    )
    assert parameters["round"][1:] == ("false", "true or false")
    explained = demo.execute("SELECT role, note FROM mask_explain('egadp_mask', 'customers', conf=['x1'])").fetchall()
    assert section(rows, "guarantee") == [note for role, note in explained if role == "guaranteed"]
    assert section(rows, "not guaranteed") == [note for role, note in explained if role == "not guaranteed"]
    assert section(rows, "example") == [function_named("egadp_mask").example]


def test_help_for_a_randomizing_mask(demo: duckdb.DuckDBPyConnection) -> None:
    """The same as mask_explain says of a call that names nothing but p, whose epsilon only that can know."""
    rows = told(demo, "rr_mask")
    explained = demo.execute("SELECT role, note FROM mask_explain('rr_mask', 'survey', p={'gender': 0.9})").fetchall()
    kept = [note for role, note in explained if role == "guaranteed"]
    assert section(rows, "guarantee")[1:] == kept[1:]
    assert section(rows, "guarantee")[0] == kept[0].replace("epsilon 2.2", "the epsilon of their design")
    assert section(rows, "not guaranteed") == [note for role, note in explained if role == "not guaranteed"]
    [takes] = [row[4] for row in rows if row[:2] == ("parameter", "p")]
    assert takes == "a number from 0.000000001 to 0.999999999, or 1, or {'column': number} of them"


def test_the_plain_mask_promises_what_the_other_does_but_for_null_and_by(demo: duckdb.DuckDBPyConnection) -> None:
    plain, planned = told(demo, "egadp_plain"), told(demo, "egadp_mask")
    assert section(plain, "reference") == section(planned, "reference") != []
    kept, other = section(plain, "guarantee"), section(planned, "guarantee")
    assert kept[1:] == other[1:] != []
    assert kept[0].partition("; ")[2] == "NULL in conf or nonconf is refused"
    assert other[0].startswith(kept[0].partition(";")[0])
    lost = section(plain, "not guaranteed")
    assert not any("and by" in line for line in lost)
    assert "the order of rows" in lost


def test_a_function_that_masks_nothing_promises_nothing(demo: duckdb.DuckDBPyConnection) -> None:
    rows = told(demo, "k_anonymity")
    assert {row[0] for row in rows} == {"signature", "summary", "parameter", "result", "reference", "example"}
    assert ("parameter", "k", "the size that no group may fall below", "NULL", "a whole number of at least 1") in rows


@pytest.mark.parametrize("function", functions(), ids=lambda function: function.name)
def test_every_function_is_told_whole(demo: duckdb.DuckDBPyConnection, function: ppduck.call.registry.Function) -> None:
    rows = told(demo, function.name)
    assert section(rows, "signature") == [function.signature]
    assert section(rows, "summary") == [function.summary]
    assert [row[1] for row in rows if row[0] == "parameter"] == [p.name for p in function.parameters]
    assert [row for row in rows if row[0] == "parameter" and not row[4]] == [], "a reader says what it takes: reader()"
    ends = {each.when: f"; only {each.when}" if each.when else "" for each in function.results}
    assert section(rows, "result") == [each.meaning + ends[each.when] for each in function.results]
    assert section(rows, "example") == [function.example]


@pytest.mark.parametrize("name", [function.name for function in functions()])
def test_every_example_runs(demo: duckdb.DuckDBPyConnection, name: str) -> None:
    statement = function_named(name).example
    assert f"{name}(" in statement
    assert "\n" not in statement
    demo.execute("BEGIN")  # what it makes goes again
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = demo.execute(statement).fetchall()
    finally:
        demo.execute("ROLLBACK")
    assert {warning.category for warning in warned} == ({PpduckWarning} if name in WARNS else set())
    assert found or statement.startswith("CREATE")


def test_every_function_says_what_it_answers_and_how_it_is_called() -> None:
    assert [each.name for each in functions() if not each.example] == []
    assert [each.name for each in functions() if not each.results and each not in masks().values()] == []


@pytest.mark.parametrize("function", [each for each in functions() if each.results], ids=lambda function: function.name)
def test_results_are_those_of_the_example(demo: duckdb.DuckDBPyConnection, function: registry.Function) -> None:
    """Columns of the table itself may stand beside them."""
    described = {row[0]: row[1] for row in demo.execute(f"DESCRIBE {function.example}").fetchall()}
    declared = {each.name: each.type for each in function.results if not each.when or each.name in described}
    assert {name: described.get(name) for name in declared} == declared


def test_without_a_name_all_are_listed(demo: duckdb.DuckDBPyConnection) -> None:
    relation = demo.sql("FROM ppduck_help()")
    assert set(map(str, relation.types)) == {"VARCHAR"}
    rows = relation.fetchall()
    assert {row[0] for row in rows} == {"function"}
    assert [row[1:3] for row in rows] == [(function.name, function.summary) for function in presented()]
    assert rows[0][1] in masks()


@pytest.mark.parametrize(
    "call", ["ppduck_help(' EGADP_Mask ')", "ppduck_help(name='egadp_mask')", "ppduck_help(name := 'egadp_mask')"]
)
def test_ways_to_ask(demo: duckdb.DuckDBPyConnection, call: str) -> None:
    assert demo.execute(f"FROM {call}").fetchall() == told(demo, "egadp_mask")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'egadp_maks'", r"ppduck_help: there is no function 'egadp_maks'\. Did you mean \"egadp_mask\"\? FROM ppduck_help\(\) lists"),
        ("'zzz'", r"ppduck_help: there is no function 'zzz'\. FROM ppduck_help\(\) lists"),
        ("''", r"ppduck_help: there is no function ''\."),
        ("'egadp_mask'' OR 1'", r"there is no function"),
        ("7", r"ppduck_help: name takes a text in single quotes, got 7"),
        ("function='egadp_mask'", r"there is no parameter 'function'\..* Parameters: \"name\""),
    ],
)  # fmt: skip
def test_what_is_refused(demo: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        demo.execute(f"FROM ppduck_help({call})")
