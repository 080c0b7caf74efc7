"""A connection, how its user wants to see results, and the scripts that run on it."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal

import duckdb

import ppduck
from ppduck.errors import PpduckError
from ppduck.shell.results import rendered
from ppduck.shell.running import Cancelled, Run
from ppduck.shell.scan import parts
from ppduck.shell.scripts import Script
from ppduck.shell.statements import ShellError, Statement, parsed
from ppduck.shell.streams import can_print_blocks

_HOLDER = re.compile(r"\(PID (\d+)\)")


class Session:
    """Runs scripts on one connection and prints what they find; ``understood`` reads dot commands."""

    def __init__(
        self,
        database: str,
        understood: Callable[[str], Callable[[Session], None]],
        *,
        readonly: bool = False,
        secret: bytes | None = None,
        role: Literal["owner", "analyst"] = "owner",
    ) -> None:
        self.mode = "table"
        self.width: int | None = None  # of tables; by default the terminal's
        self.timer = False
        self.interactive = False
        self._understood = understood
        # The files of the scripts under way, each read by the one before it.
        self._running: list[str] = []
        self.con = _open(database, readonly, secret, role)
        # DuckDB draws it where the results go, after two seconds of work: good in a terminal, and nowhere else.
        self.con.execute(f"SET enable_progress_bar = {str(can_print_blocks()).lower()}")

    def close(self) -> None:
        self.con.close()

    def run(self, scripts: Iterable[Script]) -> None:
        """Runs scripts one after the other, once all of them are known to parse, up to the first error."""
        steps = [step for name, text in scripts for step in self._steps(name, text)]
        for number, (statement, step) in enumerate(steps, 1):
            if step() and number < len(steps):
                raise statement.failed("stopped after a statement that was done when Ctrl-C came.")

    def _steps(self, name: str | None, text: str) -> Iterator[tuple[Statement, Callable[[], bool]]]:
        """The statements and dot commands of a script, and how to carry each out."""
        for part in parts(text):
            if part.is_dot_command:
                command = Statement(name, part.line, part.text)
                try:
                    act = self._understood(part.text)
                except ShellError as error:
                    raise command.failed(str(error)) from None
                yield command, partial(self._obey, command, act)
            else:
                for statement in parsed(self.con, name, part.text, part.line):
                    yield statement, partial(self._execute, statement)

    def _obey(self, command: Statement, act: Callable[[Session], None]) -> bool:
        self._running.append(os.path.realpath(command.script or ""))
        try:
            act(self)
        except (ShellError, duckdb.Error) as error:
            raise command.failed(str(error)) from None
        finally:
            self._running.pop()
        return False

    def is_running(self, file: str) -> bool:
        """Whether this file is a script under way, which must not start itself anew."""
        return os.path.realpath(file) in self._running

    def _execute(self, statement: Statement) -> bool:
        """Runs one statement; whether Ctrl-C came when it was just done."""
        began = time.perf_counter(), time.process_time()
        try:
            run = Run(self.con, partial(self._show, statement))
            run.finish()
        except Cancelled:
            if sys.stdout.isatty():
                print(flush=True)  # the line that holds ^C, and maybe half a progress bar
            raise statement.failed("the query was cancelled.") from None
        # A RuntimeError is an interrupt in DuckDB 1.4; what cannot be encoded was typed in no known encoding.
        except (duckdb.Error, RuntimeError, UnicodeError) as error:
            raise statement.failed(str(error)) from None
        finally:
            if self.timer:
                real, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
                print(f"Run Time (s): real {real:.3f} cpu {cpu:.3f}", flush=True)
        return run.unwanted

    def _show(self, statement: Statement, run: Run) -> None:
        for piece in rendered(self.con, statement, self.mode, not self.interactive, self.width):
            run.check()
            sys.stdout.write(piece)
        sys.stdout.flush()


def _open(
    database: str, readonly: bool, secret: bytes | None, role: Literal["owner", "analyst"]
) -> duckdb.DuckDBPyConnection:
    # names in SQL shall not find this program's variables
    config = {"python_enable_replacements": "false"}
    try:
        return ppduck.connect(database, secret=secret, role=role, read_only=readonly, config=config)
    except (RuntimeError, UnicodeError):
        raise ShellError(f"cannot open {database!r}: its name is not UTF-8 text.") from None
    except (duckdb.Error, PpduckError) as error:
        reason = " ".join(str(error).split())
        if "Could not set lock on file" in reason:
            holder = _HOLDER.search(reason)
            reason = f"it is in use by another process{f' (PID {holder[1]})' if holder else ''}; close it there first."
        raise ShellError(f"cannot open {database}: {reason}") from None
