"""The dot commands of the prompt."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Callable
from typing import NamedTuple

from ppduck.errors import listed, near_miss, quoted
from ppduck.plan.registry import Function, functions
from ppduck.shell.command import read_script
from ppduck.shell.results import MODES
from ppduck.shell.session import Session
from ppduck.shell.statements import ShellError

# Tables and views, as they are to be written where the session stands.
_RELATIONS = """
    WITH relations AS (
        SELECT database_name, schema_name, table_name AS name, 'table' AS kind, sql FROM duckdb_tables()
        WHERE NOT internal
        UNION ALL
        SELECT database_name, schema_name, view_name, 'view', sql FROM duckdb_views() WHERE NOT internal
    )
    SELECT CASE WHEN database_name = current_database() AND schema_name = current_schema() OR database_name = 'temp'
                THEN name ELSE concat_ws('.', nullif(database_name, current_database()), schema_name, name) END AS name,
           kind, sql
    FROM relations ORDER BY ALL
"""


class Leave(Exception):  # noqa: N818 - the user's wish, and no error
    """The session is to end."""


class Command(NamedTuple):
    """A dot command: what it takes, what it does, and the words that could follow it."""

    takes: str
    summary: str
    act: Callable[[Session, list[str]], None]
    most: int  # arguments


def run(session: Session, line: str) -> None:
    """Carries out a line such as ``.mode csv``."""
    name, given = _words(line)
    command = COMMANDS.get(name)
    if command is None:
        known = [f".{each}" for each in COMMANDS]
        raise ShellError(f"there is no .{name}.{near_miss(f'.{name}', known)} .help lists the dot commands.")
    if len(given) > command.most:
        raise ShellError(f".{name} takes {command.takes or 'nothing'}, got {len(given)} words.")
    command.act(session, given)


def _words(line: str) -> tuple[str, list[str]]:
    """The command's name, without the dot that some forget, and what follows it."""
    bare = line.strip().removesuffix(";").removeprefix(".")
    name, _, rest = bare.partition(" ")
    try:
        return name.casefold(), shlex.split(rest)
    except ValueError:
        raise ShellError(f".{name}: a quotation mark has no partner.") from None


def _leave(session: Session, given: list[str]) -> None:
    raise Leave


def _mode(session: Session, given: list[str]) -> None:
    if not given:
        print(session.mode)
    elif given[0] not in MODES:
        raise ShellError(f".mode takes {', '.join(MODES)}, got {quoted(given[0])}.{near_miss(given[0], MODES)}")
    else:
        session.mode = given[0]


def _timer(session: Session, given: list[str]) -> None:
    if not given:
        print("on" if session.timer else "off")
    elif given[0] not in ("on", "off"):
        raise ShellError(f".timer takes on or off, got {quoted(given[0])}.")
    else:
        session.timer = given[0] == "on"


def _read(session: Session, given: list[str]) -> None:
    if not given:
        raise ShellError(".read takes the name of a file with SQL.")
    session.run([read_script(os.path.expanduser(given[0]))])


def _tables(session: Session, given: list[str]) -> None:
    found = session.con.execute(_RELATIONS).fetchall()
    width = max((len(name) for name, _, _ in found), default=0)
    for name, kind, _ in found:
        print(name if kind == "table" else f"{name:<{width}}  (view)")


def _schema(session: Session, given: list[str]) -> None:
    found = session.con.execute(_RELATIONS).fetchall()
    wanted = given[0].casefold() if given else None
    chosen = [row for row in found if wanted is None or row[0].casefold() == wanted]
    if not chosen and given:
        names = [name for name, _, _ in found]
        rest = f"Tables: {listed(names)}." if names else "There are no tables."
        raise ShellError(f".schema: there is no table or view {quoted(given[0])}.{near_miss(given[0], names)} {rest}")
    for _, _, text in chosen:
        print(text.rstrip().removesuffix(";") + ";")


def _help(session: Session, given: list[str]) -> None:
    if not given:
        print(_overview())
        return
    name = given[0].partition("(")[0].removeprefix(".").casefold()
    function = next((each for each in functions() if each.name == name), None)
    if function is not None:
        print(explained(function))
    elif name in COMMANDS:
        print(_line(name))
    else:
        known = [*(each.name for each in functions()), *(f".{each}" for each in COMMANDS)]
        raise ShellError(
            f".help: there is no function {quoted(given[0])}.{near_miss(given[0], known)} "
            "FROM ppduck_functions() lists them; DuckDB's own are described at https://duckdb.org/docs."
        )


def _overview() -> str:
    lines = [_line(name) for name in COMMANDS]
    keys = (
        "A statement ends with ; and may take many lines. Tab completes names and parameters, the arrow keys\n"
        "and Ctrl-R find earlier statements. Ctrl-C clears the input or cancels the running query, Ctrl-D leaves.\n"
        "FROM ppduck_functions(); lists what ppduck adds to SQL."
    )
    return "\n".join([*lines, "", keys])


def _line(name: str) -> str:
    command = COMMANDS[name]
    return f"{f'.{name} {command.takes}'.rstrip():<38} {command.summary}"


def explained(function: Function) -> str:
    """What the registry knows of a function."""
    width = max(len(parameter.name) for parameter in function.parameters) if function.parameters else 0
    lines = [function.signature, "", *textwrap.wrap(function.summary, 100), ""]
    for parameter in function.parameters:
        default = "required" if parameter.default is None else f"default {parameter.default}"
        text = f"{parameter.name:<{width}}  {parameter.doc} ({default})"
        lines += textwrap.wrap(text, 100, initial_indent="  ", subsequent_indent=" " * (width + 4))
    return "\n".join([*lines, *([""] if function.parameters else []), f"Reference: {function.reference}"])


COMMANDS = {
    "tables": Command("", "lists tables and views", _tables, 0),
    "schema": Command("[TABLE]", "shows the statements that made the tables", _schema, 1),
    "read": Command("FILE", "runs the SQL of a file", _read, 1),
    "mode": Command("|".join(MODES), "sets how results are printed", _mode, 1),
    "timer": Command("on|off", "tells how long each statement took", _timer, 1),
    "help": Command("[FUNCTION]", "explains a function of ppduck's, or lists this", _help, 1),
    "quit": Command("", "leaves, as Ctrl-D and .exit do", _leave, 0),
    "exit": Command("", "leaves", _leave, 0),
}
