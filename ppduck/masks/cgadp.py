"""C-GADP: general additive data perturbation through a normal copula.

Y = Q(F(Y*)), with Y* the normal scores masked by EGADP, F their distribution function (that of a normal
law if S is normal, but not if S has few values) and Q the empirical quantile function of X, linear
between its values; within its place of 1/n a value falls by chance. (000, section II.2.3; Sarathy,
Muralidhar & Parsa 2002.)
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ppduck.call.registry import register
from ppduck.call.udf import Udf
from ppduck.libraries import special
from ppduck.masks._copula import ScoreFrame, solve, staying
from ppduck.masks._promises import CURVES_BEYOND_RANKS, MANY_RELEASES, NO_GAIN_IN_RANKS, RANKS, REPEATED, UNUSED
from ppduck.query import ranks
from ppduck.query import tree as sql
from ppduck.stages.frame import linear_mask


def normal_cdf(scores: Any) -> pa.Array:
    return pa.array(special.ndtr(scores.to_numpy()))


class QuantileFrame(ScoreFrame):
    """Back by the quantile function at the height of the masked score."""

    def _kept(self, by: list[sql.Expr], value: sql.Expr) -> dict[str, sql.Expr]:
        number = sql.double(value)
        return {
            ranks.OUT: number,
            ranks.BEFORE: ranks.neighbour("lag", by, number),
            ranks.NEXT: ranks.neighbour("lead", by, number),
        }

    def _beside(self) -> list[sql.Expr]:
        """Where in its place a value falls: as evenly as Φ of its noise does."""
        return [sql.named(sql.call(ranks.CDF, sql.column(name)), f"_pp_w{j}") for j, name in enumerate(self.noise)]

    def _results(self) -> list[tuple[str, sql.Expr]]:
        results = []
        for j, name in enumerate(self.masked):
            values = ranks.on_quantiles(self.places(j), "_pp_masked", self.roles.strata, name, "_pp_key", f"_pp_w{j}")
            results.append((f"({values})", sql.column(ranks.OUT)))
        return results


MASK = register(
    linear_mask(
        "cgadp_mask",
        solve=solve,
        summary="New values between the original ones: marginal distributions and monotonic relations come out.",
        reference="Sarathy, Muralidhar & Parsa 2002, Management Science 48(12)",
        keeps=(
            "the distribution of every conf column, to 1/n at every value; no value leaves the original range",
            RANKS,
            NO_GAIN_IN_RANKS,
        ),
        loses=(
            "exact means and covariances: they differ a little, more for few rows and heavy tails",
            "secrecy of extremes: they stay what they are, and the largest value may be released, in another row",
            CURVES_BEYOND_RANKS,
            UNUSED,
            MANY_RELEASES,
            REPEATED,
        ),
        udfs=(Udf(ranks.CDF, normal_cdf, ("DOUBLE",), "DOUBLE", by="batches"),),
        frame=QuantileFrame,
        keeps_range=True,
        staying=staying,
        weighs_x=lambda given: "none",
        exact=lambda given: False,
    )
)
