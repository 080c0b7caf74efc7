"""The parameter ``level`` of the masks that add noise to the values themselves."""

from __future__ import annotations

from typing import Any

from ppduck.errors import listed, near_miss, quoted
from ppduck.plan.arguments import Parameter, number_per_column

LEVEL = Parameter(
    "level",
    number_per_column(0, 1e12, "of at least 0, and finite"),
    "variance of the noise as a share of the column's variance, such as 0.1; one number or {column: number}",
)
LEAST = 1e-6  # noise of a thousandth of the standard deviation
NOISE_LOSSES = (
    "protection: masked values stay close to the originals, the closer the smaller the level",
    "releases of the same rows with other levels, other columns or changed data can be averaged against each other",
)


def check_level(given: dict[str, Any], conf: list[str]) -> list[str]:
    faults = check_columns("level", given.get("level"), conf)
    levels = given["level"].values() if isinstance(given["level"], dict) else [given["level"]]
    faults += [
        f"level {level:g} would pass the confidential values through; give a level of at least {LEAST:g}."
        for level in levels
        if level < LEAST
    ]
    return faults


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
