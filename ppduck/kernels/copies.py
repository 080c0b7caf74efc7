"""Whether another column is a confidential one, row by row: Cohen's κ of numbers to six digits, and of texts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.kernels import decoding
from ppduck.kernels.looked_rows import Sample
from ppduck.kernels.released_column import Candidate, codes_of

SIX_DIGITS = 5e-7


def copied(sample: Sample, candidate: Candidate) -> float:
    """The largest share of rows in which a column is one of conf, beyond what dealing its rows out anew makes equal."""
    n = len(candidate.texts)
    deal = np.random.default_rng(0).permutation(n)
    own = candidate.values if candidate.values is not None else decoding.numbers(candidate.texts)
    found = [0.0]
    for x in sample.x.T:
        near = SIX_DIGITS * np.abs(x)
        found.append(_beyond_chance(*(np.abs(x - each) <= near for each in (own, own[deal]))))
    for levels in sample.levels:
        before, after = codes_of([*levels, *candidate.texts]).reshape(2, -1)
        found.append(_beyond_chance(*(before == each for each in (after, after[deal]))))
    return max(found)


def _beyond_chance(same: npt.NDArray[np.bool_], dealt: npt.NDArray[np.bool_]) -> float:
    """Cohen's κ."""
    chance = float(dealt.mean()) if len(dealt) else 1.0
    return (float(same.mean()) - chance) / (1 - chance) if chance < 1 else 0.0
