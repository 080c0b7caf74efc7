"""A specification of a call with one conf column x and one nonconf column s, as a plan would write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ppduck.call.linear_mask import TermPlaces
from ppduck.runtime.spec import MaskSpec


@pytest.fixture
def spec() -> Callable[..., MaskSpec]:
    def made(function: str = "egadp_mask", **changed: Any) -> MaskSpec:
        call = {"conf": ["x"], "nonconf": ["s"], "strata": [], "key": [], "seed": None}
        told: dict[str, Any] = {
            "conf": ["x"],
            "nonconf": ["s"],
            "features": ["s"],
            "places": TermPlaces(1),
            "key": [],
            "row": "",
            "measured": ["s", "x"],
            "categories": [],
            "indicators_of": [],
            "bases": [],
            "on_null": "error",
            "null_levels": [],
            "nullable": [],
            "left_out": [],
            "steps": [0.0],
            "permutes": False,
            "exact": True,
            "arguments": {**call, "on_null": "error", "round": False, "drop": []},
            "context": "a release",
            "indicators": [],
            "inputs": [],
        }
        return MaskSpec(function, "t", **(told | changed))

    return made
