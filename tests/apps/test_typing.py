"""What an editor shows of ppduck: types, signatures, docstrings; all of it checked, and in the wheel."""

from __future__ import annotations

import doctest
import inspect
import os
import pydoc
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import ppduck
from ppduck import errors
from ppduck.extension import connections, releasing
from ppduck.gate import verdict

ROOT = Path(__file__).resolve().parents[2]
GOOD = """
import duckdb
import ppduck

con: duckdb.DuckDBPyConnection = ppduck.connect("my.db", secret=b"0123456789abcdef", read_only=True)
with ppduck.load(con.cursor()) as cursor:
    rows: list[tuple[object, ...]] = cursor.execute("FROM ppduck_functions()").fetchall()
try:
    passed: bool = ppduck.assert_release(
        con, "t", "r", conf=["x"], key="id", limits={"linkage": 0.05, "r2_gain": None, "cc_gain": "chance"},
        keep="s", qi=["s"], p={"x": 0.8}, matrix={"g": [[1.0, 0.0], [0.0, 1.0]]}, levels={"g": ("a", "b")},
    )["passed"]
except ppduck.ReleaseRefused as refused:
    print(refused.verdict["rules"])
except ppduck.PpduckError as error:
    print(error)
"""
BAD = """
import ppduck

ppduck.load("my.db")
con = ppduck.connect(secret=5)
ppduck.assert_release(con, "t", "r", key="id")
ppduck.release_verdict(con, "t", "r", conf="x", key="id", limits={"linkage": "low"})
ppduck.unload(con)
"""
# As a user's own settings; what ppduck itself imports is checked elsewhere and left out, to be quick.
SETTINGS = """
[mypy]
strict = True
follow_imports = silent
[mypy-numpy.*,scipy.*,pyarrow.*,sqlglot.*,cryptography.*,ppduck.kernels.*,ppduck.masks.*,ppduck.measures.*]
follow_imports = skip
ignore_missing_imports = True
"""


def test_the_surface_is_thin_and_all_of_it_is_there() -> None:
    assert sorted(ppduck.__all__) == [
        *("PpduckError", "PpduckWarning", "ReleaseRefused", "Released", "__version__"),
        *("assert_release", "connect", "errors", "interrupt", "load", "release", "release_verdict"),
    ]
    assert all(hasattr(ppduck, name) for name in ppduck.__all__)


@pytest.mark.parametrize("name", ["load", "connect", "interrupt", "assert_release", "release", "release_verdict"])
def test_functions_tell_their_types_and_every_parameter(name: str) -> None:
    function = getattr(ppduck, name)
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())
    told, _, example = inspect.getdoc(function).partition("Example\n")  # type: ignore[union-attr]
    assert f"ppduck.{name}(" in example
    assert all(parameter in told for parameter in signature.parameters)


@pytest.mark.parametrize(
    "module", [ppduck, errors, connections, releasing, verdict], ids=lambda module: module.__name__
)
def test_the_examples_in_docstrings_run(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted > 0
    assert found.failed == 0


def test_help_says_what_is_needed() -> None:
    shown = pydoc.plain(pydoc.render_doc(ppduck.load))
    assert "load(con: 'duckdb.DuckDBPyConnection | ModuleType', secret: 'str | bytes | None' = None, *, role:" in shown
    for needed in ("A cursor is a connection of its own", "16 bytes", "PPDUCK_SECRET", "PpduckError", "egadp_mask("):
        assert needed in shown
    assert ">>> try:" in pydoc.plain(pydoc.render_doc(ppduck.PpduckError))


def test_mypy_accepts_a_right_program_and_rejects_a_wrong_one(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "good.py", "bad.py"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    complaints = [line for line in checked.stdout.splitlines() if ": error: " in line]
    lines = [int(line.split(":")[1]) for line in complaints if line.startswith("bad.py:")]
    assert lines == [4, 5, 6, 7, 8], checked.stdout + checked.stderr
    assert len(complaints) == len(lines), "the right program has no fault"
    assert '"load" has incompatible type "str"' in complaints[0]
    assert 'Missing named argument "conf"' in complaints[2]
    assert 'has no attribute "unload"' in complaints[4]


def test_the_marker_and_the_macros_are_in_the_wheel(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("ppduck", "sql", "examples", "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    build = "import setuptools.build_meta as backend; backend.build_wheel('..')"
    subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, check=True, timeout=120)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        assert {
            "ppduck/py.typed",
            "ppduck/extension/connections.py",
            "ppduck/sql/ppduck.sql",
            "ppduck/gate/verdict.schema.json",
        } <= set(opened.namelist())


@pytest.mark.parametrize("given", [None, "my.db", 3])
def test_what_is_no_connection_is_refused(given: object) -> None:
    told = (
        rf"^ppduck\.load: con must be a DuckDB connection, .* got {type(given).__name__}\. .* call ppduck\.connect\.$"
    )
    with pytest.raises(ppduck.PpduckError, match=told):
        ppduck.load(given)  # type: ignore[arg-type]


def test_a_bad_secret_is_refused_before_a_database_is_made(tmp_path: Path) -> None:
    with pytest.raises(ppduck.PpduckError, match=r"secret takes text or bytes, got int"):
        ppduck.connect(tmp_path / "new.db", secret=5)  # type: ignore[arg-type]
    with pytest.raises(ppduck.PpduckError, match=r"secret is too short"):
        ppduck.connect(tmp_path / "new.db", secret="short")
    assert list(tmp_path.iterdir()) == []


def test_duckdb_itself_is_its_default_connection() -> None:
    import duckdb

    assert ppduck.load(duckdb) is duckdb  # type: ignore[comparison-overlap]
    assert duckdb.sql("FROM ppduck_functions() WHERE name = 'egadp_mask'").aggregate("count(*)").fetchall() == [(1,)]
