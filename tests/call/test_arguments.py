"""Arguments are read from the text that DuckDB makes of them, in each version's own spelling."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from ppduck.call import arguments
from ppduck.call.arguments import read_arguments
from ppduck.call.parameters import ColumnNames, Parameter
from ppduck.call.ranges import Range
from ppduck.errors import PpduckError

pytestmark = pytest.mark.core

PARAMETERS = (
    Parameter("tbl", arguments.words, "a table"),
    Parameter("conf", arguments.columns, "columns", "NULL"),
    Parameter("alpha", arguments.per_column(arguments.number(Range(0, 1))), "nearness", "NULL"),
    Parameter("round", arguments.flag, "rounding", "false"),
)
NOTHING = "CASE  WHEN (false) THEN (NULL) ELSE NULL END"


def read(*texts: str | None) -> dict[str, Any]:
    """What is read of the texts of the places, and behind them of those of the parameters that := names."""
    padded = [*texts, *[NOTHING] * (2 * len(PARAMETERS) - len(texts))]
    return read_arguments("some_mask", PARAMETERS, padded, evaluate=lambda sql: {"1 + 1": 2}[sql])


def positional(value: str, type_: str) -> str:
    return f"CASE  WHEN (false) THEN ({value}) ELSE CAST(NULL AS {type_}) END"


def named(name: str, value: str, type_: str, false: str = "false") -> str:
    return f"CASE  WHEN ({false}) THEN ((CAST('{name}' AS {type_}) = {value})) ELSE CAST(NULL AS BOOLEAN) END"


TABLE = positional("CAST('t' AS VARCHAR)", "VARCHAR")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (positional("list_value('x1', 'it''s')", "VARCHAR[]"), "conf", ["x1", "it's"]),
        (named("conf", "list_value('x1', '名前')", "VARCHAR[]"), "conf", ["x1", "名前"]),
        (named("conf", "['x1', 'odd \"name']", "VARCHAR[]"), "conf", ["x1", 'odd "name']),
        (named("conf", "CAST('x1' AS VARCHAR)", "VARCHAR"), "conf", ["x1"]),
        (named("conf", "list_value()", '"NULL"[]'), "conf", []),
        (named("alpha", "0.8", "DECIMAL(2,1)"), "alpha", 0.8),
        (named("alpha", "CAST(0.5 AS FLOAT)", "FLOAT"), "alpha", 0.5),
        (named("alpha", "1", "INTEGER"), "alpha", 1.0),
        (
            named("alpha", "struct_pack(0.8, 0.3)", 'STRUCT(x1 DECIMAL(2,1), "odd ""name" DECIMAL(2,1))'),
            "alpha",
            {"x1": 0.8, 'odd "name': 0.3},
        ),
        (
            positional("struct_pack(0.8, 0.3)", "STRUCT(x1 DECIMAL(2,1), x2 DECIMAL(2,1))"),
            "alpha",
            {"x1": 0.8, "x2": 0.3},
        ),
        (named("alpha", "{'x1': 0.8}", "STRUCT(x1 DOUBLE)"), "alpha", {"x1": 0.8}),
        (
            named("alpha", "\"map\"(list_value('a'), list_value(0.1))", "MAP(VARCHAR, DECIMAL(2,1))"),
            "alpha",
            {"a": 0.1},
        ),
        (named("round", "true", "BOOLEAN"), "round", True),
        (named("round", "CAST('t' AS BOOLEAN)", "BOOLEAN", "CAST('f' AS BOOLEAN)"), "round", True),
        (named("round", "CAST('f' AS BOOLEAN)", "BOOLEAN", "CAST('f' AS BOOLEAN)"), "round", False),
    ],
)
def test_values(text: str, name: str, value: Any) -> None:
    texts = (
        [TABLE, text]
        if "= " in text.partition("THEN")[2].partition("ELSE")[0] or name == "conf"
        else [TABLE, None, text]
    )
    assert read(*texts) == {"tbl": "t", name: value}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            named(
                "rules",
                "struct_pack(struct_pack(5, -1.5), struct_pack(list_value(1, 2)))",
                'STRUCT("the age" STRUCT(width INTEGER, top DECIMAL(2,1)), b STRUCT(breaks INTEGER[]))',
            ),
            {"the age": {"width": 5, "top": -1.5}, "b": {"breaks": [1, 2]}},
        ),
        (
            named(
                "rules",
                "\"map\"(list_value('a'), list_value(struct_pack(5)))",
                "MAP(VARCHAR, STRUCT(width INTEGER))",
            ),
            {"a": {"width": 5}},
        ),
        (
            named("rules", "struct_pack(list_value(struct_pack(5, NULL)))", 'STRUCT(a STRUCT(width INTEGER, top "NULL")[])'),
            {"a": [{"width": 5, "top": None}]},
        ),
        (named("rules", "struct_pack(struct_pack(1 + 1))", "STRUCT(a STRUCT(width INTEGER))"), {"a": {"width": 2}}),
    ],
)  # fmt: skip
def test_structs_within_structs_have_their_names(text: str, value: Any) -> None:
    rules = Parameter("rules", lambda value: value, "rules by column")
    found = read_arguments("some_mask", [rules], [text, NOTHING], evaluate=lambda _: {"_0": {"_0": 2}})
    assert found == {"rules": value}


def test_null_counts_as_not_given() -> None:
    assert read(TABLE, named("conf", "CAST(NULL AS VARCHAR)", "VARCHAR")) == {"tbl": "t"}


NESTED = 'STRUCT(x VARCHAR, "y z" STRUCT("as" VARCHAR, salt VARCHAR))'
FORMS = {"x": "token", "y z": {"as": "hash", "salt": "s"}}


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        ("struct_pack('token', struct_pack('hash', 's'))", NESTED, FORMS),
        ("struct_pack('token', struct_pack('hash', lower('S')))", NESTED, FORMS),
        ("list_value(struct_pack('1', 'b'))", "STRUCT(a VARCHAR, b VARCHAR)[]", [{"a": "1", "b": "b"}]),
        ("list_value(struct_pack('1', lower('B')))", "STRUCT(a VARCHAR, b VARCHAR)[]", [{"a": "1", "b": "b"}]),
        ("\"map\"(list_value('y z'), list_value(struct_pack('1')))", "MAP(VARCHAR, STRUCT(a VARCHAR))", {"y z": {"a": "1"}}),
        ("\"map\"(list_value('y z'), list_value(struct_pack(f())))", "MAP(VARCHAR, STRUCT(a VARCHAR))", {"y z": {"a": "1"}}),
    ],
)  # fmt: skip
def test_structs_within_others_have_their_names(value: str, type_: str, expected: object) -> None:
    # What DuckDB gives for an expression: structs that have no names of their own.
    answers = {
        "{'_0': 'token', '_1': {'_0': 'hash', '_1': LOWER('S')}}": {"_0": "token", "_1": {"_0": "hash", "_1": "s"}},
        "[{'_0': '1', '_1': LOWER('B')}]": [{"_0": "1", "_1": "b"}],
        "MAP(['y z'], [{'_0': F()}])": {"y z": {"_0": "1"}},
    }
    own = (Parameter("columns", arguments.Reader("all", lambda value: value), "any"),)
    found = read_arguments("f", own, [positional(value, type_), NOTHING], answers.__getitem__)
    assert found == {"columns": expected}


def test_expressions_are_asked_of_duckdb() -> None:
    with pytest.raises(PpduckError, match="alpha must be from 0 to 1, got 2"):
        read(TABLE, named("alpha", "(1 + 1)", "INTEGER"))


def test_named_arguments_may_stand_anywhere() -> None:
    found = read(
        named("round", "true", "BOOLEAN"), named("conf", "list_value('x')", "VARCHAR[]"), named("tbl", "'t'", "VARCHAR")
    )
    assert found == {"tbl": "t", "conf": ["x"], "round": True}


def test_a_place_takes_nothing_from_a_parameter_that_is_named() -> None:
    by_place = [TABLE, named("round", "true", "BOOLEAN"), NOTHING, NOTHING]
    by_name = [NOTHING, positional("list_value('x')", "VARCHAR[]"), NOTHING, NOTHING]
    assert read(*by_place, *by_name) == {"tbl": "t", "round": True, "conf": ["x"]}
    with pytest.raises(PpduckError, match="parameter 'tbl' is given twice"):
        read(*by_place, TABLE)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([NOTHING], "some_mask: parameter 'tbl' is missing: a table"),
        ([TABLE, named("cnof", "'x'", "VARCHAR")], r"there is no parameter 'cnof'\. Did you mean \"conf\"\?"),
        ([TABLE, positional("'x'", "VARCHAR"), named("conf", "'y'", "VARCHAR")], "parameter 'conf' is given twice"),
        ([TABLE, positional("3", "INTEGER")], "conf takes a column name or a list of column names"),
        ([TABLE, None, positional("7", "INTEGER")], "alpha must be from 0 to 1, got 7"),
        ([TABLE, None, positional("true", "BOOLEAN")], "alpha takes a number from 0 to 1"),
        ([TABLE, None, None, positional("1", "INTEGER")], "round takes true or false"),
    ],
)
def test_refusals(texts: list[str | None], message: str) -> None:
    with pytest.raises(PpduckError, match=message):
        read(*texts)


@pytest.mark.parametrize(
    ("reader", "takes", "refused"),
    [
        (arguments.flag, "true or false", {1: "takes true or false"}),
        (arguments.choice("a", "b"), "one of 'a', 'b'", {"c": "takes one of 'a', 'b'"}),
        (arguments.number(Range(0, 1)), "a number from 0 to 1", {"c": "takes a number from 0 to 1", 2: "must be from 0 to 1"}),
        (arguments.number(Range(0), ": why"), "a number of at least 0, and finite", {math.inf: "must be at least 0, and finite: why"}),
        (arguments.column_list, "a list of column names, such as ['x1', 'x2']", {"x1": "takes a list of column names, such as ['x1', 'x2']"}),
        (arguments.whole(2), "a whole number of at least 2", {1: "must be at least 2", 2.5: "takes a whole number of at least 2"}),
        (arguments.whole(2, 1000, ": why"), "a whole number from 2 to 1,000", {1001: "must be from 2 to 1,000: why"}),
        (arguments.per_column(arguments.number(Range(0, 1))), "a number from 0 to 1, or {'column': number} of them", {"c": "takes a number from 0 to 1, or {'column': number} of them", 2: "must be from 0 to 1"}),
    ],
)  # fmt: skip
def test_readers_say_what_they_take(reader: arguments.Reader, takes: str, refused: dict[Any, str]) -> None:
    assert Parameter("some", reader, "something").takes == takes
    for value, message in refused.items():
        with pytest.raises(arguments.MisreadError, match=f"^{re.escape(message)}$"):
            reader(value)


@pytest.mark.parametrize(
    ("reader", "options", "columns"),
    [
        (arguments.choice("a", "b"), ("a", "b"), None),
        (arguments.words, (), None),
        (arguments.column, (), ColumnNames.LISTED),
        (arguments.columns, (), ColumnNames.LISTED),
        (arguments.column_list, (), ColumnNames.LISTED),
        (arguments.per_column(arguments.integer), (), ColumnNames.KEYED),
        (str, (), None),
    ],
)
def test_what_programs_ask_of_a_reader(reader: Any, options: tuple[str, ...], columns: ColumnNames | None) -> None:
    parameter = Parameter("some", reader, "something")
    assert (parameter.options, parameter.columns) == (options, columns)


def test_whole_numbers_at_the_ends_of_their_range() -> None:
    assert [arguments.whole(2, 1000)(value) for value in (2, 1000)] == [2, 1000]


def test_decimals_at_the_ends_of_a_range() -> None:
    """As double, 0.999999 is a little less than the decimal that an expression such as 1 - 0.000001 gives."""
    assert arguments.number(Range(0.1, 0.999999))(Decimal("0.999999")) == 0.999999
    assert arguments.number(Range(0.1, 0.999999))(Decimal("0.1")) == 0.1


def test_a_number_too_large_for_a_double_is_refused() -> None:
    for within in (Range(0, 1), Range(0)):
        with pytest.raises(arguments.MisreadError, match=f"^must be {within}"):
            arguments.number(within)(10**400)


def test_a_reader_may_be_a_plain_function() -> None:
    assert Parameter("some", str, "something").takes is None


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (
            "struct_pack(struct_pack(5, -1), 'x', list_value(struct_pack(7)))",
            'STRUCT("the first" STRUCT(width INTEGER, "at" INTEGER), b VARCHAR, c STRUCT(w INTEGER)[])',
            {"the first": {"width": 5, "at": -1}, "b": "x", "c": [{"w": 7}]},
        ),
        (
            "\"map\"(list_value('a'), list_value(struct_pack(5)))",
            "MAP(VARCHAR, STRUCT(w INTEGER))",
            {"a": {"w": 5}},
        ),
    ],
)
def test_structs_inside_keep_their_names(value: str, type_: str, expected: Any) -> None:
    """DuckDB hands them on without: the declared type has them."""
    rules = Parameter("rules", arguments.reader("rules")(lambda given: given), "rules")
    for text in (named("rules", value, type_), positional(value, type_)):
        with duckdb.connect() as con:
            found = read_arguments(
                "some_mask", (rules,), [text, NOTHING], lambda sql: con.execute(f"SELECT {sql}").fetchall()[0][0]
            )
        assert found == {"rules": expected}
