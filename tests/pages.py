"""The pages of the repository: what is written in them, and how their blocks are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.test_plain_sql import shell_binary

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("examples", "ppduck", "sql", "tests", ".github")
DATABASE = "my.db"
NOT_COPIED = shutil.ignore_patterns("target", "logs", "macros", "*.duckdb", "dbt_packages", "__pycache__")
QUIET_DBT = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DBT_VERSION_CHECK": "false", "DBT_USE_COLORS": "false"}
# DuckDB 1.4 draws it for what takes longer than two seconds, as anything may on a busy machine, whoever reads.
PROGRESS = re.compile(r"\n?[ \r]*\d+% ▕[^\n]*\n")


def pages() -> list[str]:
    """Every page, by its path from the top."""
    found = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def prose_of(page: str) -> str:
    """A page without its blocks."""
    return re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block, the line it stands at, and what the page says that it prints, if it says so."""

    language: str
    code: str
    line: int
    prints: str | None

    @property
    def file(self) -> str | None:
        """The file that a block of Python or YAML is, where its first line is a comment with nothing but a path."""
        named = re.match(r"# ([\w./-]+\.\w+)\n", self.code) if self.language in ("python", "yaml") else None
        return named[1] if named else None


def blocks(page: str) -> list[Block]:
    """The blocks of a page in their order; a ``text`` block right behind another one is what that one prints."""
    text = text_of(page)
    fence = re.compile(r"^```(\w*)\n(.*?)^```\n(?:\n*```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1, found[3]) for found in fence.finditer(text)
    ]


def commands_to_run(code: str) -> str:
    """A shell block without what installs things and without the suite itself, which runs this."""
    kept = (re.sub(r"^pip install .*?(?: && |$)", "", line) for line in code.splitlines())
    return "\n".join("" if line == "pytest" else line for line in kept)


def folder_like_the_top(folder: Path) -> Path:
    """A folder in which examples, macros and data stand as at the top, and in which blocks may write."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=NOT_COPIED)
    for name in ("sql", "tests"):
        (folder / name).symlink_to(ROOT / name, target_is_directory=True)
    return folder


def run(page: str, block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs one block of a page in its folder."""
    if block.language == "sql" and page.startswith("sql/"):
        command = [shell_binary(), "-no-init", "-bail", "-csv", "-c", ".read sql/ppduck.sql", "-c", block.code]
    elif block.language == "sql":
        command = [sys.executable, "-m", "ppduck.shell", "-c", block.code, DATABASE]
    elif block.language == "python":
        command = [sys.executable, "-W", "ignore::ppduck.errors.PpduckWarning", "-c", block.code]
    else:
        command = ["bash", "-euo", "pipefail", "-c", commands_to_run(block.code)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    modules = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    ran = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | QUIET_DBT | {"PATH": path, "PYTHONPATH": modules},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    ran.stdout = PROGRESS.sub("", ran.stdout)
    return ran
