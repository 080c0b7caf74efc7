"""The ppduck command: runs SQL scripts with ppduck loaded and prints results as DuckDB's shell does."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
from duckdb import StatementType as Kind

import ppduck
from ppduck.errors import PpduckError, PpduckWarning

MOST_ROWS = 40
WIDTH_WITHOUT_TERMINAL = 120

_WRITES = (Kind.CREATE, Kind.INSERT, Kind.UPDATE, Kind.DELETE, Kind.MERGE_INTO, Kind.COPY)
_UDF_PREFIX = "Python exception occurred while executing the UDF: PpduckError: "
# DuckDB 1.4 appends the Python stack to what a UDF raises, one "file(line): function" a line.
_UDF_STACK = re.compile(r"\n+At:(\n  .+\(\d+\): .+)+\n*")
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)


class ShellError(Exception):
    """What the user is told before the command ends with exit code 1."""


class Statement(NamedTuple):
    """One statement, with the name of its script and the line on which it starts there."""

    script: str
    line: int
    text: str
    kind: Kind = Kind.INVALID

    def failed(self, message: str) -> ShellError:
        """The error to raise, in words of the script and not of the Python that ran it."""
        plain = _UDF_STACK.sub("\n\n", message).replace(_UDF_PREFIX, "").rstrip()
        # DuckDB counts lines in the text that it ran; spaces in their place keep the caret where it points.
        unnumbered = _LINE.sub(lambda number: " " * len(number[0]), plain)
        return ShellError(f"{unnumbered}\n  in {self.script}, line {self.line}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is 0, 1 after an error, or 2 for a call that makes no sense."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")  # boxes must print whatever the locale says
    warnings.simplefilter("always", PpduckWarning)
    warnings.showwarning = _show_warning
    parser = _parser()
    arguments = parser.parse_intermixed_args(argv)
    file, database = _places(parser, arguments)
    if not arguments.commands and file is None and (sys.stdin is None or sys.stdin.isatty()):
        parser.print_usage(sys.stderr)
        return 2
    try:
        _run_all(_scripts(arguments.commands, file), database, arguments.readonly)
        return 0
    except ShellError as error:
        print(f"Error: {error}", file=sys.stderr)
    except OSError as error:
        # Nobody reads on (| head), or the disk is full. Unless the rest goes nowhere, Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"Error: cannot write the results: {error.strerror}", file=sys.stderr)
    return 1


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"Warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ppduck",
        description="Runs SQL in DuckDB with ppduck loaded: from a file, from -c, or from standard input.",
        epilog="PPDUCK_SECRET in the environment keys the noise.",
    )
    parser.add_argument("places", nargs="*", metavar="FILE.sql | DATABASE", help="the script and the database")
    parser.add_argument(
        "-c", dest="commands", metavar="SQL", action="append", default=[], help="SQL to run; repeatable"
    )
    parser.add_argument("--readonly", action="store_true", help="open the database read-only")
    parser.add_argument("--version", action="version", version=f"ppduck {ppduck.__version__}")
    return parser


def _places(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> tuple[str | None, str]:
    """The script's file, if one is named, and the database."""
    files = [place for place in arguments.places if place.casefold().endswith(".sql")]
    databases = [place for place in arguments.places if place not in files]
    if len(files) > 1 or len(databases) > 1:
        parser.error("give at most one script (a name that ends in .sql) and one database")
    if files and arguments.commands:
        parser.error("give a script or -c, not both")
    if arguments.readonly and not databases:
        parser.error("--readonly needs a database")
    return next(iter(files), None), next(iter(databases), ":memory:")


def _scripts(commands: Sequence[str], file: str | None) -> list[tuple[str, str]]:
    """The scripts to run, each with the name that messages give it."""
    name = "-c" if commands else file or "standard input"
    try:
        if commands:
            contents = [os.fsencode(command) for command in commands]
        else:
            contents = [Path(file).read_bytes() if file else sys.stdin.buffer.read()]
        names = [name] if len(contents) == 1 else [f"{name} number {n}" for n in range(1, len(contents) + 1)]
        return [(name, content.decode("utf-8-sig")) for name, content in zip(names, contents, strict=True)]
    except OSError as error:
        raise ShellError(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ShellError(f"{name} is not UTF-8 text: see byte {error.start + 1}") from None


def _run_all(scripts: Sequence[tuple[str, str]], database: str, readonly: bool) -> None:
    """Runs the scripts one after the other, once all of them are known to parse."""
    with contextlib.closing(_open(database, readonly)) as con:
        # DuckDB draws it where the results go, after two seconds of work: good in a terminal, and nowhere else.
        con.execute(f"SET enable_progress_bar = {str(sys.stdout.isatty()).lower()}")
        for statement in [statement for name, text in scripts for statement in _parsed(con, name, text)]:
            try:
                shown = _run(con, statement)
            except (duckdb.Error, RuntimeError) as error:  # an interrupt is a RuntimeError
                raise statement.failed(str(error)) from None
            if shown is not None:
                print(shown, flush=True)


def _open(database: str, readonly: bool) -> duckdb.DuckDBPyConnection:
    config = {"python_enable_replacements": "false"}  # names in SQL shall not find this program's variables
    try:
        return ppduck.connect(database, read_only=readonly, config=config)
    except (duckdb.Error, PpduckError) as error:
        raise ShellError(f"cannot open {database}: {' '.join(str(error).split())}") from None


def _parsed(con: duckdb.DuckDBPyConnection, script: str, content: str) -> Iterator[Statement]:
    for line, text in _pieces(content):
        statement = Statement(script, line, text)
        if text.startswith("."):
            raise statement.failed("dot commands come with the interactive shell; a script holds SQL only.")
        try:
            found = con.extract_statements(text)
        except duckdb.ParserException as error:
            stumbled = _LINE.search(str(error))
            exact = statement._replace(line=line + int(stumbled[1]) - 1) if stumbled else statement
            raise exact.failed(str(error)) from None
        except duckdb.Error:
            yield statement  # DuckDB 1.4 already looks up what PRAGMA and IMPORT name; running it will tell
        else:
            yield from (statement._replace(kind=last.type) for last in found[-1:])


def _pieces(content: str) -> Iterator[tuple[int, str]]:
    """What stands between semicolons, and the line it starts on, by DuckDB's tokenizer, which counts bytes."""
    source, after, first, line, counted = content.encode(), 0, None, 1, 0
    for offset, kind in [*duckdb.tokenize(content), (len(source), None)]:
        if source[offset : offset + 1] in (b";", b""):
            # Without a token there are only comments, or what the tokenizer of DuckDB 1.4 gave up on.
            start = after if first is None else first
            line, counted = line + source.count(b"\n", counted, start), start
            yield line, source[start:offset].decode()
            after, first = offset + 1, None
        elif first is None and kind != duckdb.token_type.comment:
            first = offset


def _run(con: duckdb.DuckDBPyConnection, statement: Statement) -> str | None:
    """Executes a statement; its rows as text, where it has any to show."""
    relation: duckdb.DuckDBPyRelation | None = con.sql(statement.text)
    if relation is None or _is_receipt(statement, relation):
        return None
    if statement.kind == Kind.EXPLAIN:
        return "\n".join(str(plan).rstrip("\n") for _, plan in relation.fetchall())
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL
    box = io.StringIO()
    with contextlib.redirect_stdout(box):
        relation.show(max_rows=MOST_ROWS, max_width=width)
    return box.getvalue().rstrip("\n")


def _is_receipt(statement: Statement, relation: duckdb.DuckDBPyRelation) -> bool:
    """Whether this is only DuckDB's word that a statement ran; DuckDB 2.0 gives one for each, 1.4 for few."""
    if relation.columns == ["Success"]:
        return statement.kind != Kind.SELECT and len(relation) == 0
    asks_for_rows = "returning" in statement.text.casefold()
    return relation.columns == ["Count"] and statement.kind in _WRITES and not asks_for_rows


if __name__ == "__main__":
    sys.exit(main())
