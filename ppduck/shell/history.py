"""What was typed, kept in the user's state directory and nowhere else."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from ppduck.call.registry import functions
from ppduck.shell.streams import complain

_GAP = r"(?:\s|--[^\n]*\n|/\*.*?\*/)+"  # what may stand between two words
# A variable may hold a secret under any name.
_CONFIDENTIAL = re.compile(
    rf"secret|password|encryption_key|\bset\b{_GAP}(?:\w+{_GAP})?variable\b",
    re.IGNORECASE | re.DOTALL,
)


def is_confidential(text: str) -> bool:
    """Whether a statement may hold a secret: by that word, in a variable, or by its place in a call."""
    takers = (
        each.name
        for each in functions()
        if any(parameter.name == "secret" for parameter in each.parameters)
    )
    return bool(_CONFIDENTIAL.search(text)) or any(name in text.casefold() for name in takers)


class _Remembered(FileHistory):
    def store_string(self, string: str) -> None:
        if is_confidential(string):
            return  # the session remembers it, the disk does not
        # A full disk, or a character that is none, is no reason to end the session.
        with contextlib.suppress(OSError, UnicodeError):
            super().store_string(string)


def history() -> History:
    """The file's history; one that ends with the session where no file can be written."""
    try:
        path = state_directory() / "ppduck" / "history"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Statements may hold what they filter by: for their author's eyes only.
        file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            if sys.platform != "win32":
                os.fchmod(file, 0o600)  # it may be older than this rule
        finally:
            os.close(file)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        complain(f"the history is not kept: {reason}", "Warning")
        return InMemoryHistory()
    return _Remembered(str(path))


def state_directory() -> Path:
    """$XDG_STATE_HOME, which counts only if it is absolute, or the place that stands for it."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    if given.is_absolute():
        return given
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local)
    return Path.home() / ".local" / "state"
