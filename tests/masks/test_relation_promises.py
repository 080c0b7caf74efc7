"""Every variant of nm_egadp_mask promises what it does, and tells what becomes of extremes in a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ppduck.call.guarantees import LossKind, Promise
from ppduck.masks import nm_egadp
from ppduck.masks._promises import EXTREMES, SHAPE, VALUES_RELEASED
from ppduck.masks._relation_promises import permutes
from tests.registry_calls import usual_call


@pytest.mark.parametrize("variant", [1, 2, 3, 4])
def test_a_variant_keeps_its_values_or_makes_new_ones(variant: int) -> None:
    mask = nm_egadp.MASK
    call = replace(usual_call(mask), variant=variant)
    lost = mask.lost(call)
    assert permutes(call) == mask.promises(Promise.VALUES, call) == (variant in (2, 4))
    assert mask.promises(Promise.MOMENTS, call) == (variant == 1)
    assert (LossKind.MOMENTS in {each.kind for each in lost}) == (variant != 1)
    assert (SHAPE.sentence in map(str, lost)) == (not permutes(call))
    [extremes] = [str(each) for each in lost if each.kind is LossKind.EXTREMES]
    assert extremes == (VALUES_RELEASED.sentence if permutes(call) else f"with variants 1 and 3, {EXTREMES}")


def test_more_noise_is_not_exact() -> None:
    call = replace(usual_call(nm_egadp.MASK), extra_noise=0.1)
    assert not nm_egadp.MASK.promises(Promise.MOMENTS, call)
