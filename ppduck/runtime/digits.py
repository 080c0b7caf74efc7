"""Whether the digits of DOUBLE suffice for the moments that a mask promises.

A masked value is written back about the column's mean m, where doubles lie u apart (1.2e-7 at 1e9). Rounding adds an
error of variance u²/12 that is independent of all else, which moves a mean by u/√(12n) and a variance by 2·sd·u/√(12n),
give or take; and so does reading a DECIMAL or HUGEINT as DOUBLE.
"""

from __future__ import annotations

import math

import numpy as np

from ppduck.call.linear_mask import Request
from ppduck.errors import quoted
from ppduck.kernels.linear import Blocks
from ppduck.values import Array

EXACT = 1e-9  # what moments may be off by: means in units of the sd, covariances of sd·sd
CERTAIN = 5  # how many times its standard error rounding is taken to move a moment, at most


def moved_by_rounding(n: int, mean: Array, sd: Array) -> Array:
    """How far rounding may move a variance, in units of it, and so a mean in units of the sd."""
    apart = np.spacing(np.abs(mean) + 6 * sd)
    return np.asarray(CERTAIN * 2 * apart / (math.sqrt(12 * n) * sd))


def refuse_far_from_zero(request: Request, blocks: Blocks, centres: Array) -> None:
    """Refuses conf columns whose moments DOUBLE cannot keep; ``centres`` are what they are measured from."""
    x = slice(blocks.p, blocks.p + blocks.q)
    moved = moved_by_rounding(blocks.n, centres + blocks.mean[x], blocks.scale[x])
    faults = request.faults()
    for name, error in zip(request.conf, moved, strict=True):
        if error > EXACT:
            faults.add(
                f"conf column {quoted(name)} lies so far from 0 beside its spread{request.where} that numbers of type "
                f"DOUBLE cannot keep its moments to {EXACT:g}; subtract an offset first, a round number near its mean, "
                "in a SELECT."
            )
    faults.raise_if_any()
