"""Data shuffling: the original values, given to other rows.

Normal scores of the ranks are masked by EGADP with the correlations of a normal copula; then the
original values are put into the order of the masked scores ("shuffle X by Y*"), so that every
column keeps its values and rank correlations come out. (000, section II.2.3 and Appendix C;
Muralidhar & Sarathy 2006.)
"""

from __future__ import annotations

from ppduck.call.registry import register
from ppduck.masks._copula import ScoreFrame, solve, staying
from ppduck.masks._promises import (
    CURVES_BEYOND_RANKS,
    MANY_RELEASES,
    NO_GAIN_IN_RANKS,
    RANKS,
    REPEATED,
    UNUSED,
    VALUES_RELEASED,
)
from ppduck.query import ranks
from ppduck.query import tree as sql
from ppduck.stages.frame import linear_mask

OUT = sql.column(ranks.OUT)


class ShuffleFrame(ScoreFrame):
    """Back by ranks: to rank k of the masked score goes the value of rank k."""

    def _results(self) -> list[tuple[str, sql.Expr]]:
        by = self.roles.strata
        return [
            (f"({ranks.shuffled('_pp_masked', by, f'_pp_x{j}', name, '_pp_key', self.places(j))})", OUT)
            for j, name in enumerate(self.masked)
        ]


MASK = register(
    linear_mask(
        "shuffle_mask",
        solve=solve,
        summary="The original values, permuted: every column keeps its values, and monotonic relations come out.",
        reference="Muralidhar & Sarathy 2006, Management Science 52(5); Sarathy, Muralidhar & Parsa 2002",
        keeps=(
            "every conf column has exactly its original values, reordered: its mean, quantiles and extremes too",
            RANKS,
            NO_GAIN_IN_RANKS,
        ),
        loses=(VALUES_RELEASED, CURVES_BEYOND_RANKS, UNUSED, MANY_RELEASES, REPEATED),
        frame=ShuffleFrame,
        weighs_x=lambda given: "none",
        exact=lambda given: False,
        without=("round",),
        permutes=lambda given: True,
        staying=staying,
    )
)
