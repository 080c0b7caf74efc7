"""What nm_egadp_mask promises and what it does not, by the variant of the call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.numeric_mask import Advice
from ppduck.masks._promises import (
    EXTREMES,
    MANY_RELEASES,
    REPEATED,
    SHAPE,
    SMALL,
    UNUSED,
    VALUES_RELEASED,
)


def permutes(call: Any) -> bool:
    """Variants 2 and 4 give the original values to other rows."""
    return bool(call.variant in (2, 4))


def _makes_values(call: Any) -> bool:
    return not permutes(call)


KEEPS = (
    Guarantee(
        Promise.CURVES,
        "the conditional means of conf given nonconf, whatever their shape, as far as a kernel model learns them",
    ),
    Guarantee(
        Promise.MOMENTS,
        "with variant 1, and no extra_noise: means, variances and covariances exactly, over the rows where every "
        "conf column is present",
        lambda call: call.variant == 1 and call.extra_noise is None,
    ),
    Guarantee(
        Promise.VALUES,
        "with variants 2 and 4: every conf column has exactly its original values, reordered",
        permutes,
    ),
    Guarantee(
        Promise.NO_GAIN,
        "given nonconf and its best prediction, the masked values of variant 1 tell nothing more about conf by any "
        "linear prediction",
        lambda call: call.variant == 1,
    ),
)
LOSES = (
    Loss(
        LossKind.MOMENTS,
        "with variants 2, 3 and 4, exact covariances: shuffling moves them",
        lambda call: call.variant != 1,
    ),
    Loss(
        LossKind.RELATIONS,
        "with variants 2 and 4, the strength of relations of skewed columns and of those with many equal values: "
        "shuffling keeps the order that was learnt, not the distances",
        permutes,
    ),
    Loss(
        LossKind.NEARNESS,
        "with variants 3 and 4, secrecy where most residuals are alike and few are large: most values then come "
        "out near themselves, which correlations, by which nearness is judged, do not show",
        lambda call: call.variant in (3, 4),
    ),
    replace(VALUES_RELEASED, when=permutes),
    Loss(LossKind.EXTREMES, f"with variants 1 and 3, {EXTREMES}", _makes_values),
    replace(SHAPE, when=_makes_values),
    SMALL,
    REPEATED,
    Loss(
        LossKind.RELATIONS,
        "patterns among the residuals that are not linear, and residuals that vary more in places: all get the "
        "same noise",
    ),
    Loss(
        LossKind.RELATIONS,
        "relations with several values of conf for one of nonconf, such as a circle: only their mean is learnt",
    ),
    Loss(LossKind.NEARNESS, "secrecy where nonconf predicts conf well: see security_index()"),
    UNUSED,
    MANY_RELEASES,
)
ADVISED = (
    Advice(
        "means and covariances exactly, and the shape of every relation with nonconf",
        "marginal distributions",
        (("variant", 1),),
    ),
    Advice(
        "every value of every column, and the shape of relations with nonconf as far as an order of values can",
        "exact covariances; each original value is released beside another row",
        (("variant", 4),),
    ),
)
