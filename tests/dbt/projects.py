"""Copies of the example project, and the dbt command, run as a user runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import duckdb

import ppduck
from ppduck.dbt.cli import main
from tests.conftest import SECRET

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "dbt_project"
NOT_COPIED = shutil.ignore_patterns("target", "logs", "macros", "*.duckdb", "dbt_packages")
DATABASE = "database/customers.duckdb"
PARSED = "target/partial_parse.msgpack"


def copied(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """The example in a folder of its own, with some files more; `ppduck dbt init` is still to be run."""
    project = folder / "project"
    shutil.copytree(EXAMPLE, project, ignore=NOT_COPIED)
    for name, text in (files or {}).items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    (folder / DATABASE).parent.mkdir()
    return project


def initialized(folder: Path, files: Mapping[str, str] | None = None, like: Path | None = None) -> Path:
    """A project to build; what dbt has parsed in one that is ``like`` it is not parsed again, which takes seconds."""
    project = copied(folder, files)
    if like:
        (project / PARSED).parent.mkdir()
        shutil.copy(like / PARSED, project / PARSED)
    assert main(["init", str(project)]) == 0
    return project


def command(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    quiet = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DBT_VERSION_CHECK": "false", "DBT_USE_COLORS": "false"}
    place = {"PPDUCK_EXAMPLE_DB": f"../{DATABASE}", "CUSTOMERS_SECRET": SECRET}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=os.environ | quiet | place | variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def dbt(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return command(project, "-m", "dbt.cli.main", *arguments, **variables)


def opened(project: Path) -> duckdb.DuckDBPyConnection:
    return ppduck.connect(project.parent / DATABASE, read_only=True, secret=SECRET)


def tables(project: Path) -> set[str]:
    with duckdb.connect(project.parent / DATABASE, read_only=True) as con:
        return {name for (name,) in con.execute("SELECT table_name FROM information_schema.tables").fetchall()}
