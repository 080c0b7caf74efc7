"""EGADP: exact general additive data perturbation.

Y = S·B + e, with e = b Σb^-½ Σr^½ and b the residual of normal noise V regressed on [1, S, X]:
e is orthogonal to S and X and has exactly the covariance Σr of the residuals of X given S.
(Muralidhar & Sarathy 2005; Al-Ahmadi 2006, section II.2.3.)
"""

from __future__ import annotations

import numpy as np

from ppduck.call.linear_mask import Request
from ppduck.call.numeric_mask import Advice
from ppduck.call.registry import register
from ppduck.kernels.linear import Blocks, LinearForm, scaled_noise
from ppduck.masks._promises import EXACT, EXACT_LOSSES, MANY_RELEASES, NO_GAIN
from ppduck.masks._regression import refuse_ill_conditioned, refuse_inexact, regression
from ppduck.stages.linear import linear_mask
from ppduck.values import Array


def solve(blocks: Blocks, request: Request) -> LinearForm:
    coefficients, residual = regression(blocks, request, noise_ranks=2)
    return orthogonal_form(blocks, request, coefficients, np.zeros(blocks.q), residual)


def orthogonal_form(
    blocks: Blocks, request: Request, coefficients: Array, alpha: Array, target: Array
) -> LinearForm:
    """Y = u + α·r + e with e orthogonal to [1, S, X] and of covariance ``target``."""
    p = blocks.p
    on_regressors, noise = blocks.residual_noise(p + blocks.q)
    refuse_inexact(request, *blocks.noise_equations(p + blocks.q, on_regressors))
    scaling = scaled_noise(target, noise)
    removed = on_regressors @ scaling
    on_s = coefficients * (1 - alpha) - removed[:p]
    on_x = np.diag(alpha) - removed[p:]
    refuse_ill_conditioned(request, np.vstack([on_s, on_x]))
    return blocks.form(on_s, on_x, on_v=scaling)


MASK = register(
    linear_mask(
        "egadp_mask",
        solve=solve,
        summary="Exact means and covariances; noise orthogonal to nonconf and to conf itself: the safest linear mask.",
        reference="Muralidhar & Sarathy 2005, Decision Sciences 36(3); Al-Ahmadi 2008, steps 1-7",
        keeps=EXACT + NO_GAIN,
        loses=(*EXACT_LOSSES, MANY_RELEASES),
        advised=(
            Advice(
                "means, covariances and linear regressions exactly",
                "marginal distributions (quantiles, skewness, extremes)",
            ),
        ),
        example="CREATE TABLE release AS FROM egadp_mask('customers', conf=['x1','x2'], key='id')",
    )
)
