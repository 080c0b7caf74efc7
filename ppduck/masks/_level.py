"""The parameter ``level`` of the masks that add noise to the values themselves."""

from __future__ import annotations

from typing import Any

from ppduck.call.arguments import number, per_column
from ppduck.call.parameters import Parameter, Reader
from ppduck.call.ranges import Range
from ppduck.errors import listed, near_miss, quoted
from ppduck.masks._promises import EXTREMES_STAY

LEAST = 1e-6  # noise of a thousandth of the standard deviation


def level_up_to(most: float) -> Reader:
    why = ": with less the confidential values would pass through"
    return per_column(number(Range(LEAST, most), why))


LEVEL = Parameter(
    "level",
    level_up_to(1e12),
    "variance of the noise as a share of the column's variance, such as 0.1; one number or {column: number}",
)
MORE_NOISE = "a higher level, or a mask that draws values anew, such as egadp_mask"
NOISE_LOSSES = (
    EXTREMES_STAY,
    "protection: masked values stay close to the originals, the closer the smaller the level",
    "releases of the same rows with other levels, other columns or changed data can be averaged against each other",
)


def check_level(given: dict[str, Any], conf: list[str]) -> list[str]:
    return check_columns("level", given.get("level"), conf)


def check_columns(parameter: str, value: Any, conf: list[str]) -> list[str]:
    """What is wrong with the columns of a {column: number}: each conf column is to be in it, once."""
    if not isinstance(value, dict):
        return []
    unknown = [name for name in value if name not in conf]
    faults = [
        f"{parameter} names column {quoted(name)}, which is not in conf.{near_miss(name, conf)}" for name in unknown
    ]
    missing = [name for name in conf if name not in value]
    if missing:
        faults.append(f"{parameter} says nothing of conf column {listed(missing)}.")
    return faults
