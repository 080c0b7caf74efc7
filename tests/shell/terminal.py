"""A terminal with a user at it: a pseudo-terminal in which ppduck runs, and a screen that shows what a user would see."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pexpect
import pyte

COMMAND = ["-m", "ppduck.shell"]
PROMPT = "ppduck>"
CTRL_C, CTRL_D, CTRL_L, CTRL_R, TAB, ENTER, UP = "\x03", "\x04", "\x0c", "\x12", "\t", "\r", "\x1b[A"
PATIENCE = 60.0


class _Screen(pyte.Screen):
    """Answers the questions that programs ask a terminal."""

    child: pexpect.spawn

    def write_process_input(self, data: str) -> None:
        self.child.send(data)


class Terminal:
    """ppduck at a terminal. ``ask`` types a line and returns what is on the screen when the prompt is back."""

    def __init__(
        self, *arguments: str | Path, state: Path, rows: int = 60, encoding: str = "utf-8", **env: str
    ) -> None:
        unwanted = ("PYTHONIOENCODING", "PYTHONUTF8", "COLUMNS", "LINES", "PPDUCK_SECRET", "NO_COLOR")
        outside = {name: value for name, value in os.environ.items() if name not in unwanted}
        self._screen = _Screen(160, rows)
        self._stream = pyte.Stream(self._screen)
        self.bytes = b""
        self._encoding = encoding
        self._child = pexpect.spawn(
            sys.executable,
            [*COMMAND, *map(str, arguments)],
            env=outside | {"TERM": "xterm-256color", "XDG_STATE_HOME": str(state)} | env,
            dimensions=(rows, 160),
            timeout=PATIENCE,
        )
        self._child.delaybeforesend = None
        self._screen.child = self._child

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close(force=True)

    @property
    def lines(self) -> list[str]:
        """The lines of the screen down to the last that is not blank."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip().split("\n")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def colours(self) -> dict[str, str]:
        """The colour of each word on the screen."""
        found: dict[str, str] = {}
        for row, line in enumerate(self._screen.display):
            at = 0
            for word in line.split():
                at = line.index(word, at)
                found[word] = self._screen.buffer[row][at].fg
                at += len(word)
        return found

    def type(self, keys: str) -> None:
        self._child.send(keys)

    def wait(self, until: Callable[[list[str]], Any], what: str) -> str:
        """What is on the screen once a condition holds for it."""
        end = time.monotonic() + PATIENCE
        while not until(self.lines):
            assert time.monotonic() < end, f"waited in vain for {what}; the screen:\n{self.text}"
            try:
                found = self._child.read_nonblocking(65536, timeout=0.2)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                raise AssertionError(f"ended before {what}; the screen:\n{self.text}") from None
            self.bytes += found
            self._stream.feed(found.decode(self._encoding))
        return self.text

    def see(self, text: str) -> str:
        return self.wait(lambda lines: text in "\n".join(lines), repr(text))

    def ready(self) -> str:
        """Waits for an empty prompt."""
        return self.wait(lambda lines: lines[-1] == PROMPT, "the prompt")

    def clear(self) -> None:
        self.ready()
        self.type(CTRL_L)
        self.wait(lambda lines: lines == [PROMPT], "a clear screen")

    def ask(self, statement: str) -> str:
        """The screen below what was typed, when the next prompt is there."""
        self.clear()
        self.type(statement + ENTER)
        screen = self.wait(lambda lines: len(lines) > 1 and lines[-1] == PROMPT, f"an answer to {statement!r}")
        return screen.removesuffix(PROMPT).rstrip()

    def end(self) -> int:
        """Waits for the end of the program; its exit code."""
        found = self._child.read()
        self.bytes += found
        self._stream.feed(found.decode(self._encoding))
        self._child.close()
        assert self._child.signalstatus is None
        return int(self._child.exitstatus)


def tell(arguments: Sequence[str | Path], state: Path, **env: str) -> tuple[str, int]:
    """All that a ppduck prints that asks nothing, and its exit code."""
    with Terminal(*arguments, state=state, **env) as terminal:
        code = terminal.end()
        return terminal.text, code
