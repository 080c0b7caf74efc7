"""Where in a half-written statement the cursor stands: in which quotes, in which call, at which argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_DOLLARS = re.compile(r"\$(?:[A-Za-z_]\w*)?\$")
_CALLED = re.compile(r"(\w+)\s*$")
_NAMED = re.compile(r"\s*(\w+)\s*(?::=|=>|=)(?!=)")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_CLOSES = {"(": ")", "[": "]", "{": "}"}


@dataclass
class Bracket:
    """An open bracket: the function whose call it opens, if any, and the texts of the arguments so far."""

    kind: str
    function: str | None
    arguments: list[str] = field(default_factory=lambda: [""])

    @property
    def parameter(self) -> str | None:
        """The name that the argument at the cursor is given by, if it is given by name."""
        named = _NAMED.match(self.arguments[-1])
        return named[1] if named else None


@dataclass
class Place:
    """What is open at the end of a text."""

    quote: str = ""  # ', ", a dollar quote, -- or /*
    brackets: list[Bracket] = field(default_factory=list)
    statement: str = ""  # from the last semicolon on
    ended: bool = False  # nothing but comments follow a semicolon

    @property
    def call(self) -> Bracket | None:
        """The innermost call whose argument is being written."""
        return next((each for each in reversed(self.brackets) if each.function), None)


def scan(text: str) -> Place:
    """Reads a text as DuckDB would, up to its end."""
    place, at = Place(), 0
    while at < len(text):
        opening, stop = _quoted(text, at)
        piece = text[at : stop if opening else at + 1]
        comment = opening in ("--", "/*")
        if opening and stop > len(text):
            place.quote, piece = opening, text[at:]
        if not opening and piece == ";":
            place = Place(ended=True)
        elif not comment:
            _bracket(place, piece, bool(opening))
            place.ended = place.ended and piece.isspace()
        at += len(piece)
    return place


def _bracket(place: Place, piece: str, quoted: bool) -> None:
    open_ones = place.brackets
    if not quoted and open_ones and piece == _CLOSES[open_ones[-1].kind]:
        open_ones.pop()
    elif not quoted and open_ones and piece == ",":
        open_ones[-1].arguments.append("")
        open_ones = open_ones[:-1]
    for each in open_ones:
        each.arguments[-1] += piece
    if not quoted and piece in _CLOSES:
        called = _CALLED.search(place.statement) if piece == "(" else None
        place.brackets.append(Bracket(piece, called[1].casefold() if called else None))
    place.statement += piece


def _quoted(text: str, at: int) -> tuple[str, int]:
    """What opens a quote or comment here, and where that ends; beyond the text if it does not."""
    never = len(text) + 1
    here = text[at]
    if text.startswith("--", at):
        end = text.find("\n", at)
        return "--", end if end >= 0 else never
    if text.startswith("/*", at):
        return "/*", _comment_end(text, at)
    if here == "$" and (dollars := _DOLLARS.match(text, at)):
        end = text.find(dollars[0], dollars.end())
        return dollars[0], end + len(dollars[0]) if end >= 0 else never
    if here not in "'\"":
        return "", at
    escaped = here == "'" and re.search(r"(?<!\w)[eE]$", text[max(0, at - 2) : at])
    end = at + 1
    while end < len(text):
        if escaped and text[end] == "\\":
            end += 2
        elif text[end] != here:
            end += 1
        elif text.startswith(here * 2, end):
            end += 2
        else:
            return here, end + 1
    return here, never


def _comment_end(text: str, at: int) -> int:
    """Comments nest."""
    depth, at = 1, at + 2
    for mark in re.finditer(r"/\*|\*/", text[at:]):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return at + mark.end()
    return len(text) + 1


class Part(NamedTuple):
    """A dot command, which is one line, or the SQL before, between and after dot commands."""

    line: int  # on which it starts
    text: str
    is_dot_command: bool


def parts(text: str) -> Iterator[Part]:
    """Takes dot commands out of a text: lines that start with a dot where no statement is under way."""
    first, pending = 1, ""
    for number, line in enumerate(_LINES.findall(text), 1):
        if line.lstrip().startswith(".") and _is_between(pending):
            if pending:
                yield Part(first, pending, False)
            yield Part(number, line.strip(), True)
            first, pending = number + 1, ""
        else:
            pending += line
    if pending:
        yield Part(first, pending, False)


def _is_between(text: str) -> bool:
    """Whether a new statement may start after this."""
    place = scan(";" + text)
    return place.ended and not place.quote


def is_complete(text: str) -> bool:
    """Whether Enter is to run this: it ends with a dot command, or with a semicolon."""
    if not text.strip() or text.strip().casefold() in BARE_COMMANDS:
        return True
    *_, last = parts(text)
    place = scan(last.text)
    return last.is_dot_command or (place.ended and (not place.quote or place.quote == "--"))


BARE_COMMANDS = ("exit", "quit", "help")  # meant as dot commands by everybody who types them
