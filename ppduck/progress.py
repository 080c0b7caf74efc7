"""How far long work in Python has come, told at a terminal while it goes on: one line, which is wiped out at the end.

DuckDB's progress bar stands still while a statement calls Python. As it does, this waits for two seconds first; where
standard error is a file or a pipe nothing is told.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from contextlib import suppress

PATIENCE, PAUSE = 2.0, 0.5  # seconds before the first line, and between two


class _Line:
    """The last line of the terminal, which several steps of a statement may write over in turns."""

    def __init__(self) -> None:
        self._drawn = 0
        self._by: Progress | None = None
        self._turn = threading.Lock()

    def draw(self, by: Progress, text: str) -> None:
        shown = text[-(shutil.get_terminal_size().columns - 1) :]  # what wraps cannot be wiped out
        with self._turn:
            if _write("\r" + shown.ljust(self._drawn)):
                self._drawn, self._by = len(shown), by

    def wipe(self, by: Progress) -> None:
        with self._turn:
            if self._by is by:
                _write("\r" + " " * self._drawn + "\r")
                self._drawn, self._by = 0, None


_line = _Line()


class Progress:
    """How much of a total is done, in whatever threads; ``of`` names what is counted, such as 'rows read'."""

    def __init__(self, where: str, total: int, of: str) -> None:
        self._where, self._total, self._of = " ".join(where.split()), total, of
        self._done, self._next = 0, time.monotonic() + PATIENCE
        self._turn = threading.Lock()

    def add(self, done: int) -> None:
        with self._turn:
            self._done += done
            if self._done >= self._total:
                self.end()
            elif time.monotonic() >= self._next:
                self._next = time.monotonic() + PAUSE
                _line.draw(self, f"{self._where}: {self._done:,} of {self._total:,} {self._of}")

    def end(self) -> None:
        """Wipes the line out, of work that does not come to its end, too."""
        _line.wipe(self)


def _write(text: str) -> bool:
    """Whether there is a terminal that took it; one that went away stops no work."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(text)
            sys.stderr.flush()
            return True
    return False
