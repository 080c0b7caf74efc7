"""What is checked before a commit is what .ci/run checks, and the page for contributors names it; habits of tests."""

from __future__ import annotations

import ast
import re

from tests.pages import ROOT, text_of


def checks_of_ci() -> list[str]:
    """The commands between the house's heading and the next environment."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    [checks] = re.findall(r'^echo "== ruff and mypy"\n(.*?)\n\n', script, re.DOTALL | re.MULTILINE)
    found: list[str] = checks.splitlines()
    return found


def test_pre_commit_runs_the_checks_of_ci() -> None:
    config = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert len(checks_of_ci()) == 3
    assert re.findall(r"^ +entry: (.+)$", config, re.MULTILINE) == checks_of_ci()
    assert re.findall(r"^ +- repo: (.+)$", config, re.MULTILINE) == ["local"], "no code from elsewhere"
    assert config.count("language: system") == config.count("pass_filenames: false") == 3


def test_contributors_are_told_the_same() -> None:
    page = text_of(".github/CONTRIBUTING.md")
    assert all(f"`{command}`" in page for command in checks_of_ci())
    oldest = re.findall(r"^oldest_duckdb=(.+)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert oldest == ["1.4.0"]
    assert "DuckDB 1.4.0 or" in page


def test_every_refusal_that_is_expected_says_its_words() -> None:
    """``match=`` on every ``pytest.raises``: another error of the same class is no success."""
    without = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            expects = isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.raises"
            if expects and "match" not in {keyword.arg for keyword in node.keywords}:
                without.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert without == []
