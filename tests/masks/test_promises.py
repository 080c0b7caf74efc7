"""Promises that several masks share are said once, and each is somebody's."""

from __future__ import annotations

import pytest

from ppduck.call.guarantees import Guarantee, Loss
from ppduck.call.registry import Function, masks
from ppduck.masks import _promises

pytestmark = pytest.mark.core
MASKS = list(masks().values())
SHARED = [
    each
    for value in vars(_promises).values()
    for each in (value if isinstance(value, tuple) else (value,))
    if isinstance(each, (Guarantee, Loss))
]


def test_every_shared_promise_is_made_by_a_mask() -> None:
    made = {str(each) for mask in MASKS for each in (*mask.keeps, *mask.loses)}
    assert SHARED
    assert {str(each) for each in SHARED} <= made


def test_no_sentence_is_both_kept_and_lost() -> None:
    kept, lost = ({str(each) for each in SHARED if isinstance(each, kind)} for kind in (Guarantee, Loss))
    assert not kept & lost


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: mask.name)
def test_a_row_that_stands_out_is_refused_or_warned_of_or_drawn_anew(mask: Function) -> None:
    extremes = (_promises.EXTREMES, _promises.EXTREMES_REFUSED, _promises.EXTREMES_DRAWN_ANEW, _promises.EXTREMES_STAY)
    assert sum(each in mask.loses for each in extremes) <= 1
