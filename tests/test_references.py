"""Every paper that the code cites by author and year stands on the page of references."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_NAME = r"(?:de )?[A-Z]\w+(?:-[A-Z]\w+)?"
CITED = re.compile(rf"({_NAME})((?:(?:,| &| and) {_NAME})*(?: et al\.)?),? \(?((?:19|20)\d\d)\b")
PAGE = (ROOT / "examples" / "references.md").read_text(encoding="utf-8").splitlines()


def citations() -> set[tuple[str, str, str]]:
    """First author, the others, year; of all that is written in ppduck, whatever lines it is broken into."""
    found = set()
    for path in (ROOT / "ppduck").rglob("*.py"):
        text = re.sub(r"\"\s*\n\s*f?\"", "", path.read_text(encoding="utf-8"))
        found |= set(CITED.findall(re.sub(r"\s*\n[\s#]*", " ", text)))
    return found


@pytest.mark.parametrize("cited", sorted(citations()), ids=" ".join)
def test_cited_papers_are_listed(cited: tuple[str, str, str]) -> None:
    author, others, year = cited
    exact = others.strip(" ,") and "et al." not in others
    begins = f"- {author}{others} ({year})" if exact else f"- {author}"
    assert any(line.startswith(begins) and f"({year})" in line for line in PAGE), begins


def test_the_page_lists_what_is_cited() -> None:
    cited = {(author, year) for author, _, year in citations()}
    for line in PAGE:
        entry = re.match(rf"- ({_NAME}).*?\(((?:19|20)\d\d)\)", line)
        assert entry is None or entry.groups() in cited, line
    assert len(cited) > 50
