"""What is remembered of what was typed, where, and what is not."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("has no pseudo-terminals", allow_module_level=True)

from ppduck.shell.history import is_confidential, state_directory
from tests.shell.terminal import CTRL_C, CTRL_D, CTRL_R, ENTER, UP, Terminal


def test_the_history_lives_in_the_state_directory_and_over_sessions(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with Terminal(tmp_path / "new.db", state=state) as first:
        assert "new.db (new)" in first.ready()
        first.ask("SELECT 'first' AS a,\r1 AS b;")
        first.ask("SELECT 'second' AS a;")
        first.ready()
        first.type(CTRL_D)
        assert first.end() == 0
    kept = state / "ppduck" / "history"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with Terminal(state=state) as second:
        second.clear()
        second.type(UP)
        second.see("ppduck> SELECT 'second' AS a;")
        second.type(CTRL_C)
        second.ready()
        second.type(CTRL_R + "fir")
        second.see("   ...> 1 AS b;")
        second.type(ENTER + ENTER)
        second.see("│ first ")
        second.ready()
        second.type(".exit" + ENTER)
        assert second.end() == 0


def test_secrets_do_not_reach_the_disk(tmp_path: Path) -> None:
    kept = tmp_path / "ppduck" / "history"
    kept.parent.mkdir()
    kept.write_text("\n# 2024-01-01 00:00:00.000000\n+SELECT 'old';\n")
    kept.chmod(0o644)
    with Terminal(state=tmp_path) as terminal:
        terminal.ask("SELECT 'plain' AS a;")
        terminal.ask("SET VARIABLE secret = 'hush hush hush hush';")
        terminal.clear()
        terminal.type(UP)
        terminal.see("ppduck> SET VARIABLE secret = 'hush hush hush hush';")
        terminal.type(CTRL_C)
        terminal.ready()
        terminal.type("exit;" + ENTER)
        assert terminal.end() == 0
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "'old'" in kept.read_text()
    assert "plain" in kept.read_text()
    assert "hush" not in kept.read_text()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("FROM egadp_plain('t', ['x'], secret = 'hush')", True),
        ("FROM egadp_plain('t', ['x'], Secret := 'hush')", True),
        ("FROM egadp_plain('t', ['x'], secret=>'hush')", True),
        ("FROM EGADP_PLAIN('t', ['x'], 'hush')", True),
        ("CREATE OR REPLACE PERSISTENT SECRET s (TYPE s3, KEY_ID 'hush')", True),
        ("SET VARIABLE secret = 'hush'", True),
        ("set variable k = 'hush'", True),
        ("SELECT 1; SET /* a */ -- b\n VARIABLE k = 'hush'", True),
        ("SET SESSION VARIABLE k = 'hush'", True),
        ("SET threads = 2", False),
        ("UPDATE dataset SET a = 1 WHERE variable", False),
        ("ATTACH 'a.db' (ENCRYPTION_KEY 'hush')", True),
        ("FROM egadp_mask('t', conf=['x'])", False),
    ],
)
def test_statements_that_hold_a_secret(statement: str, expected: bool) -> None:
    assert is_confidential(statement) == expected


def test_a_relative_state_directory_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    assert state_directory() == tmp_path / ".local" / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "there"))
    assert state_directory() == tmp_path / "there"
