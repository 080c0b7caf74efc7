"""When masked values stay so close to the originals that a release is not advised.

(Al-Ahmadi 2006, III.3.2 and VI.1.2.)
"""

from __future__ import annotations

import math

from ppduck.runtime.nearness import NEAR

LOW_SECURITY = 1 - NEAR
# Where a model explains all but this share of a variance, nonconf as good as determines the column: the masked one
# lies within √0.001, 3 % of its standard deviation, of itself.
LEARNT = 1e-3


def stays_close(security: float, extra: float) -> bool:
    """Whether Corr(X, Y) = (1 - SI)/√(1 + k) is as high as for a column that should rather not be released."""
    return (1 - security) / math.sqrt(1 + extra) > 1 - LOW_SECURITY
