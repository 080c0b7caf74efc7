"""What the macros ask is read once: a word that is missing or not known is told, and not passed over."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.dbt.requests import CheckRequest, CommentRequest, MaskRequest, ReleaseRequest, TableRequest

NODE: dict[str, Any] = {"name": "m", "resource_type": "model"}
SOURCE = {"name": "s", "table": '"s"', "is_cte": False, "columns": ["x"]}
ASKED = (
    "original",
    "key",
    "conf",
    "nonconf",
    "limits",
    "moments",
    "tolerance",
    "keep",
    "qi",
    "p",
    "matrix",
    "levels",
    "pseudonyms",
)
GIVEN = dict.fromkeys(ASKED)
RELEASE = {"node": NODE, "given": GIVEN, "masked": '"m"', "made_of": {}}


def test_a_mask() -> None:
    read = MaskRequest.read({"node": NODE, "source": SOURCE, "call": {}})
    assert (read.source.table, read.source.columns) == ('"s"', ["x"])


def test_a_table_and_its_comment() -> None:
    read = TableRequest.read({"node": NODE, "source": SOURCE, "newest": "2026-01-31", "comment": None})
    assert (read.source.columns, read.newest) == (["x"], "2026-01-31")
    assert CommentRequest.read({"node": NODE, "made_of": {"s": NODE}}).made_of == {"s": NODE}


def test_a_check() -> None:
    assert CheckRequest.read({"nodes": {"model.m": NODE}, "selected": ["model.m"]}).selected == ["model.m"]


def test_a_release_that_is_there_or_not() -> None:
    assert ReleaseRequest.read(RELEASE).columns is None
    there = ReleaseRequest.read({**RELEASE, "columns": ["x"]})
    assert there.columns == ["x"]
    assert there.given.limits is None


def test_words_that_are_missing_or_not_known_are_told() -> None:
    with pytest.raises(TypeError, match="MaskedSource: columns is missing"):
        MaskRequest.read({"node": NODE, "source": {"name": "s", "table": "s", "is_cte": False}, "call": {}})
    with pytest.raises(TypeError, match="ReleaseGiven has no limit"):
        ReleaseRequest.read({**RELEASE, "given": {**GIVEN, "limit": 1}})
