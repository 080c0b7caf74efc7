"""C-GADP: general additive data perturbation through a normal copula.

Y = Q(F(Y*)), with Y* the normal scores masked by EGADP, F their distribution function (that of a normal
law if S is normal, but not if S has few values) and Q the empirical quantile function of X, linear
between its values; within its place of 1/n a value falls by chance. (Sarathy,
Muralidhar & Parsa 2002; Al-Ahmadi 2006, section II.2.3.)
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.numeric_mask import Advice
from ppduck.call.registry import register
from ppduck.call.udf import Udf
from ppduck.libraries import special
from ppduck.masks._copula import solve, staying
from ppduck.masks._promises import (
    CURVES_BEYOND_RANKS,
    IN_RANGE,
    MANY_RELEASES,
    NO_GAIN_IN_RANKS,
    RANKS,
    REPEATED,
    UNUSED,
)
from ppduck.query import ranks
from ppduck.query import tree as sql
from ppduck.stages.linear import linear_mask
from ppduck.stages.masking import KEY, Masking
from ppduck.stages.narrow_table import MASKED, masked_name
from ppduck.stages.noise import noise_names
from ppduck.stages.plan import Plan
from ppduck.stages.scores import Scores


def normal_cdf(scores: Any) -> pa.Array:
    return pa.array(special.ndtr(scores.to_numpy()))


CDF = Udf("ppduck_normal_cdf", normal_cdf, ("DOUBLE",), "DOUBLE")


def _kept(by: list[sql.Expr], value: sql.Expr) -> dict[str, sql.Expr]:
    number = sql.double(value)
    return {
        ranks.VALUE: number,
        ranks.BEFORE: ranks.neighbour("lag", by, number),
        ranks.NEXT: ranks.neighbour("lead", by, number),
    }


def _beside(masking: Masking) -> list[sql.Expr]:
    """Where in its place a value falls: as evenly as Φ of its noise does."""
    noise = enumerate(noise_names(masking))
    return [sql.named(sql.call(CDF.name, sql.column(name)), f"_pp_within{j}") for j, name in noise]


def _back(scores: Scores, j: int) -> sql.Expr:
    """The quantile function at the height of the masked score."""
    by = scores.masking.roles.strata
    return ranks.on_quantiles(scores.places(j), MASKED, by, masked_name(j), KEY, f"_pp_within{j}")


def stages(masking: Masking) -> Plan:
    return Scores(masking, back=_back, kept=_kept, beside=_beside).plan()


MASK = register(
    linear_mask(
        "cgadp_mask",
        solve=solve,
        summary="New values between the original ones: marginal distributions and monotonic relations come out.",
        reference="Sarathy, Muralidhar & Parsa 2002, Management Science 48(12)",
        keeps=(
            Guarantee(
                Promise.DISTRIBUTION, "the distribution of every conf column, to 1/n at every value"
            ),
            IN_RANGE,
            RANKS,
            NO_GAIN_IN_RANKS,
        ),
        loses=(
            Loss(
                LossKind.MOMENTS,
                "exact means and covariances: they differ a little, more for few rows and heavy tails",
            ),
            Loss(
                LossKind.EXTREMES,
                "secrecy of extremes: they stay what they are, and the largest value may be released, in another row",
            ),
            CURVES_BEYOND_RANKS,
            UNUSED,
            MANY_RELEASES,
            REPEATED,
        ),
        udfs=(CDF,),
        stages=stages,
        staying=staying,
        weighs_x=lambda call: "none",
        advised=(
            Advice(
                "marginal distributions and rank correlations, with new values",
                "exact means and covariances",
            ),
        ),
        example="FROM cgadp_mask('customers', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
    )
)
