"""C-GADP: general additive data perturbation through a normal copula.

Y = Q(Φ(Y*)), with Y* the normal scores masked by EGADP and Q the empirical quantile function of X,
linear between its values. (000, section II.2.3; Sarathy, Muralidhar & Parsa 2002.)
"""

from __future__ import annotations

from functools import partial

from ppduck.kernels.copula import on_quantiles
from ppduck.masks._copula import ScoreFrame, solve
from ppduck.masks._promises import CURVES_BEYOND_RANKS, MANY_RELEASES, NO_GAIN_IN_RANKS, RANKS, UNUSED
from ppduck.plan import shuffling
from ppduck.plan import sqlbuild as sql
from ppduck.plan.frame import linear_mask
from ppduck.plan.registry import register


class QuantileFrame(ScoreFrame):
    """Back by the quantile function at the height of the masked score."""

    def _kept(self, by: list[sql.Expr], value: sql.Expr) -> dict[str, sql.Expr]:
        number = sql.double(value)
        return {shuffling.OUT: number, shuffling.NEXT: shuffling.following(by, number.copy())}

    def _results(self) -> list[tuple[str, sql.Expr]]:
        source = sql.joined('"_pp_masked"', '"_pp_first"', self._matching("_pp_masked"))
        results = []
        for j, name in enumerate(self.masked):
            count = sql.column(f"_pp_n{self.p + j}", "_pp_first")
            values = shuffling.on_quantiles(self.places(j), source, self.roles.by, name, count)
            results.append((f"({values})", sql.column(shuffling.OUT)))
        return results


MASK = register(
    linear_mask(
        "cgadp_mask",
        solve=partial(solve, placed=on_quantiles),
        summary="New values between the original ones: marginal distributions and monotonic relations come out.",
        reference="Sarathy, Muralidhar & Parsa 2002, Management Science 48(12)",
        keeps=(
            "the marginal distribution of every conf column, to sampling error; no value leaves the original range",
            RANKS,
            NO_GAIN_IN_RANKS,
        ),
        loses=(
            "exact means and covariances: they differ by sampling error, and more where the copula is not normal",
            "the extremes of a column stay what they are: the largest value may be released, in another row",
            CURVES_BEYOND_RANKS,
            UNUSED,
            MANY_RELEASES,
        ),
        frame=QuantileFrame,
    )
)
