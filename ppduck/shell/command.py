"""The ppduck command: what its arguments ask for, and the exit code that it ends with."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import ppduck
from ppduck.extension.role import Role
from ppduck.shell import dots, streams
from ppduck.shell.results import MODES
from ppduck.shell.scripts import Script, decoded, read_script
from ppduck.shell.secret_file import read_secret
from ppduck.shell.session import Session
from ppduck.shell.statements import ShellError

IN_MEMORY = ":memory:"
# Commands of their own, each in a module with a main(argv) that returns the exit code.
SUBCOMMANDS = {
    "dbt": "ppduck.dbt.cli",
    "release": "ppduck.shell.release",
    "suggest": "ppduck.shell.suggest",
    "where": "ppduck.where",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is 0, 1 after an error, or 2 for a call that makes no sense."""
    streams.settle()
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        if given and given[0] in SUBCOMMANDS and not Path(given[0]).is_file():
            return _subcommand(given[0], given[1:])
        return _shell(given)
    except ShellError as error:
        streams.complain(error)
    except OSError as error:
        # Nobody reads on (| head), or the disk is full.
        streams.silence()
        if not isinstance(error, BrokenPipeError):
            streams.complain(f"cannot write the results: {error.strerror}")
    except KeyboardInterrupt:
        streams.complain("cancelled.")
    return 1


def _shell(argv: Sequence[str]) -> int:
    parser = _parser()
    arguments = parser.parse_intermixed_args(argv)
    files, database = _places(parser, arguments)
    asks = not arguments.commands and not files and (sys.stdin is None or sys.stdin.isatty())
    if asks and not (sys.stdin and sys.stdout.isatty()):
        parser.print_usage(sys.stderr)
        return 2
    if asks and find_spec("prompt_toolkit") is None:
        raise ShellError(
            "the prompt needs prompt_toolkit: pip install 'ppduck[shell]'. "
            "Without it, ppduck runs SQL from -c, from a file or from standard input."
        )
    scripts = [] if asks else _scripts(arguments.commands, files)
    secret = None if arguments.secret_file is None else read_secret(arguments.secret_file)
    is_new = database != IN_MEMORY and not Path(database).exists()
    session = Session(
        database,
        dots.understood,
        readonly=arguments.readonly,
        secret=secret,
        role=arguments.role,
    )
    with contextlib.closing(session):
        session.mode = arguments.mode
        if not asks:
            with contextlib.suppress(dots.Leave):
                session.run(scripts)
            return 0
        # which takes time, and packages that scripts do without
        from ppduck.shell.prompt import converse

        note = " (new)" if is_new else " (read-only)" if arguments.readonly else ""
        return converse(
            session, "a database in memory" if database == IN_MEMORY else f"{database}{note}"
        )


def _subcommand(name: str, argv: Sequence[str]) -> int:
    try:
        module = importlib.import_module(SUBCOMMANDS[name])
    except ModuleNotFoundError as error:
        raise ShellError(
            f"ppduck {name} needs {error.name}: pip install 'ppduck[{name}]'"
        ) from None
    return int(module.main(argv))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ppduck",
        description="SQL in DuckDB with ppduck loaded: from a file, from -c, from standard input, or at a prompt.",
        epilog="PPDUCK_SECRET in the environment, or --secret-file, keys the noise. "
        "ppduck release, suggest, dbt and where are commands of their own: see ppduck release --help.",
    )
    parser.add_argument(
        "places", nargs="*", metavar="FILE.sql | DATABASE", help="the scripts and the database"
    )
    parser.add_argument(
        "-c",
        dest="commands",
        metavar="SQL",
        action="append",
        default=[],
        help="SQL to run; repeatable",
    )
    parser.add_argument(
        "--mode", choices=list(MODES), default="table", help="how results are printed"
    )
    parser.add_argument("--readonly", action="store_true", help="open the database read-only")
    parser.add_argument(
        "--secret-file",
        metavar="FILE",
        help="a file that holds the secret, for its owner's eyes only",
    )
    parser.add_argument(
        "--role",
        choices=[role.value for role in Role],
        default=Role.OWNER.value,
        help="whom the session is for: an analyst has neither masks nor a secret",
    )
    parser.add_argument("--version", action="version", version=f"ppduck {ppduck.__version__}")
    return parser


def _places(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace
) -> tuple[list[str], str]:
    """The files of the scripts, and the database."""
    files = [place for place in arguments.places if place.casefold().endswith(".sql")]
    databases = [place for place in arguments.places if place not in files]
    if len(databases) > 1:
        parser.error("give one database at most; the name of a script ends in .sql")
    if files and arguments.commands:
        parser.error("give scripts or -c, not both")
    if arguments.readonly and not databases:
        parser.error("--readonly needs a database")
    if arguments.role == Role.ANALYST.value and arguments.secret_file is not None:
        parser.error("give --role analyst or --secret-file: an analyst has no secret")
    return files, next(iter(databases), IN_MEMORY)


def _scripts(commands: Sequence[str], files: Sequence[str]) -> list[Script]:
    """The scripts to run, each with the name that messages give it."""
    if files:
        return [read_script(file) for file in files]
    if not commands:
        return [("standard input", decoded("standard input", sys.stdin.buffer.read()))]
    names = (
        ["-c"] if len(commands) == 1 else [f"-c number {n}" for n in range(1, len(commands) + 1)]
    )
    return [
        (name, decoded(name, os.fsencode(text))) for name, text in zip(names, commands, strict=True)
    ]
