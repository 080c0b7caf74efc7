"""Whether a column is made of another one by a rule that moves neighbours alike.

Rows stand in the order of x. Between neighbours x grows by a step, and the other column d by some change. Where d is x
and a constant of a group, a·x mod m, x with some bits flipped or with its digits moved on, the slope change/step
repeats, or the change does among equal steps; where it has nothing to do with x, no more than when changes are dealt
out anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ppduck.libraries import stats
from ppduck.values import Array

FEWEST = 20  # pairs
BY_CHANCE = 1e-6
LEAST_SHARE = 0.02  # of the pairs, that must repeat
TIMES = 3.0  # as often as when they are dealt out


def repeated(
    x: Array, d: Array, deals: Sequence[npt.NDArray[np.intp]]
) -> Iterator[tuple[str, float, float]]:
    """How neighbours were compared, the share of them that repeat, and what chance allows; x is sorted."""
    step, change = np.diff(x), np.diff(d)
    some = step > 0
    n = int(some.sum())
    if n < FEWEST:
        return
    step, change = step[some], change[some]
    one = np.zeros(n)
    ways: dict[str, Callable[[Array], tuple[int, int]]] = {
        "by the slope between neighbours": lambda changes: _equal(one, changes / step),
        "by the difference of neighbours": lambda changes: _equal(step, changes),
    }
    for how, count in ways.items():
        pairs, same = count(change)
        if pairs >= FEWEST:
            dealt = max(count(change[deal[deal < n]])[1] for deal in deals)
            most = max(TIMES * dealt, float(stats.poisson.isf(BY_CHANCE, dealt + 3)))
            yield how, same / pairs, max(most / pairs, LEAST_SHARE)


def _equal(groups: Array, values: Array) -> tuple[int, int]:
    """Of neighbours within groups, in the order of their values: how many there are, and how many are equal."""
    size = 10.0 ** np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
    six_digits = np.round(values / size, 5) * size
    order = np.lexsort((six_digits, groups))
    inside = groups[order][1:] == groups[order][:-1]
    same = inside & np.isclose(six_digits[order][1:], six_digits[order][:-1], rtol=1e-7, atol=0.0)
    return int(inside.sum()), int(same.sum())


def lean(values: Array) -> float:
    """Steps up less steps down, as a share: about 0 in any order that does not heed the values, with Var = 1/3n."""
    steps = np.sign(np.round(np.diff(values), 12))
    return float(steps.sum()) / max(int((steps != 0).sum()), 1)
