"""Runs a statement so that Ctrl-C cancels it: DuckDB works in a thread of its own, signals arrive in the main one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import duckdb

import ppduck
from ppduck import libraries
from ppduck.shell.streams import complain

PATIENCE = 5.0  # seconds that DuckDB has to end a query before Ctrl-C ends the program
_LIBRARY = str(Path(ppduck.__file__).parent)
_SHELL = str(Path(__file__).parent)
_IMPORTS = ("<frozen importlib", libraries.__file__)


class Cancelled(Exception):  # noqa: N818 - what the user wanted is no error
    """Ctrl-C came while a statement ran."""


class Run:
    """One statement at work; ``work`` asks ``check()`` between pieces of what it prints."""

    def __init__(self, con: duckdb.DuckDBPyConnection, work: Callable[[Run], None]) -> None:
        self._con = con
        self._work = work
        self.unwanted = False  # since Ctrl-C came
        self._since = 0.0
        self._warned = False
        self._error: BaseException | None = Cancelled()  # unless the work ends and says otherwise
        self._thread = threading.Thread(target=self._worker, daemon=True)

    def finish(self) -> None:
        """Waits for the end; raises what the work raised, or Cancelled if that came of a Ctrl-C."""
        with _on_interrupt(self._cancel):
            self._thread.start()
            while self._thread.is_alive():
                self._thread.join(0.05)
                if self.unwanted:
                    # Again and again: an interrupt is forgotten when the next part of the work begins.
                    self._stop()
                    self._warn()
        error, self._error = self._error, None
        if error is not None and self.unwanted:
            raise Cancelled from None
        if error is not None:
            raise error

    def check(self) -> None:
        if self.unwanted:
            raise Cancelled

    def _worker(self) -> None:
        # A KeyboardInterrupt from _stop may come late, in the midst of what is done about the first.
        with contextlib.suppress(KeyboardInterrupt):
            try:
                self._work(self)
            except BaseException as error:
                self._error = error
            else:
                self._error = None

    def _cancel(self) -> None:
        if not self.unwanted:
            self.unwanted, self._since = True, time.monotonic()
        elif self._warned:
            # DuckDB waits for something that nobody can interrupt, such as a pipe
            os._exit(128 + signal.SIGINT)

    def _warn(self) -> None:
        if not self._warned and time.monotonic() > self._since + PATIENCE:
            self._warned = True
            complain(
                "DuckDB has not stopped yet; Ctrl-C once more ends ppduck, and what was not committed is lost.",
                "\nWarning",
            )

    def _stop(self) -> None:
        """Stops DuckDB, and the Python that it calls, also where that is in no loop that asks for an interrupt."""
        ppduck.interrupt(self._con)
        own = threading.get_ident()
        for thread, frame in sys._current_frames().items():
            if thread != own and _is_at_work(frame):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
                )


def _is_at_work(frame: FrameType | None) -> bool:
    """Whether a thread is inside a function that ppduck gave to DuckDB, and not in the midst of an import.

    Half a library could not be imported again; whoever waits for it is stopped when it is there.
    """
    at_work = False
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_IMPORTS):
            return False
        at_work = at_work or (file.startswith(_LIBRARY) and not file.startswith(_SHELL))
        frame = frame.f_back
    return at_work


@contextlib.contextmanager
def _on_interrupt(handle: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls this, if signals come to this thread at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: handle())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
