"""Simple additive noise.

Y = X + e, independent for every column, var(e) = level·var(X). Variances grow by the factor
1 + level and correlations shrink. (Sarathy & Muralidhar 2008, simple additive noise.)
"""

from __future__ import annotations

import numpy as np

from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.linear_mask import Request
from ppduck.call.registry import register
from ppduck.kernels.linear import Blocks, LinearForm
from ppduck.masks._level import MORE_NOISE, NOISE_LOSSES, LevelCall, check_level
from ppduck.stages.linear import linear_mask


def solve(blocks: Blocks, request: Request) -> LinearForm:
    return blocks.form(
        on_s=np.zeros((0, blocks.q)),
        on_x=np.eye(blocks.q),
        on_v=np.diag(np.sqrt(request.per_column(request.call.level))),
    )


MASK = register(
    linear_mask(
        "noise_mask",
        LevelCall,
        solve=solve,
        summary="Adds independent normal noise to each column, its variance a share of the column's.",
        reference="Sarathy & Muralidhar 2008, simple additive noise",
        keeps=(Guarantee(Promise.MOMENTS_ON_AVERAGE, "means are kept on average"),),
        loses=(
            Loss(
                LossKind.MOMENTS, "variances grow by the factor 1 + level and correlations shrink"
            ),
            *NOISE_LOSSES,
        ),
        reads_s=False,
        reads_x="own",
        reads_v="own",
        needs_noise=lambda call: False,
        weighs_x=lambda call: "each",
        example="FROM noise_mask('customers', conf=['x1','x2'], level={'x1': 0.2, 'x2': 0.1}, key='id')",
        check=check_level,
        stays_near=lambda call: True,
        remedy=MORE_NOISE,
    )
)
