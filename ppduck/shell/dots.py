"""The dot commands."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ppduck.call.registry import functions
from ppduck.errors import listed, near_miss, quoted
from ppduck.help import page
from ppduck.query.whole_names import qualified
from ppduck.shell.results import MODES
from ppduck.shell.scripts import read_script
from ppduck.shell.session import Session
from ppduck.shell.statements import ShellError

# Tables and views, as they are to be written where the session stands, and as they may be written too.
_RELATIONS = """
    WITH relations AS (
        SELECT database_name, schema_name, table_name AS name, 'table' AS kind, sql FROM duckdb_tables()
        WHERE NOT internal
        UNION ALL
        SELECT database_name, schema_name, view_name, 'view', sql FROM duckdb_views() WHERE NOT internal
    )
    SELECT CASE WHEN database_name = current_database() AND schema_name = current_schema() OR database_name = 'temp'
                THEN name ELSE concat_ws('.', nullif(database_name, current_database()), schema_name, name) END AS name,
           kind, sql,
           [concat_ws('.', database_name, schema_name, r.name),
            CASE WHEN database_name IN (current_database(), 'temp') THEN concat_ws('.', schema_name, r.name) END,
            CASE WHEN schema_name = 'main' THEN concat_ws('.', database_name, r.name) END] AS longer
    FROM relations AS r ORDER BY ALL
"""


NARROWEST, WIDEST = 80, 100_000  # columns of a table; DuckDB draws none narrower


class Leave(Exception):  # noqa: N818 - the user's wish, and no error
    """The session is to end."""


class Command(NamedTuple):
    """A dot command: what it takes, what it does, and the words that could follow it."""

    takes: str
    summary: str
    act: Callable[[list[str], Session], None]
    most: int  # arguments


def understood(line: str) -> Callable[[Session], None]:
    """What a line such as ``.mode csv`` asks a session to do; a ShellError if it is none."""
    name, given = _words(line)
    command = COMMANDS.get(name)
    if command is None:
        known = [f".{each}" for each in COMMANDS]
        raise ShellError(
            f"there is no .{name}.{near_miss(f'.{name}', known)} .help lists the dot commands."
        )
    if len(given) > command.most:
        raise ShellError(f".{name} takes {command.takes or 'nothing'}, got {len(given)} words.")
    return partial(command.act, given)


def _words(line: str) -> tuple[str, list[str]]:
    """The command's name, without the dot that some forget, and what follows it."""
    bare = line.strip().removesuffix(";").removeprefix(".")
    name, _, rest = bare.partition(" ")
    try:
        return name.casefold(), shlex.split(rest)
    except ValueError:
        raise ShellError(f".{name}: a quotation mark has no partner.") from None


def _leave(given: list[str], session: Session) -> None:
    raise Leave


def _mode(given: list[str], session: Session) -> None:
    if not given:
        print(session.mode)
    elif given[0] not in MODES:
        raise ShellError(
            f".mode takes {', '.join(MODES)}, got {quoted(given[0])}.{near_miss(given[0], MODES)}"
        )
    else:
        session.mode = given[0]


def _maxwidth(given: list[str], session: Session) -> None:
    if not given:
        print(session.width or "that of the terminal")
    elif (
        not (given[0].isascii() and given[0].isdigit())
        or 0 < int(given[0]) < NARROWEST
        or int(given[0]) > WIDEST
    ):
        raise ShellError(
            f".maxwidth takes a number of columns from {NARROWEST} to {WIDEST}, or 0 for those of the terminal, "
            f"got {quoted(given[0])}."
        )
    else:
        session.width = int(given[0]) or None


def _timer(given: list[str], session: Session) -> None:
    if not given:
        print("on" if session.timer else "off")
    elif given[0] not in ("on", "off"):
        raise ShellError(f".timer takes on or off, got {quoted(given[0])}.")
    else:
        session.timer = given[0] == "on"


def _read(given: list[str], session: Session) -> None:
    if not given:
        raise ShellError(".read takes the name of a file with SQL.")
    file = os.path.expanduser(given[0])
    if session.is_running(file):
        raise ShellError(f".read: {file} reads itself.")
    session.run([read_script(file)])


def _tables(given: list[str], session: Session) -> None:
    found = session.con.execute(qualified(_RELATIONS)).fetchall()
    width = max((len(name) for name, *_ in found), default=0)
    for name, kind, *_ in found:
        print(name if kind == "table" else f"{name:<{width}}  (view)")


def _schema(given: list[str], session: Session) -> None:
    found = session.con.execute(qualified(_RELATIONS)).fetchall()
    wanted = given[0].casefold() if given else None
    chosen = [
        row
        for row in found
        if wanted is None or wanted in (name.casefold() for name in (row[0], *row[3]) if name)
    ]
    if not chosen and given:
        names = [name for name, *_ in found]
        rest = f"Tables: {listed(names)}." if names else "There are no tables."
        raise ShellError(
            f".schema: there is no table or view {quoted(given[0])}.{near_miss(given[0], names)} {rest}"
        )
    for _, _, text, _ in chosen:
        print(text.rstrip().removesuffix(";") + ";")


def _help(given: list[str], session: Session) -> None:
    if not given:
        print(_overview())
        return
    name = given[0].partition("(")[0].removeprefix(".").casefold()
    if name in (function.name for function in functions()):
        print(page(name))
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


COMMANDS = {
    "tables": Command("", "lists tables and views", _tables, 0),
    "schema": Command("[TABLE]", "shows the statements that made the tables", _schema, 1),
    "read": Command("FILE", "runs the SQL of a file", _read, 1),
    "mode": Command("|".join(MODES), "sets how results are printed", _mode, 1),
    "maxwidth": Command(
        "COLUMNS", "sets how wide tables may be; 0 for the terminal's width", _maxwidth, 1
    ),
    "timer": Command("on|off", "tells how long each statement took", _timer, 1),
    "help": Command("[FUNCTION]", "explains a function of ppduck's, or lists this", _help, 1),
    "quit": Command("", "leaves, as Ctrl-D and .exit do", _leave, 0),
    "exit": Command("", "leaves", _leave, 0),
}
