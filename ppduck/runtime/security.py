"""When masked values stay so close to the originals that a release is not advised.

(Al-Ahmadi 2006, III.3.2 and VI.1.2.)
"""

from __future__ import annotations

import math

from ppduck.runtime.nearness import NEAR

LOW_SECURITY = 1 - NEAR
# A model comes only so near to a column that nonconf determines; masked, it would be itself to within 3 % of its sd.
LEARNT = 1e-3


def stays_close(security: float, extra: float) -> bool:
    """Whether Corr(X, Y) = (1 - SI)/√(1 + k) is as high as for a column that should rather not be released."""
    return (1 - security) / math.sqrt(1 + extra) > 1 - LOW_SECURITY
