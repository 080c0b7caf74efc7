"""Where a half-written statement stands."""

from __future__ import annotations

import pytest

from ppduck.shell.scan import is_complete, scan


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
