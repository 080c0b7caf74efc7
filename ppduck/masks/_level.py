"""The parameter ``level`` of the masks that add noise to the values themselves."""

from __future__ import annotations

from ppduck.call.arguments import number, per_column
from ppduck.call.guarantees import Loss, LossKind
from ppduck.call.numeric_mask import NumericCall, PerColumn, check_columns
from ppduck.call.parameters import Reader, parameter, parameters
from ppduck.call.ranges import Range
from ppduck.masks._promises import EXTREMES_STAY

LEAST = 1e-6  # noise of a thousandth of the standard deviation


def level_up_to(most: float) -> Reader:
    why = ": with less the confidential values would pass through"
    return per_column(number(Range(LEAST, most), why))


LEVEL = parameter(
    level_up_to(1e12),
    "variance of the noise as a share of the column's variance, such as 0.1; one number or {column: number}",
)
MORE_NOISE = "a higher level, or a mask that draws values anew, such as egadp_mask"
NOISE_LOSSES = (
    EXTREMES_STAY,
    Loss(
        LossKind.NEARNESS,
        "protection: masked values stay close to the originals, the closer the smaller the level",
    ),
    Loss(
        LossKind.SEVERAL_RELEASES,
        "releases of the same rows with other levels, other columns or changed data can be averaged against each other",
    ),
)


@parameters
class LevelCall(NumericCall):
    level: PerColumn = LEVEL


def check_level(call: LevelCall, conf: list[str]) -> list[str]:
    return check_columns("level", call.level, conf)
