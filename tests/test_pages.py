"""What the pages say is run, and compared with what they say comes out.

The rule: a page is read from its top in a folder of its own, which looks like the top of the repository.

- A ``sql`` block is one run of ``ppduck -c`` on the page's database ``my.db``, so that a block sees the tables and views
  of those above it; on the pages of ``sql/`` it is one run of DuckDB's own shell, in memory, with the macros of
  ``sql/ppduck.sql``, and prints CSV.
- A ``python`` block is a program, a ``sh`` block a script (without ``pip install``); both find ``my.db`` beside them.
- A ``python`` or ``yaml`` block whose first line is a comment with nothing but a path is that file, for a block below it.
- A ``text`` block right behind a block is what that prints, to the letter.
- A block without a language is a picture. Other languages there are none, so that nothing stands there untried.

Commands that take minutes stand in the text: their options must be there.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ppduck
from tests.golden.pages import FUNCTIONS, with_table
from tests.pages import ROOT, blocks, folder_like_the_top, pages, prose_of, run, text_of

RUN = ("sql", "python", "sh")
FILES = ("yaml",)
PICTURE = ""
ALONE = ("where", "release", "suggest")  # commands of their own
NOT_ON_THE_OLDEST = ("examples/python.md",)  # duckdb_engine cannot read the types of DuckDB 1.4.0


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def names_in(table: str) -> list[str]:
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def pages_with_blocks() -> list[Any]:
    core = {page: [] if page in NOT_ON_THE_OLDEST else [pytest.mark.core] for page in pages()}
    return [pytest.param(page, marks=core[page]) for page in pages() if blocks(page)]


@pytest.mark.parametrize("page", pages_with_blocks())
def test_every_block_runs_and_prints_what_the_page_says(page: str, tmp_path: Path) -> None:
    folder = folder_like_the_top(tmp_path)
    for block in blocks(page):
        place = f"{page}:{block.line}"
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.code, encoding="utf-8")
        elif block.language != PICTURE:
            assert block.language in RUN, f"{place}: nothing runs a block of {block.language}"
            ran = run(page, block, folder)
            assert ran.returncode == 0, f"{place}: {ran.stdout}{ran.stderr}"
            assert block.prints is None or ran.stdout == block.prints, place


@pytest.mark.parametrize("page", pages())
def test_fences_are_closed_and_known(page: str) -> None:
    found = blocks(page)
    shown = sum(block.prints is not None for block in found)
    assert len(re.findall(r"^\s*```", text_of(page), re.MULTILINE)) == 2 * (len(found) + shown)
    assert {block.language for block in found} <= {*RUN, *FILES, PICTURE}
    assert all(block.file for block in found if block.language in FILES)
    for number, block in enumerate(found):
        if block.file:
            top = block.file.partition("/")[0].partition(".")[0]
            assert any(top in later.code for later in found[number + 1 :] if not later.file), (
                f"nothing uses {block.file}"
            )


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page: str) -> None:
    """Relative ones, with the heading they name; others are not followed."""
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert target.exists(), f"{page}: {link}"
        assert target.is_relative_to(ROOT), f"{page}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), f"{page}: {link}"


@pytest.mark.parametrize("page", [page for page in pages() if page not in ("README.md", "CHANGELOG.md")])
def test_a_page_says_first_what_it_is_for_and_can_be_found(page: str) -> None:
    title, empty, first, *_ = text_of(page).splitlines()
    assert title.startswith("# ")
    assert empty == ""
    assert re.match(r"[A-Z`*]", first)
    links = {
        ((ROOT / other).parent / link.partition("#")[0]).resolve()
        for other in pages()
        if other != page
        for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(other))
    }
    assert ROOT / page in links, f"no other page leads to {page}"


def test_no_sentence_stands_twice() -> None:
    """Told in one place, a thing is changed in one place."""
    counted: Counter[str] = Counter()
    for page in pages():
        prose = re.sub(r"^[|#].*$", "", prose_of(page), flags=re.MULTILINE)
        sentences = re.split(r"(?<=[.:;!?])\s|\n\n|^- ", re.sub(r"\n(?!\n|- )", " ", prose), flags=re.MULTILINE)
        counted.update(" ".join(sentence.split()) for sentence in sentences)
    assert [sentence for sentence, times in counted.items() if times > 1 and len(sentence.split()) > 7] == []


@cache
def help_of(*command: str) -> str:
    asked = [sys.executable, "-m", *command, "--help"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True).stdout


@pytest.mark.parametrize("page", pages())
def test_options_of_commands_in_the_text_are_there(page: str) -> None:
    code = "\n".join(re.findall(r"`([^`]+)`", prose_of(page)))
    for command in re.findall(r"(?:^|&& )(python -m (?:ppduck|tests)\b.*|ppduck .*)$", code, re.MULTILINE):
        words = shlex.split(command)
        module = words[2:3] if words[0] == "python" else ["ppduck.shell", *(w for w in words[1:2] if w in ALONE)]
        for option in (word for word in words if word.startswith("--")):
            assert option in help_of(*module), f"{page}: {command}"


@pytest.mark.core
def test_the_table_of_functions_is_the_registry() -> None:
    """Otherwise ``python -m tests.golden`` writes it, with all else that is told of a new function."""
    assert with_table(text_of(FUNCTIONS)) == text_of(FUNCTIONS)


@pytest.mark.core
def test_the_table_of_parameters_names_every_shared_one(con: duckdb.DuckDBPyConnection) -> None:
    table = text_of("examples/functions.md").partition("## Parameters")[2].partition("## ")[0]
    for mask in ("egadp_mask", "gadp_mask"):
        asked = con.execute("SELECT name FROM ppduck_help(?) WHERE section = 'parameter'", [mask])
        assert [name for (name,) in asked.fetchall()] == names_in(table)


@pytest.mark.core
def test_pages_speak_only_of_functions_that_there_are(con: duckdb.DuckDBPyConnection) -> None:
    known = {name for (name,) in con.execute("SELECT name FROM ppduck_functions()").fetchall()}
    for page in pages():
        called = re.findall(r"`(?:FROM )?((?:\w+_mask|rr_\w+|\w+_(?:check|security|disclosure))\b)[`(]", text_of(page))
        assert set(called) - known - {"linear_mask", "ppduck_mask"} == set(), page


@pytest.mark.core
@pytest.mark.long
def test_the_assessed_releases_are_those_of_the_page() -> None:
    command = [sys.executable, "-m", "ppduck.shell", "examples/assess.sql"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr
    found = [re.findall(r"[\w.]+", line) for line in ran.stdout.splitlines() if "_mask" in line]
    lines = text_of("examples/safe_and_useful.md").splitlines()
    shown = [re.findall(r"[\w.]+", line) for line in lines if re.match(r"\| (census|adult) \|", line)]
    assert len(found) == 6
    assert found == shown


def test_the_changelog_knows_every_function_and_the_version(con: duckdb.DuckDBPyConnection) -> None:
    changes = text_of("CHANGELOG.md")
    assert re.findall(r"^## ([\d.]+)", changes, re.MULTILINE)[0] == ppduck.__version__.partition(".dev")[0]
    names = con.execute("SELECT name FROM ppduck_functions()").fetchall()
    assert [name for (name,) in names if f"`{name}`" not in changes] == []
