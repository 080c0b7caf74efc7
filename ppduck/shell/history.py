"""What was typed, kept in the user's state directory and nowhere else."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from ppduck.shell.streams import complain


class _Remembered(FileHistory):
    def store_string(self, string: str) -> None:
        # A full disk, or a character that is none, is no reason to end the session.
        with contextlib.suppress(OSError, UnicodeError):
            super().store_string(string)


def history() -> History:
    """The file's history; one that ends with the session where no file can be written."""
    try:
        path = state_directory() / "ppduck" / "history"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Statements may hold what they filter by: for their author's eyes only.
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
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
