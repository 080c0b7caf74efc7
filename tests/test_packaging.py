"""What is built from a checkout: an sdist that is whole, and a wheel that has all that its user needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from ppduck import shell
from ppduck.where import path

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"
AUTHOR = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")


def run(*command: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources as git would hold them."""
    copy = tmp_path_factory.mktemp("built") / "checkout"
    ignored = shutil.ignore_patterns(".git", ".*_cache", "*.egg-info", ".hypothesis", "build", "dist", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=ignored)
    run("git", "init", "--quiet", cwd=copy)
    run("git", "add", "--all", cwd=copy)
    run("git", *AUTHOR, "commit", "--quiet", "--message", "As it is", cwd=copy)
    return copy


@pytest.fixture(scope="module")
def built(checkout: Path) -> Path:
    folder = checkout.parent / "out"
    for what in ("build_sdist", "build_wheel"):
        run(sys.executable, "-c", BUILD, what, str(folder), cwd=checkout)
    return folder


def test_the_sdist_is_whole(checkout: Path, built: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    tracked = set(run("git", "ls-files", cwd=checkout).splitlines())
    assert {"tests/test_packaging.py", "tests/data/adult.parquet", "sql/ppduck.sql", ".ci/run"} <= tracked
    assert tracked - packed == set()


def test_the_wheel_runs_the_examples_and_tells_where_they_are(built: Path, tmp_path: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
        assert not [name for name in archive.namelist() if "test" in name.split("/")[0]]
    installed = {"PYTHONPATH": str(tmp_path / "installed"), "PPDUCK_SECRET": "the same for both of them"}

    def ppduck(*arguments: str) -> str:
        return run(sys.executable, "-m", "ppduck.shell", *arguments, cwd=tmp_path, **installed)

    macros, examples = (Path(ppduck("where", place).strip()) for place in ("sql", "examples"))
    assert macros == tmp_path / "installed" / "ppduck" / "sql" / "ppduck.sql"
    assert macros.read_text(encoding="utf-8") == (ROOT / "sql" / "ppduck.sql").read_text(encoding="utf-8")
    printed = ppduck(str(examples / "quickstart.sql"))
    here = [sys.executable, "-m", "ppduck.shell", "examples/quickstart.sql"]
    assert printed == run(*here, cwd=ROOT, PPDUCK_SECRET=installed["PPDUCK_SECRET"])
    assert (examples / "dbt_project" / "models" / "masked" / "schema.yml").is_file()
    assert (tmp_path / "installed" / "ppduck" / "dbt" / "macros" / "ppduck.sql").is_file()


def test_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.main(["where"]) == 0
    assert capsys.readouterr().out == f"{path('sql')}\n"
    assert path("sql").read_text(encoding="utf-8").startswith("--")
    assert (path("examples") / "quickstart.sql").is_file()
    with pytest.raises(SystemExit, match="2"):
        shell.main(["where", "nowhere"])
    assert "invalid choice: 'nowhere'" in capsys.readouterr().err
