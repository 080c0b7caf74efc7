"""The examples are run, and show that what they promise holds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import text_of

pytestmark = pytest.mark.core

ROOT = Path(__file__).resolve().parents[1]
OTHERS = ("assess", "customers")  # one wants a table, the other makes one, which tests of policies take


@pytest.mark.parametrize(
    "example", sorted(path.name for path in (ROOT / "examples").glob("*.sql") if path.stem not in OTHERS)
)
def test_examples_run(example: str) -> None:
    command = [sys.executable, "-m", "ppduck.shell", f"examples/{example}"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr
    assert "│ true" in ran.stdout, "each example shows that what it promises holds"
    assert "│ false" not in ran.stdout


def test_the_adult_example() -> None:
    command = [sys.executable, "examples/adult.py"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr
    assert "45,222 rows, 490 cells" in ran.stdout
    published, rebuilt, farthest, covered = map(float, re.findall(r"[\d.]+", ran.stdout.splitlines()[-3]))
    assert rebuilt < published / 4
    assert farthest < 5
    assert 0.9 < covered < 0.99


def test_the_adult_example_says_what_it_lacks() -> None:
    command = [sys.executable, "examples/adult.py", "nowhere.parquet"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert ran.returncode == 1
    assert ran.stderr.startswith("There is no file nowhere.parquet. Adult comes with the sources")
    assert "Traceback" not in ran.stderr


def test_the_nonlinear_example_draws_the_picture_of_the_page(tmp_path: Path) -> None:
    command = [sys.executable, "examples/nonlinear.py", str(tmp_path / "drawn.png")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("│ true") == 7
    assert "│ false" not in ran.stdout
    assert (tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG")
    assert "(nonlinear.png)" in text_of("examples/shapes.md")
    assert (ROOT / "examples" / "nonlinear.png").stat().st_size < 150_000


def test_the_nonlinear_example_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError('not here')")
    command = [sys.executable, "examples/nonlinear.py", str(tmp_path / "drawn.png")]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "pip install 'ppduck[plots]'" in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
