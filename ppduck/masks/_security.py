"""When masked values stay so close to the originals that a release is not advised (000, III.3.2 and VI.1.2)."""

from __future__ import annotations

import math
import warnings

from ppduck.errors import PpduckWarning, quoted
from ppduck.plan.linear import Request
from ppduck.values import Array

# X and its best prediction correlate by 0.8 and more: such data should rather not be released.
LOW_SECURITY = 1 - 0.8**2
# A model comes only so near to a column that nonconf determines; masked, it would be itself to within 3 % of its sd.
LEARNT = 1e-3


def stays_close(security: float, extra: float) -> bool:
    """Whether Corr(X, Y) = (1 - SI)/√(1 + k) is as high as for a column that should rather not be released."""
    return (1 - security) / math.sqrt(1 + extra) > 1 - LOW_SECURITY


def advise(request: Request, security: Array, extra: Array, remedies: str) -> None:
    """Warns of columns of which nonconf tells most, and so would their masked values."""
    low = [
        f"{quoted(name)} ({share:.1%})"
        for name, share, more in zip(request.conf, security, extra, strict=True)
        if stays_close(share, more)
    ]
    if low:
        warnings.warn(
            f"{request.faults().where}: nonconf predicts conf column {', '.join(low)} so well{request.where} that "
            f"masked values stay close to the originals (security index below {LOW_SECURITY:.0%}); releasing is not "
            f"advised. security_index() tells more; remedies: {remedies}.",
            PpduckWarning,
            stacklevel=2,
        )
