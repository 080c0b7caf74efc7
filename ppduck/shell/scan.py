"""Where in a half-written statement the cursor stands: in which quotes, in which call, at which argument.

A pasted INSERT of many rows is read anew at each Enter and Tab, so all of this takes time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

_PLAIN = r"""(?: [^-/'"$;,()\[\]{}]++ | -(?!-) | /(?!\*) )"""
_TEXT = r"(?<![eE]) ' [^']*+ (?: '' [^']*+ )*+ '"
# Brackets with nothing difficult in them, such as a row of VALUES, are taken at once.
_FLAT = "|".join(
    rf"\{a} (?: {_PLAIN} | , | {_TEXT} )*+ \{b}" for a, b in (("(", ")"), ("[", "]"), ("{", "}"))
)
_PIECE = re.compile(
    rf"""
      (?P<plain> (?: {_PLAIN} | {_FLAT} )++ )
    | (?P<sign> [;,()\[\]{{}}] )
    | (?P<escaped> (?<=[eE]) (?<!\w[eE]) ' (?: [^'\\]++ | '' | \\. )*+ (?P<ends_escaped> ')? \\? )
    | (?P<text> ' [^']*+ (?: '' [^']*+ )*+ (?P<ends_text> ')? )
    | (?P<name> " [^"]*+ (?: "" [^"]*+ )*+ (?P<ends_name> ")? )
    | (?P<line> -- [^\n]*+ (?P<ends_line> (?=\n) )? )
    | (?P<block> /\* )
    | (?P<dollars> (?<![\w$]) \$ (?: [^\W\d]\w*+ )? \$ )
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_DOT_LINE = re.compile(r"^[^\S\n]*\.", re.MULTILINE)
_BLANKS = re.compile(r"\s*+")
_COMMENT_MARK = re.compile(r"/\*|\*/")
_CALLED = re.compile(r"(\w+)\s*$")
_NAMED = re.compile(r"\s*(\w+)\s*(?::=|=>|=)(?!=)")
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_LONGEST_NAME = 64  # of the functions that are looked for
BARE_COMMANDS = ("exit", "quit", "help")  # meant as dot commands by everybody who types them


class Piece(NamedTuple):
    """A stretch of SQL that belongs together, and where it stops."""

    stop: int
    opening: str = ""  # ', ", a dollar quote, -- or /*
    is_closed: bool = True
    is_sign: bool = False  # one that parts statements or arguments, or a bracket

    @property
    def is_comment(self) -> bool:
        return self.opening in ("--", "/*")


def piece_at(text: str, at: int) -> Piece:
    """Reads on from ``at``, as DuckDB would."""
    found = _PIECE.match(text, at)
    assert found is not None  # whatever is none of the others is a piece of one character
    kind, stop = found.lastgroup, found.end()
    if kind == "plain" or kind is None:
        return Piece(stop)
    if kind == "sign":
        return Piece(stop, is_sign=True)
    if kind == "dollars":
        end = text.find(found[0], stop)
        return Piece(end + len(found[0]) if end >= 0 else len(text), found[0], end >= 0)
    if kind == "block":
        return _block_comment(text, stop)
    return Piece(stop, "--" if kind == "line" else text[at], found[f"ends_{kind}"] is not None)


def _block_comment(text: str, at: int) -> Piece:
    """Comments nest."""
    depth = 1
    for mark in _COMMENT_MARK.finditer(text, at):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return Piece(mark.end(), "/*")
    return Piece(len(text), "/*", is_closed=False)


@dataclass
class Bracket:
    """An open bracket, and where in the statement it and the arguments after it start."""

    kind: str
    place: Place
    at: int
    starts: list[int]

    @cached_property
    def function(self) -> str | None:
        """The function whose call it opens, if any."""
        before = self.place.statement[max(0, self.at - _LONGEST_NAME) : self.at]
        called = _CALLED.search(before) if self.kind == "(" else None
        return called[1].casefold() if called else None

    @cached_property
    def arguments(self) -> list[str]:
        """The texts of the arguments so far."""
        stops = [*(start - 1 for start in self.starts[1:]), len(self.place.statement)]
        return [
            self.place.statement[start:stop] for start, stop in zip(self.starts, stops, strict=True)
        ]

    @property
    def parameter(self) -> str | None:
        """The name that the argument at the cursor is given by, if it is given by name."""
        return name_of(self.arguments[-1])


def name_of(argument: str) -> str | None:
    """The name in ``name = value``, however it is written."""
    named = _NAMED.match(argument)
    return named[1].casefold() if named else None


@dataclass
class Place:
    """What is open at the end of a text."""

    quote: str = ""  # ', ", a dollar quote, -- or /*
    within: str = ""  # what follows the opening quote
    brackets: list[Bracket] = field(default_factory=list)
    statement: str = ""  # from the last semicolon on, without comments
    ended: bool = False  # nothing but comments follow a semicolon

    @property
    def call(self) -> Bracket | None:
        """The innermost call whose argument is being written."""
        return next((each for each in reversed(self.brackets) if each.function), None)


def scan(text: str) -> Place:
    """Reads a text as DuckDB would, up to its end."""
    place, at, length = Place(), 0, 0
    pieces: list[str] = []
    while at < len(text):
        piece = piece_at(text, at)
        content = text[at : piece.stop]
        if not piece.is_closed:
            place.quote, place.within = piece.opening, content.removeprefix(piece.opening)
        if piece.is_sign and content == ";":
            place, pieces, length = Place(ended=True), [], 0
        elif not piece.is_comment:
            if piece.is_sign:
                _bracket(place, content, length)
            place.ended = place.ended and content.isspace()
            pieces.append(content)
            length += len(content)
        at = piece.stop
    place.statement = "".join(pieces)
    return place


def _bracket(place: Place, sign: str, at: int) -> None:
    if sign in _CLOSES:
        place.brackets.append(Bracket(sign, place, at, [at + 1]))
    elif place.brackets and sign == ",":
        place.brackets[-1].starts.append(at + 1)
    elif place.brackets and sign == _CLOSES[place.brackets[-1].kind]:
        place.brackets.pop()


def first_statement(text: str) -> str:
    """A text up to its first semicolon, without comments."""
    at, pieces = 0, []
    while at < len(text):
        piece = piece_at(text, at)
        if piece.is_sign and text[at] == ";":
            break
        if not piece.is_comment:
            pieces.append(text[at : piece.stop])
        at = piece.stop
    return "".join(pieces)


class Part(NamedTuple):
    """A dot command, which is one line, or the SQL before, between and after dot commands."""

    line: int  # on which it starts
    text: str
    is_dot_command: bool


def parts(text: str) -> Iterator[Part]:
    """Takes dot commands out of a text: lines that start with a dot where no statement is under way."""
    start, line = 0, 1  # of the part that is being read
    for dot, stop in _dot_commands(text):
        before = text.rfind("\n", 0, dot) + 1
        if before > start:
            yield Part(line, text[start:before], False)
        line += text.count("\n", start, before)
        yield Part(line, text[dot:stop].strip(), True)
        start, line = stop, line + 1
    if start < len(text):
        yield Part(line, text[start:], False)


def _dot_commands(text: str) -> Iterator[tuple[int, int]]:
    """Where dot commands start, and where the next line does."""
    if not _DOT_LINE.search(text):
        return
    # between two statements, and before anything else on its line
    at, between, line_is_blank = (0, True, True)
    while at < len(text):
        if between:
            blanks = _BLANKS.match(text, at)
            start, at = at, blanks.end() if blanks else at
            line_is_blank = line_is_blank or "\n" in text[start:at]
            if line_is_blank and text.startswith(".", at):
                dot, end = at, text.find("\n", at)
                at = end + 1 if end >= 0 else len(text)
                yield dot, at
                continue
            if at == len(text):
                return
        piece = piece_at(text, at)
        between = (piece.is_sign and text[at] == ";") or (between and piece.is_comment)
        at, line_is_blank = piece.stop, False


def is_complete(text: str) -> bool:
    """Whether Enter is to run this: it ends with a dot command, or with a semicolon."""
    if not text.strip() or text.strip().casefold() in BARE_COMMANDS:
        return True
    *_, last = parts(text)
    place = scan(last.text)
    return last.is_dot_command or (place.ended and place.quote in ("", "--"))
