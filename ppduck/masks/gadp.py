"""GADP: general additive data perturbation.

Y = β0 + S·β1 + ε, with β1 = Σss⁻¹Σsx and ε drawn from N(0, Σr), Σr = Σxx - Σxs Σss⁻¹ Σsx.
(Muralidhar, Parsa & Sarathy 1999; Sarathy & Muralidhar 2008, on estimating the parameters.)
"""

from __future__ import annotations

import numpy as np

from ppduck.call.guarantees import Guarantee, Promise
from ppduck.call.linear_mask import Request
from ppduck.call.registry import register
from ppduck.kernels.linear import Blocks, LinearForm, root
from ppduck.masks._promises import APPROXIMATE, EXTREMES_DRAWN_ANEW, LINEAR_LOSSES
from ppduck.masks._regression import regression
from ppduck.stages.linear import linear_mask


def solve(blocks: Blocks, request: Request) -> LinearForm:
    coefficients, residual = regression(blocks, request, noise_ranks=1)
    return blocks.form(
        on_s=coefficients,
        on_x=np.zeros((blocks.q, blocks.q)),
        on_v=root(residual),
    )


MASK = register(
    linear_mask(
        "gadp_mask",
        solve=solve,
        summary="Draws conf anew from its regression on nonconf; means and covariances kept up to sampling error.",
        reference="Muralidhar, Parsa & Sarathy 1999, Management Science 45(10)",
        keeps=(
            *APPROXIMATE,
            Guarantee(
                Promise.NO_GAIN, "given nonconf, the masked values are drawn independently of conf"
            ),
        ),
        loses=(*LINEAR_LOSSES, EXTREMES_DRAWN_ANEW),
        reads_x="none",
        needs_noise=lambda call: False,
        weighs_x=lambda call: "warned",
        example="FROM gadp_mask('customers', conf=['x1','x2'], key='id', drop=['region'])",
    )
)
