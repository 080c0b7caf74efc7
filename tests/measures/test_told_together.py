"""Rows of the answer: the gain is the difference, and nothing known is NULL."""

from __future__ import annotations

import pytest

from ppduck.measures._told_together import NO_RANGE, RESULTS, nothing, plural, row

pytestmark = pytest.mark.core


def test_a_row_has_every_result_and_the_difference() -> None:
    found = row("averaging", "x", (0.75, 0.5), (0.2, 0.3), 9, "…")
    assert list(found) == [result.name for result in RESULTS]
    assert (found["gain"], found["lower"], found["upper"]) == (0.25, 0.2, 0.3)


def test_what_is_not_known_is_null() -> None:
    found = row("averaging", "x", None, NO_RANGE, 0, "…")
    assert [found[name] for name in ("success", "baseline", "gain", "lower", "upper")] == [None] * 5
    assert nothing("averaging", "x", 3, "…")["gain"] == 0


def test_one_is_no_plural() -> None:
    assert [plural(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
