"""Every paper that the code cites by author and year stands on the page of references."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_NAME = r"(?:de )?[A-Z]\w+(?:-[A-Z]\w+)?"
# Words before a year that are no author's: of series and surveys, months, and what has versions.
_NO_AUTHOR = (
    r"Statistics|Series|Reports?|Census|Survey|January|February|March|April|May|June|July|August|September|"
    r"October|November|December|Python|DuckDB"
)
# A year with a hyphen behind it is the number of a report.
CITED = re.compile(
    rf"\b(?!(?:{_NO_AUTHOR})\b)({_NAME})((?:(?:,| &| and) {_NAME})*(?: et al\.)?),? \(?((?:19|20)\d\d)\b(?!-\d)"
)
PAGE = (ROOT / "examples" / "references.md").read_text(encoding="utf-8").splitlines()


def citations() -> set[tuple[str, str, str]]:
    """First author, the others, year; of all that is written in ppduck, whatever lines it is broken into."""
    found = set()
    for path in (ROOT / "ppduck").rglob("*.py"):
        text = re.sub(r"\"\s*\n\s*f?\"", "", path.read_text(encoding="utf-8"))
        found |= set(CITED.findall(re.sub(r"\s*\n[\s#]*", " ", text)))
    return found


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Kim & Winkler 2003, Research Report Series (Statistics 2003-1)", [("Kim", " & Winkler", "2003")]),
        ("as de Wolf (1998) has it", [("de Wolf", "", "1998")]),
        ("Li, Li & Venkatasubramanian 2007; Tan et al. 2004", [("Li", ", Li & Venkatasubramanian", "2007"), ("Tan", " et al.", "2004")]),
        ("Mateo-Sanz, Sebé and Domingo-Ferrer (2004)", [("Mateo-Sanz", ", Sebé and Domingo-Ferrer", "2004")]),
        ("the Census 1995, and in May 2003 the Current Population Survey 2000", []),
        ("Annals of Statistics 1985, report TR-2007-05", []),
    ],
)  # fmt: skip
def test_a_citation_is_told_from_another_year(text: str, cited: list[tuple[str, str, str]]) -> None:
    assert CITED.findall(text) == cited


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
