"""The search: a design that can tell effects apart, and an analysis that finds those that are there."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from ppduck.compare.methods import network
from ppduck.compare.scoring import Run
from ppduck.compare.search import LEVELS, Trial, analysed, combinations

pytest.importorskip("statsmodels")
METHOD = network("ONN", 8, 0.8, 0.4, 4.0, 8)


def made_up(budget: int, seed: int) -> list[Trial]:
    """Scores in which V and B have an effect, P times B has, and nothing else."""
    rng = np.random.default_rng(seed)
    found = []
    for number, combination in enumerate(combinations(budget)):
        levels = dict(zip(LEVELS, combination, strict=True))
        both = 5.0 if (levels["P"], levels["B"]) in ((8, 0.6), (12, 0.8)) else 0.0
        runs = []
        for known in (7, 13):
            score = 30 + known - 10 * levels["B"] - both + rng.normal() * 0.5
            runs.append(Run(METHOD, number, known, {"score_simplified": score}))
        found.append(Trial(levels, tuple(runs)))
    return found


def test_every_pair_of_p_and_b_is_tried_as_often() -> None:
    drawn = combinations(120)
    times = Counter((p, b) for p, b, *_ in drawn)
    assert set(times) == set(itertools.product(LEVELS["P"], LEVELS["B"]))
    assert max(times.values()) - min(times.values()) <= 1
    assert all(value in levels for each in drawn for value, levels in zip(each, LEVELS.values(), strict=True))
    assert drawn == combinations(120)


@pytest.mark.parametrize("budget", [60, 120])
def test_effects_that_are_there_are_found_and_others_are_not(budget: int) -> None:
    table, r2, spread = analysed(made_up(budget, 1))
    effects = table.drop(index="Residual")
    assert set(effects.index) >= {"V", *LEVELS}
    assert (effects.loc[["V", "B"], "PR(>F)"] < 1e-6).all()
    others = effects.drop(index=["V", "B", "P", "P:B"], errors="ignore")["PR(>F)"]
    assert (others > 0.001).all(), others
    assert effects["sum_sq"].min() > 0
    assert r2 > 0.9
    assert 0.5 < spread < 5
    if budget > 60:
        assert effects.loc["P:B", "PR(>F)"] < 1e-6
