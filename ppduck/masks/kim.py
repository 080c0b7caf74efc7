"""Kim's correlated noise.

Y = X + e with e of covariance level·Σxx, so that correlations are kept on average; ``corrected``
brings every column back to its original mean and variance exactly. (002, "Kim's Method"; Kim 1986.)
"""

from __future__ import annotations

import numpy as np

from ppduck.call.arguments import flag
from ppduck.call.linear_mask import Request
from ppduck.call.parameters import Parameter
from ppduck.call.registry import register
from ppduck.kernels.linear import Blocks, LinearForm, root
from ppduck.masks._level import LEVEL, MORE_NOISE, NOISE_LOSSES, check_level
from ppduck.stages.frame import linear_mask


def solve(blocks: Blocks, request: Request) -> LinearForm:
    share = np.sqrt(request.per_column("level"))
    on_v = root(blocks.xx) * share
    on_x = np.eye(blocks.q)
    none = np.zeros((0, blocks.q))
    if not request.parameters.get("corrected"):
        return blocks.form(none, on_x, on_v, centre_noise=False)
    both = np.vstack([on_x, on_v])
    spread = np.sqrt(np.einsum("ij,ik,kj->j", both, blocks.cov, both))
    return blocks.form(none, on_x / spread, on_v / spread)


MASK = register(
    linear_mask(
        "kim_mask",
        solve=solve,
        summary="Adds noise correlated as the columns are; corrected := true restores means and variances exactly.",
        reference="Kim 1986, ASA Survey Research Methods; Sarathy & Muralidhar 2008",
        keeps=(
            "correlations among conf are kept on average, if all columns have the same level",
            "with corrected := true the mean and variance of every conf column are exact",
        ),
        loses=("relations between conf and other columns shrink", *NOISE_LOSSES),
        parameters=(LEVEL, Parameter("corrected", flag, "restore the original means and variances", "false")),
        reads_s=False,
        reads_x="own",
        reads_v="all",
        needs_noise=lambda given: bool(given.get("corrected")),
        check=check_level,
        asked=lambda given: True,
        remedy=MORE_NOISE,
        exact=lambda given: bool(given.get("corrected")),
    )
)
