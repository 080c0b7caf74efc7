"""python -m ppduck.help: the help of ppduck_help() at the command line, and the table of all functions."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import textwrap
from collections.abc import Iterator, Sequence

from ppduck.call.registry import presented
from ppduck.errors import PpduckError
from ppduck.guide.demo import DEMO
from ppduck.guide.help import REQUIRED, rows

WIDTH = 100


def main(argv: Sequence[str] | None = None) -> int:
    """Prints what is asked for; the exit code is 1 for a function that does not exist."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # help is to print whatever the locale says
    asked = _parser().parse_args(argv)
    try:
        if asked.markdown:
            text = markdown()
        elif asked.demo:
            text = DEMO.strip()
        else:
            text = page(asked.function) if asked.function else "\n".join(_listed())
    except PpduckError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    with contextlib.suppress(BrokenPipeError):  # | head
        print(text, flush=True)
    return 0


def markdown() -> str:
    """The table of all functions, as examples/functions.md has it."""
    lines = [f"| `{function.name}` | {function.summary} |" for function in presented()]
    return "\n".join(["| function | what it does |", "| --- | --- |", *lines])


def page(function: str) -> str:
    """The help for one function as text."""
    lines: list[str] = []
    last = None
    for section, name, description, default, takes in rows(function):
        if section != last:
            lines += [] if last is None else [""]
            lines.append(f"{section}:")
        last = section
        if section in ("signature", "example"):
            lines.append(f"  {description}")  # to be copied in one piece
        elif section == "parameter":
            head = f"{name} ({REQUIRED})" if default == REQUIRED else f"{name} := {default}"
            lines += [
                f"  {head}",
                *_wrapped(f"{description}; takes {takes}" if takes else description, "      "),
            ]
        elif section == "result":
            lines += [f"  {name} {takes}", *_wrapped(description, "      ")]
        else:
            lines += _wrapped(description, "  - ")
    return "\n".join(lines)


def _listed() -> Iterator[str]:
    for function in presented():
        yield function.name
        yield from _wrapped(function.summary, "    ")


def _wrapped(text: str, indent: str) -> list[str]:
    hanging = " " * len(indent)
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ppduck.help", description="Help on ppduck's SQL functions."
    )
    wanted = parser.add_mutually_exclusive_group()
    wanted.add_argument(
        "function", nargs="?", help="a function, such as egadp_mask; without it, all are listed"
    )
    wanted.add_argument(
        "--markdown", action="store_true", help="print the table of all functions in Markdown"
    )
    wanted.add_argument(
        "--demo", action="store_true", help="print the SQL that makes the tables of the examples"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
