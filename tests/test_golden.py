"""The same statement and the same secret give the rows that they gave before, on every DuckDB."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ppduck.call.registry import functions
from tests.golden.answers import answer, opened
from tests.golden.statements import MASKS, OTHERS

pytestmark = pytest.mark.core
TELLING_OF_ITSELF = {"ppduck_help", "ppduck_functions"}  # words, which may change
ANSWERS = json.loads((Path(__file__).parent / "golden" / "answers.json").read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("name", [*MASKS, *OTHERS])
def test_what_a_statement_gave_it_gives(golden: duckdb.DuckDBPyConnection, name: str) -> None:
    found, pinned = answer(golden, name), ANSWERS[name]
    assert found["columns"] == pinned["columns"]
    assert found["rows"] == pinned["rows"]
    assert_near(found["first"], pinned["first"])
    for own, other in zip(found["all"], pinned["all"], strict=True):
        size = math.sqrt(other[1] * found["rows"]) if isinstance(other, list) else 0.0
        assert_near(own, other, size)


def test_every_function_is_pinned() -> None:
    statements = " ".join([*MASKS.values(), *OTHERS.values()])
    unpinned = {function.name for function in functions() if f"{function.name}(" not in statements}
    assert unpinned == TELLING_OF_ITSELF
    assert set(ANSWERS) == {*MASKS, *OTHERS}
