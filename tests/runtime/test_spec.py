"""What Python is told of a call comes back as it was written."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.call.linear_mask import TermPlaces
from ppduck.masks.kim import KimCall
from ppduck.runtime.spec import MaskSpec

Spec = Callable[..., MaskSpec]


def test_places_and_arguments_survive_the_way_through_sql(spec: Spec) -> None:
    told = spec(places=TermPlaces(1, (1,), ((2, 3, 4),)))
    read = MaskSpec.read(told.text())
    assert read == told
    assert read.places.explaining == 2
    assert read is MaskSpec.read(told.text())  # of thousands of groups it is read once


def test_the_call_is_that_of_the_mask(spec: Spec) -> None:
    arguments = {"conf": ["x"], "level": 0.2, "corrected": True, "strata": [], "key": [], "seed": None, "round": True}
    told = spec("kim_mask", arguments={**arguments, "nonconf": None, "on_null": "error", "drop": []})
    assert isinstance(told.call, KimCall)
    assert (told.call.level, told.call.corrected, told.call.tbl) == (0.2, True, "t")
    assert told.rounds
    assert told.linear_mask is told.mask
