"""Where a half-written statement stands."""

from __future__ import annotations

import gc
import time

import pytest

from ppduck.shell.scan import is_complete, parts, scan


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        ".tables",
        " .mode csv",
        "exit",
        "SELECT 1;\n.tables",
        "-- first\n.tables\n",
        "SELECT 1;",
        "SELECT 1; ",
        "SELECT 1; -- the end",
        "SELECT 1; /* the; end */\n",
        "SELECT ';' AS a, $$ ' $$ AS b, \";\" AS c;",
        "SELECT E'it\\'s';",
        "SELECT 'it''s';",
        "SELECT 1; SELECT 2;",
        "/* a /* nested */ one */ SELECT 1;",
        "SELECT (1;",
        "SELECT 1 AS a$b$c;",
        "SELECT 1 AS a$$;",
        "SELECT ($a$ ; $a$);",
        "SELECT (-1 - (2 / 3), 'a', E'\\'', [1, {'a': 2}]);",
        ".tables\n  .schema 'half\n.mode",
    ],
)
def test_what_can_be_run(text: str) -> None:
    assert is_complete(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "SELECT 1; SELECT 2",
        "SELECT ';",
        "SELECT E'\\';",
        'SELECT ";',
        "SELECT $$ ;",
        "SELECT $a$ $$;",
        "SELECT 1 -- ;",
        "SELECT 1; /* ;",
        "SELECT 1\n.tables",
        "SELECT '\n.tables",
        ".tables\nSELECT 1",
        "/* /* */ ;",
        "SELECT ('a, (1);",
        "SELECT (E'\\', 1);",
        "SELECT (1 -- );",
        "SELECT 1; .tables",
    ],
)
def test_what_is_not_finished(text: str) -> None:
    assert not is_complete(text)


def test_the_call_and_the_argument_at_the_cursor() -> None:
    place = scan("SELECT 1; SELECT f(1), * FROM egadp_mask('a, (b', conf=['x', 'y")
    assert place.quote == "'"
    assert [(each.kind, each.function) for each in place.brackets] == [("(", "egadp_mask"), ("[", None)]
    assert place.call is place.brackets[0]
    assert place.call.arguments == ["'a, (b'", " conf=['x', 'y"]
    assert place.call.parameter == "conf"
    assert place.statement.startswith(" SELECT f(1)")


@pytest.mark.parametrize(
    ("argument", "name"), [("a=", "a"), (" a := ", "a"), ("a=>1", "a"), ("a == 1", None), ("'a=", None)]
)
def test_the_name_of_an_argument(argument: str, name: str | None) -> None:
    call = scan(f"f({argument}").call
    assert call is not None
    assert call.parameter == name


def test_dot_commands_among_sql() -> None:
    text = "SELECT 1;\n\n .mode 'csv\n-- c\n/* \n*/ SELECT '\n.tables\n';  \n.timer on"
    assert [tuple(part) for part in parts(text)] == [
        (1, "SELECT 1;\n\n", False),
        (3, ".mode 'csv", True),
        (4, "-- c\n/* \n*/ SELECT '\n.tables\n';  \n", False),
        (9, ".timer on", True),
    ]


@pytest.mark.parametrize(
    "repeated",
    ["(1, 'it''s', -2.5), ", "f(1, [2], ", "'a' || ", "a$b ", "-- c\n", "/* */", ".5,\n", ";\n.x", "E'\\'' ", "(", "x"],
)
def test_long_texts_take_time_in_proportion(repeated: str) -> None:
    def seconds(size: int) -> float:
        text = "INSERT INTO t VALUES " + repeated * (size // len(repeated))
        began = time.process_time()
        is_complete(text)
        call = scan(text).call
        assert call is None or call.arguments
        return time.process_time() - began

    # Collecting garbage takes time in proportion to what the whole suite holds, not to the text.
    gc.disable()
    try:
        short, long = (min(seconds(size) for _ in range(3)) for size in (6_000, 96_000))
    finally:
        gc.enable()
    # Sixteen times as long, in up to a hundred times the time: a square would take 256.
    assert long < 100 * max(short, 0.004)
