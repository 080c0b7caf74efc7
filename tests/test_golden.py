"""The same statement and the same secret give the rows that they gave before, on every DuckDB."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from ppduck.call.registry import functions
from tests.golden import answers, pages
from tests.golden.answers import answer, opened
from tests.golden.statements import MASKS, OTHERS, statements
from tests.pages import text_of

pytestmark = pytest.mark.core
TELLING_OF_ITSELF = {"ppduck_help", "ppduck_functions"}  # words, which may change
STATEMENTS = statements()
ANSWERS = json.loads(answers.ANSWERS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def golden() -> Iterator[duckdb.DuckDBPyConnection]:
    with opened() as con:
        yield con


def assert_near(found: Any, pinned: Any, scale: float = 0.0) -> None:
    """Equal, but for the last digits of sums, which hang on the order in which threads add."""
    if isinstance(pinned, list):
        assert len(found) == len(pinned)
        for one, other in zip(found, pinned, strict=True):
            assert_near(one, other, scale)
    elif isinstance(pinned, float):
        assert math.isclose(found, pinned, rel_tol=1e-9, abs_tol=1e-9 + 1e-9 * scale)
    else:
        assert found == pinned


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_a_statement_gave_it_gives(golden: duckdb.DuckDBPyConnection, name: str) -> None:
    assert name in ANSWERS, "not pinned yet: python -m tests.golden"
    found, pinned = answer(golden, STATEMENTS[name]), ANSWERS[name]
    assert found["columns"] == pinned["columns"]
    assert found["rows"] == pinned["rows"]
    assert_near(found["first"], pinned["first"])
    for own, other in zip(found["all"], pinned["all"], strict=True):
        size = math.sqrt(other[1] * found["rows"]) if isinstance(other, list) else 0.0
        assert_near(own, other, size)


def test_every_function_is_pinned() -> None:
    texts = " ".join(each.text for each in STATEMENTS.values())
    unpinned = {function.name for function in functions() if not re.search(rf"\b{function.name}\(", texts)}
    assert unpinned == TELLING_OF_ITSELF
    assert set(ANSWERS) == set(STATEMENTS), "python -m tests.golden pins what is not pinned, and leaves out the rest"


def test_a_statement_is_written_only_where_the_example_will_not_do() -> None:
    """It may be one of several of its function; and those of masks have names that they were once pinned by."""
    written = {**MASKS, **OTHERS}
    for function in functions():
        own = [text for text in written.values() if re.search(rf"\b{function.name}\(", text)]
        assert own != [function.example] or function.name.endswith("_mask"), function.name


def test_what_is_new_is_told_once_and_in_the_newest_part() -> None:
    assert pages.with_news(text_of(pages.CHANGES)) == text_of(pages.CHANGES)
    named = " ".join(f"`{function.name}`" for function in functions() if function.name != "mse_security")
    told = pages.with_news(f"# Changelog\n\n## 2.0\n\n- {named}\n\n## 1.0\n\n- Old.\n")
    [summary] = [function.summary for function in functions() if function.name == "mse_security"]
    head, _, old = told.partition("## 1.0")
    assert " ".join(head.split()).endswith(f"- `mse_security`: {summary}")
    assert old == "\n\n- Old.\n"
    assert pages.with_news(told) == told
