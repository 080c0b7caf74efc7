"""Progress is told at a terminal, after a while and on one line that is wiped out; and nowhere else."""

from __future__ import annotations

import io

import pytest

from ppduck import progress
from ppduck.progress import Progress

pytestmark = pytest.mark.core


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """No fixture: pytest gives each test an error stream of its own."""
    found = Terminal()
    monkeypatch.setattr("sys.stderr", found)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    monkeypatch.setenv("COLUMNS", "60")
    return found


def screen(terminal: Terminal) -> str:
    """What stands in the line at last."""
    line = ""
    for part in terminal.getvalue().split("\r"):
        line = part + line[len(part) :]
    return line.rstrip()


def test_it_moves_and_is_wiped_out(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    told = Progress('release_attack on "t"', 10_000, "rows read")
    seen = []
    for _ in range(4):
        told.add(2_500)
        seen.append(screen(terminal))
    assert seen == [f'release_attack on "t": {n} of 10,000 rows read' for n in ("2,500", "5,000", "7,500")] + [""]
    assert "\n" not in terminal.getvalue()


def test_work_that_stops_early_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    told = Progress("f", 10, "models")
    told.add(1)
    assert screen(terminal) == "f: 1 of 10 models"
    told.end()
    assert screen(terminal) == ""


def test_a_name_that_is_long_or_has_lines_keeps_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    Progress(f'f on "(SELECT\n{"x" * 100})"', 10, "rows read").add(1)
    assert screen(terminal).endswith(')": 1 of 10 rows read')
    assert len(screen(terminal)) < 60
    assert "\n" not in terminal.getvalue()


def test_two_that_take_turns_share_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    one, other = Progress("a long name", 10_000, "rows read"), Progress("f", 4, "models")
    one.add(1)
    other.add(1)
    assert screen(terminal) == "f: 1 of 4 models"
    one.end()
    assert screen(terminal) == "f: 1 of 4 models"
    other.add(3)
    assert screen(terminal) == ""


def test_what_ends_soon_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    told = Progress("f", 10, "rows read")
    for _ in range(10):
        told.add(1)
    assert terminal.getvalue() == ""


def test_a_pipe_gets_nothing_and_a_closed_one_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    at_terminal(monkeypatch)
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    Progress("f", 10, "rows read").add(1)
    assert pipe.getvalue() == ""
    for gone in (None, pipe):
        pipe.close()
        monkeypatch.setattr("sys.stderr", gone)
        Progress("f", 10, "rows read").add(1)
