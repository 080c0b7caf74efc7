"""Scripts: SQL and dot commands that come with a name, from a file, from -c or from standard input."""

from __future__ import annotations

from pathlib import Path

from ppduck.shell.statements import ShellError

Script = tuple[str | None, str]  # its name, if it has one, and its content


def read_script(file: str) -> Script:
    """A file and what it holds."""
    try:
        return file, decoded(file, Path(file).read_bytes())
    except OSError as error:
        raise ShellError(f"cannot read {file}: {error.strerror}") from None


def decoded(name: str, content: bytes) -> str:
    """The text of a script, without the mark that some editors put before it."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ShellError(f"{name} is not UTF-8 text: see byte {error.start + 1}") from None
