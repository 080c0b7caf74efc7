"""Takes a script apart into statements that know where they stand, and says what went wrong there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import duckdb
from duckdb import StatementType as Kind

_UDF_PREFIX = "Python exception occurred while executing the UDF: PpduckError: "
# DuckDB 1.4 appends the Python stack to what a UDF raises, one "file(line): function" a line.
_UDF_STACK = re.compile(r"\n+At:(\n  .+\(\d+\): .+)+\n*")
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)


class ShellError(Exception):
    """What the user is told: at the prompt before the next one, in a script before it ends with exit code 1."""


class Statement(NamedTuple):
    """One statement, with the name of its script and the line on which it starts there."""

    script: str | None  # None for what was typed at the prompt, where the user sees it
    line: int
    text: str
    kind: Kind = Kind.INVALID

    def failed(self, message: str) -> ShellError:
        """The error to raise, in words of the script and not of the Python that ran it."""
        plain = _UDF_STACK.sub("\n\n", message).replace(_UDF_PREFIX, "").rstrip()
        # DuckDB counts lines in the text that it ran; spaces in their place keep the caret where it points.
        unnumbered = _LINE.sub(lambda number: " " * len(number[0]), plain)
        return ShellError(
            unnumbered
            if self.script is None
            else f"{unnumbered}\n  in {self.script}, line {self.line}"
        )


def parsed(
    con: duckdb.DuckDBPyConnection, script: str | None, content: str, first: int
) -> Iterator[Statement]:
    """The statements of SQL that starts on the line ``first`` of a script; a ShellError where it does not parse."""
    for line, text in _pieces(content, first):
        statement = Statement(script, line, text)
        if text.startswith("."):
            raise statement.failed(
                "a dot command stands on a line of its own, before or after the SQL."
            )
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


def _pieces(content: str, line: int) -> Iterator[tuple[int, str]]:
    """What stands between semicolons, and the line it starts on, by DuckDB's tokenizer, which counts bytes."""
    source, after, first, counted = content.encode(), 0, None, 0
    for offset, kind in [*duckdb.tokenize(content), (len(source), None)]:
        if source[offset : offset + 1] in (b";", b""):
            # Without a token there are only comments, or what the tokenizer of DuckDB 1.4 gave up on.
            start = after if first is None else first
            line, counted = line + source.count(b"\n", counted, start), start
            yield line, source[start:offset].decode()
            after, first = offset + 1, None
        elif first is None and kind != duckdb.token_type.comment:
            first = offset
