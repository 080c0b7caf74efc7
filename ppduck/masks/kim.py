"""Kim's correlated noise.

Y = X + e with e of covariance level·Σxx, so that correlations are kept on average; ``corrected``
brings every column back to its original mean and variance exactly. (Kim 1986; Sarathy & Muralidhar 2008.)
"""

from __future__ import annotations

import numpy as np

from ppduck.call.arguments import flag
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.linear_mask import Request
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import register
from ppduck.kernels.linear import Blocks, LinearForm, root
from ppduck.masks._level import MORE_NOISE, NOISE_LOSSES, LevelCall, check_level
from ppduck.stages.linear import linear_mask


@parameters
class KimCall(LevelCall):
    corrected: bool = parameter(flag, "restore the original means and variances", False)


def solve(blocks: Blocks, request: Request) -> LinearForm:
    share = np.sqrt(request.per_column(request.call.level))
    on_v = root(blocks.xx) * share
    on_x = np.eye(blocks.q)
    none = np.zeros((0, blocks.q))
    if not request.call.corrected:
        return blocks.form(none, on_x, on_v)
    both = np.vstack([on_x, on_v])
    spread = np.sqrt(np.einsum("ij,ik,kj->j", both, blocks.cov, both))
    return blocks.form(none, on_x / spread, on_v / spread)


MASK = register(
    linear_mask(
        "kim_mask",
        KimCall,
        solve=solve,
        summary="Adds noise correlated as the columns are; corrected := true restores means and variances exactly.",
        reference="Kim 1986, ASA Survey Research Methods; Sarathy & Muralidhar 2008",
        keeps=(
            Guarantee(
                Promise.CORRELATIONS_ON_AVERAGE,
                "correlations among conf are kept on average, if all columns have the same level",
            ),
            Guarantee(
                Promise.SPREAD,
                "with corrected := true the mean and variance of every conf column are exact",
                lambda call: call.corrected,
            ),
        ),
        loses=(
            Loss(LossKind.RELATIONS, "relations between conf and other columns shrink"),
            *NOISE_LOSSES,
        ),
        reads_s=False,
        reads_x="own",
        reads_v="all",
        needs_noise=lambda call: call.corrected,
        check=check_level,
        stays_near=lambda call: True,
        remedy=MORE_NOISE,
        example="FROM kim_mask('customers', conf=['x1','x2'], level=0.15, corrected=true, key='id')",
    )
)
