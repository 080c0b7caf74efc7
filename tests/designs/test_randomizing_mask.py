"""What the masks that randomize have in common: their parameters, and promises of the plainest call."""

from __future__ import annotations

import pytest

from ppduck.call.parameters import parameters_of
from ppduck.call.registry import function_named
from ppduck.designs.randomizing_mask import RandomizingMask
from ppduck.masks.pram import PramMaskCall
from ppduck.masks.rr import RrMaskCall

pytestmark = pytest.mark.core


def test_both_masks_are_told_the_same_in_the_same_words() -> None:
    rr, pram = ({each.name: each for each in parameters_of(call)} for call in (RrMaskCall, PramMaskCall))
    assert set(pram) - set(rr) == {"invariant"}
    assert set(rr) <= set(pram)
    for name, parameter in rr.items():
        assert (parameter.doc, parameter.default) == (pram[name].doc, pram[name].default)


@pytest.mark.parametrize("name", ["rr_mask", "pram_mask"])
def test_what_is_promised_holds_for_the_plainest_call(name: str) -> None:
    mask = function_named(name)
    assert isinstance(mask, RandomizingMask)
    kept, lost = mask.promised()
    assert 0 < len(kept) < len(mask.keeps)  # an invariant matrix is not what every call asks for
    assert not any("expected share of every level" in each for each in kept)
    assert any("which levels occur" in each for each in lost)
    assert not any("seeded" in each for each in lost)
