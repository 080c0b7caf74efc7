"""Data shuffling: the original values, given to other rows.

Normal scores of the ranks are masked by EGADP with the correlations of a normal copula; then the
original values are put into the order of the masked scores ("shuffle X by Y*"), so that every
column keeps its values and rank correlations come out. (Muralidhar & Sarathy 2006;
Al-Ahmadi 2006, section II.2.3 and Appendix C.)
"""

from __future__ import annotations

from ppduck.call.numeric_mask import Advice, NumericCall
from ppduck.call.parameters import fixed, parameters
from ppduck.call.registry import register
from ppduck.masks._copula import solve, staying
from ppduck.masks._promises import (
    CURVES_BEYOND_RANKS,
    MANY_RELEASES,
    NO_GAIN_IN_RANKS,
    RANKS,
    REORDERED,
    REPEATED,
    UNUSED,
    VALUES_RELEASED,
)
from ppduck.stages.linear import linear_mask
from ppduck.stages.masking import Masking
from ppduck.stages.plan import Plan
from ppduck.stages.scores import Scores


@parameters
class ShuffleCall(NumericCall):
    round: bool = fixed(False)  # values keep their type


def stages(masking: Masking) -> Plan:
    return Scores(masking, back=Scores.shuffled).plan()


MASK = register(
    linear_mask(
        "shuffle_mask",
        ShuffleCall,
        solve=solve,
        summary="The original values, permuted: every column keeps its values, and monotonic relations come out.",
        reference="Muralidhar & Sarathy 2006, Management Science 52(5); Sarathy, Muralidhar & Parsa 2002",
        keeps=(
            REORDERED,
            RANKS,
            NO_GAIN_IN_RANKS,
        ),
        loses=(VALUES_RELEASED, CURVES_BEYOND_RANKS, UNUSED, MANY_RELEASES, REPEATED),
        stages=stages,
        weighs_x=lambda call: "none",
        advised=(
            Advice(
                "every value of every column, and rank correlations",
                "exact covariances; each original value is released beside another row",
            ),
        ),
        example="FROM shuffle_mask('customers', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
        staying=staying,
    )
)
