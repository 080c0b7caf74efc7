"""What the README and the examples say is run, and compared with what they say comes out."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from ppduck.call.registry import functions
from tests.test_plain_sql import shell_binary

pytestmark = pytest.mark.core

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ppduck.shell", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)


def test_first_block_holds_the_two_commands() -> None:
    first = re.search(r"^```(\w+)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert first is not None
    assert first[2].splitlines() == [
        "pip install . && ppduck examples/quickstart.sql",
        "pip install -e '.[test]' && pytest",
    ]


def test_mission_statement_stands_verbatim() -> None:
    assert "SELECT * FROM egadp_mask('customers', conf=['x1','x2']);" in README


def test_sql_prints_what_the_readme_prints() -> None:
    assert len(blocks("sql")) == len(blocks("text")) == 6
    for code, printed in zip(blocks("sql"), blocks("text"), strict=True):
        ran = shell("-c", code)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout == printed


def test_the_plain_shell_command(tmp_path: Path) -> None:
    [command] = re.findall(r'`duckdb my\.db (-c "\.read .*?)`', README)
    create = "CREATE TABLE published AS SELECT i % 2 AS a, i % 3 AS b FROM range(60) r(i)"
    arguments = [shell_binary(), str(tmp_path / "my.db"), "-c", create, *shlex.split(command)]
    ran = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "std_error" in ran.stdout


def test_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("my.db") as con:
        con.execute("CREATE TABLE customers AS SELECT i AS id, sin(i) AS x1, cos(i) AS x2 FROM range(100) r(i)")
    gate, code = blocks("python")
    names: dict[str, object] = {}
    exec(code, names)
    con = names["con"]
    assert isinstance(con, duckdb.DuckDBPyConnection)
    assert "x2" in capsys.readouterr().out
    con.execute(
        "CREATE TABLE release AS FROM egadp_mask('customers', conf=['x1','x2'], nonconf=[]::VARCHAR[], key='id', seed=1)"
    )
    exec(gate, names)
    assert json.loads(Path("verdict.json").read_text(encoding="utf-8")) == names["verdict"]
    con.close()


def test_function_table_is_the_registry() -> None:
    """Otherwise put there what this prints: python -m ppduck.help --markdown."""
    command = [sys.executable, "-m", "ppduck.help", "--markdown"]
    table = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True).stdout
    [written] = re.findall(r"^\| function \| what it does \|\n(?:\|.*\n)+", README, re.MULTILINE)
    assert written == table


def test_parameter_table_names_every_shared_parameter() -> None:
    described = re.findall(r"^\| `(\w+)` \|", README.partition("### Parameters")[2].partition("## ")[0], re.MULTILINE)
    by_function = [[p.name for p in f.parameters] for f in functions() if f.name in ("egadp_mask", "gadp_mask")]
    assert described == by_function[0] == by_function[1]


@pytest.mark.parametrize(
    "example", sorted(path.name for path in (ROOT / "examples").glob("*.sql") if path.stem != "assess")
)
def test_examples_run(example: str) -> None:
    ran = shell(f"examples/{example}")
    assert ran.returncode == 0, ran.stderr
    assert "│ true" in ran.stdout, "each example shows that what it promises holds"
    assert "│ false" not in ran.stdout


@pytest.mark.long
def test_the_assessed_releases_are_those_of_the_readme() -> None:
    ran = shell("examples/assess.sql")
    assert ran.returncode == 0, ran.stderr
    found = [re.findall(r"[\w.]+", line) for line in ran.stdout.splitlines() if "_mask" in line]
    shown = [re.findall(r"[\w.]+", line) for line in README.splitlines() if re.match(r"\| (census|adult) \|", line)]
    assert len(found) == 6
    assert found == shown


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


def test_the_nonlinear_example_draws_the_picture_of_the_readme(tmp_path: Path) -> None:
    command = [sys.executable, "examples/nonlinear.py", str(tmp_path / "drawn.png")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("│ true") == 7
    assert "│ false" not in ran.stdout
    assert (tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG")
    assert "(examples/nonlinear.png)" in README
    assert (ROOT / "examples" / "nonlinear.png").stat().st_size < 150_000


def test_the_nonlinear_example_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError('not here')")
    command = [sys.executable, "examples/nonlinear.py", str(tmp_path / "drawn.png")]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "pip install 'ppduck[plots]'" in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_changelog_knows_every_function() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert all(f"`{function.name}`" in changes for function in functions())
