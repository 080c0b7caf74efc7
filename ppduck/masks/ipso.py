"""IPSO: information preserving statistical obfuscation.

Y = S·B + e, with e made orthogonal to [1, S] and given exactly the covariance Σr. Unlike EGADP, e
is not made orthogonal to X, so in small tables it may correlate with X by chance.
(Burridge 2003; Sarathy & Muralidhar 2008, on implementing IPSO.)
"""

from __future__ import annotations

import numpy as np

from ppduck.call.guarantees import Loss, LossKind
from ppduck.call.linear_mask import Request
from ppduck.call.registry import register
from ppduck.kernels.linear import Blocks, LinearForm, scaled_noise
from ppduck.masks._promises import EXACT, EXACT_LOSSES
from ppduck.masks._regression import refuse_ill_conditioned, refuse_inexact, regression
from ppduck.stages.linear import linear_mask


def solve(blocks: Blocks, request: Request) -> LinearForm:
    coefficients, residual = regression(blocks, request, noise_ranks=1)
    on_s, noise = blocks.residual_noise(blocks.p)
    refuse_inexact(request, *blocks.noise_equations(blocks.p, on_s))
    scaling = scaled_noise(residual, noise)
    total = coefficients - on_s @ scaling
    refuse_ill_conditioned(request, total)
    return blocks.form(on_s=total, on_x=np.zeros((blocks.q, blocks.q)), on_v=scaling)


MASK = register(
    linear_mask(
        "ipso_mask",
        solve=solve,
        summary="Exact means and covariances; noise orthogonal to nonconf but not to conf.",
        reference="Burridge 2003, Statistics and Computing 13(4)",
        keeps=EXACT,
        loses=(
            *EXACT_LOSSES,
            Loss(
                LossKind.SMALL_TABLES,
                "noise may correlate with conf by chance in small tables; egadp_mask rules that out",
            ),
        ),
        reads_x="none",
        example="FROM ipso_mask('customers', conf=['x1','x2'], nonconf=['s1','s2','region'], key='id')",
    )
)
