"""What a randomizing call promises follows from what it says."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.call.guarantees import Promise
from ppduck.call.registry import Kind, functions
from ppduck.designs.promises import KEEPS, LOSES
from ppduck.designs.randomizing_mask import RandomizingMask
from ppduck.masks.pram import PramMaskCall
from ppduck.masks.rr import RrMaskCall

pytestmark = pytest.mark.core


def lost(call: Any) -> str:
    return " | ".join(str(each) for each in LOSES if each.when(call))


def test_every_randomizing_mask_promises_so() -> None:
    masks = [each for each in functions() if isinstance(each, RandomizingMask)]
    assert {each.name for each in masks} == {"rr_mask", "pram_mask"}
    for mask in masks:
        assert (mask.kind, mask.keeps, mask.loses) == (Kind.MASK, KEEPS, LOSES)
        assert mask.promises(Promise.RECONSTRUCTION, RrMaskCall(tbl="t"))


def test_shares_are_kept_where_the_matrix_is_made_so() -> None:
    [mask] = [each for each in functions() if each.name == "pram_mask"]
    assert mask.promises(Promise.SHARES, PramMaskCall(tbl="t", invariant=True))
    assert not mask.promises(Promise.SHARES, PramMaskCall(tbl="t"))
    assert "an invariant matrix follows its shares" in lost(PramMaskCall(tbl="t", invariant=True))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"on_null": "level"}, "who gave no answer"),
        ({"levels": {"x": ["a"]}}, "which levels occur"),
        ({"key": ("id",)}, "written anew"),
    ],
)
def test_what_a_call_says_is_not_lost(given: dict[str, Any], sentence: str) -> None:
    assert sentence in lost(RrMaskCall(tbl="t"))
    assert sentence not in lost(RrMaskCall(tbl="t", **given))


def test_a_seed_protects_nothing() -> None:
    assert "seeded draws" in lost(RrMaskCall(tbl="t", seed=1))
    assert "seeded draws" not in lost(RrMaskCall(tbl="t"))
