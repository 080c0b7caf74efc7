"""python -m ppduck.help, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ppduck.call.registry import function_named, functions


def run(*arguments: str, module: str = "ppduck.help", given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, encoding="utf-8", check=False)


def test_a_page() -> None:
    ran = run("egadp_mask")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "  conf (required)\n      the numeric columns to mask" in ran.stdout
    assert "  on_null := 'error'\n      NULL in nonconf is refused, is a level of its category" in ran.stdout
    assert "takes one\n      of 'error', 'level', 'drop', 'mean'\n" in ran.stdout
    assert "\nnot guaranteed:\n  - marginal distributions change" in ran.stdout
    assert ran.stdout.endswith(f"\nexample:\n  {function_named('egadp_mask').example}\n")


def test_the_list_names_every_function() -> None:
    ran = run()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {line for line in ran.stdout.splitlines() if not line.startswith(" ")} == {f.name for f in functions()}


def test_the_table_is_markdown() -> None:
    lines = run("--markdown").stdout.splitlines()
    assert lines[:2] == ["| function | what it does |", "| --- | --- |"]
    assert all(line.count(" | ") == 1 for line in lines[2:])
    assert len(lines) == 2 + len(functions())


def test_the_examples_can_be_tried_at_once(tmp_path: Path) -> None:
    demo = run("--demo")
    assert (demo.returncode, demo.stderr) == (0, "")
    ran = run(
        f"{tmp_path}/demo.db",
        module="ppduck.shell",
        given=f"{demo.stdout};{function_named('moments_check').example}",
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "│ correlation │ x1       │ x2       │" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["egadp_maks"], 1, "Error: ppduck_help: there is no function 'egadp_maks'. Did you mean \"egadp_mask\"?"),
        (["egadp_mask", "--markdown"], 2, "not allowed with argument"),
        (["--latex"], 2, "unrecognized arguments: --latex"),
    ],
)
def test_what_is_refused(arguments: list[str], code: int, message: str) -> None:
    ran = run(*arguments)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert message in ran.stderr
