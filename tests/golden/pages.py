"""What pages tell of every function, from its registration: the table of functions, and that there is a new one."""

from __future__ import annotations

import re
import textwrap

from ppduck.call.registry import functions
from ppduck.help import markdown
from tests.pages import ROOT, text_of

FUNCTIONS, CHANGES = "examples/functions.md", "CHANGELOG.md"
_TABLE = re.compile(r"^\| function \| what it does \|\n(?:\|.*\n)+", re.MULTILINE)
_NEWEST = re.compile(r"\A(?:.*\n)*?## .*\n(?:(?!## ).*\n)*?(?=\n*(?:## |\Z))")


def with_table(page: str) -> str:
    """The page of functions, its table that of the registry."""
    table = markdown() + "\n"
    written, times = _TABLE.subn(lambda found: table, page)
    assert times == 1, "the page has one table of functions"
    return written


def with_news(changes: str) -> str:
    """The changelog, with a line in its newest part for each function that it does not name: its summary."""
    new = [each for each in functions() if f"`{each.name}`" not in changes]
    lines = [
        textwrap.fill(f"- `{each.name}`: {each.summary}", 114, subsequent_indent="  ", break_on_hyphens=False) + "\n"
        for each in new
    ]
    return _NEWEST.sub(lambda found: found[0] + "".join(lines), changes, count=1)


def write() -> None:
    for page, change in ((FUNCTIONS, with_table), (CHANGES, with_news)):
        (ROOT / page).write_text(change(text_of(page)), encoding="utf-8")
