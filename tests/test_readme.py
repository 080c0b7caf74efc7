"""The README: two commands, one statement, two screens. What its blocks do is run by test_pages."""

from __future__ import annotations

import re

from tests.pages import ROOT, blocks, text_of

README = text_of("README.md")


def test_first_block_holds_the_two_commands() -> None:
    """As .ci/run reads them."""
    assert blocks("README.md")[0].code.splitlines() == [
        "pip install . && ppduck examples/quickstart.sql",
        "pip install -e '.[test]' && pytest",
    ]


def test_mission_statement_stands_verbatim_with_what_comes_out() -> None:
    second = blocks("README.md")[1]
    assert "SELECT * FROM egadp_mask('customers', conf=['x1','x2']);" in second.code
    assert second.prints is not None


def test_it_is_read_in_five_minutes() -> None:
    assert len(README.splitlines()) <= 200
    assert len(README.split()) <= 1500


def test_it_leads_to_every_page_for_users() -> None:
    links = set(re.findall(r"\]\(([^)#]+\.md)", README))
    written = {path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").rglob("*.md")}
    assert written <= links
