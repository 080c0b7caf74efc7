"""Which parameters of ONN matter: runs at random combinations of levels, and an analysis of variance of their scores.

Factors and levels of table 2 of Pont-Tuset et al. (2007): V known columns, P partitions, B, E (η), C and H. The paper
runs all 3,920 combinations ten times; here as many as the budget allows are drawn, each run once.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import numpy as np

from ppduck.compare.methods import network
from ppduck.compare.scoring import Run, Table
from ppduck.errors import PpduckError
from ppduck.frozen import frozen

LEVELS: dict[str, tuple[float, ...]] = {
    "P": (8, 9, 10, 12, 13, 15, 30),
    "B": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    "E": (0.1, 0.2, 0.3, 0.4),
    "C": (2.0, 2.5, 3.0, 3.5, 4.0),
    "H": (2, 8),
}
SMALLEST = len(LEVELS["P"]) * len(LEVELS["B"])  # combinations, so that each P meets each B


@frozen
class Trial:
    """One combination, and its simplified score for each number of known columns."""

    levels: dict[str, float]
    runs: tuple[Run, ...]


def trials(
    table: Table, known: Sequence[int], budget: int, tell: Callable[[str], None]
) -> list[Trial]:
    if budget < SMALLEST:
        raise PpduckError(
            f"a search needs a budget of at least {SMALLEST} combinations, got {budget}."
        )
    found = []
    for number, (p, b, e, c, h) in enumerate(combinations(budget), 1):
        tell(f"combination {number} of {budget}")
        method = network("ONN", int(p), b, e, c, int(h))
        runs = []
        for place, each in enumerate(known):
            # A release of its own for each V: two scores of one release would not be two observations.
            table.mask(method, number * len(known) + place)
            runs.append(Run(method, number, each, table.score(each, probabilistic=False)))
        found.append(Trial(dict(zip(LEVELS, (p, b, e, c, h), strict=True)), tuple(runs)))
    return found


def combinations(budget: int) -> list[tuple[float, ...]]:
    """So many combinations of levels, in which every pair of P and B comes about as often as any other."""
    chance = random.Random(1)
    p, b, *others = LEVELS.values()
    drawn: list[tuple[float, ...]] = []
    while len(drawn) < budget:
        cells = list(itertools.product(p, b))
        chance.shuffle(cells)
        drawn += [
            (*cell, *(chance.choice(levels) for levels in others))
            for cell in cells[: budget - len(drawn)]
        ]
    return drawn


def analysed(found: Sequence[Trial]) -> tuple[Any, float, float]:
    """The table of the analysis of variance (a data frame), R² and the coefficient of variation in percent.

    Main effects, and the two-way interactions that the runs can tell apart, P:B first.
    """
    try:
        import pandas as pd
        import statsmodels.api as sm
        import statsmodels.formula.api as smf
    except ImportError as error:
        raise PpduckError(
            "an analysis of variance needs statsmodels: pip install 'ppduck[compare]'"
        ) from error
    rows: list[dict[str, Any]] = [
        {**trial.levels, "V": run.known, "y": run.measures["score_simplified"]}
        for trial in found
        for run in trial.runs
    ]
    data = pd.DataFrame(rows)
    factors = [name for name in ("V", *LEVELS) if data[name].nunique() > 1]
    data[factors] = data[factors].astype(str)  # levels, and no slopes
    terms = list(factors)
    pairs = [pair for pair in itertools.combinations(factors, 2) if pair == ("P", "B")]
    pairs += [pair for pair in itertools.combinations(factors, 2) if pair not in pairs]
    rank = _rank(data, terms)
    for a, b in pairs:
        more = (data[a].nunique() - 1) * (data[b].nunique() - 1)
        # An effect that the runs cannot tell from others would be given to whichever comes first.
        if rank + more <= len(data) // 2 and _rank(data, [*terms, f"{a}:{b}"]) == rank + more:
            terms.append(f"{a}:{b}")
            rank += more
    fitted = smf.ols("y ~ " + " + ".join(terms), data=data).fit()
    table = sm.stats.anova_lm(fitted, typ=2)
    spread = 100 * fitted.mse_resid**0.5 / data["y"].mean()
    return table, float(fitted.rsquared), float(spread)


def _rank(data: Any, terms: Sequence[str]) -> int:
    from patsy import dmatrix

    return int(np.linalg.matrix_rank(np.asarray(dmatrix(" + ".join(terms), data))))


def write_search(found: Sequence[Trial], out: TextIO) -> None:
    table, r2, spread = analysed(found)
    print(
        f"{len(found)} combinations of {', '.join(LEVELS)}: variance of the simplified score",
        file=out,
    )
    print(f"R² {r2:.3f}, coefficient of variation {spread:.2f} %", file=out)
    print(f"{'term':8}{'df':>5}{'sum of squares':>16}{'F':>10}{'p':>10}", file=out)
    effects = table.drop(index="Residual").sort_values("sum_sq", ascending=False)
    for term, row in effects.iterrows():
        name = str(term).replace(":", " x ")
        print(
            f"{name:8}{row['df']:5.0f}{row['sum_sq']:16.1f}{row['F']:10.2f}{row['PR(>F)']:10.2g}",
            file=out,
        )
    left = table.loc["Residual"]
    print(f"{'residual':8}{left['df']:5.0f}{left['sum_sq']:16.1f}", file=out)
    for known in sorted({run.known for trial in found for run in trial.runs}):
        scores = [
            (run.measures["score_simplified"], trial)
            for trial in found
            for run in trial.runs
            if run.known == known
        ]
        best = sorted(scores, key=lambda each: each[0] or 0.0)[:5]
        for score, trial in best:
            levels = ", ".join(f"{name} {value:g}" for name, value in trial.levels.items())
            print(f"{known} known: {score:.2f} at {levels}", file=out)
